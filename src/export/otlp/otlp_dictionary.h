/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dictionary of a message of OTLP profiles: what samples refer to, each entry once, and only what is referred to.
 * Entries are kept in the bytes that they have in the message. Number 0 of each table is the empty entry, which
 * stands for "none".
 *
 * The schema is opentelemetry/proto/profiles/v1development/profiles.proto of opentelemetry-proto 1.10 (PyPI 1.45.2).
 */
#pragma once

#include "base/intern.h"
#include "base/table.h"
#include "export/whole_paths.h"
#include "export/protobuf.h"

/* Numbers are those of the fields of ProfilesDictionary. */
enum sn_otlp_table {
	SN_OTLP_MAPPINGS = 1,
	SN_OTLP_LOCATIONS,
	SN_OTLP_FUNCTIONS,
	SN_OTLP_LINKS,
	SN_OTLP_STRINGS,
	SN_OTLP_ATTRIBUTES,
	SN_OTLP_STACKS,
	SN_OTLP_TABLES
};

struct sn_otlp_dictionary {
	const struct sonde_db *db;
	struct sn_groups functions;
	struct sn_whole_paths paths;
	struct sn_intern tables[SN_OTLP_TABLES];
	/* Numbers + 1 of what is in a table by now; 0: it is not. */
	uint32_t *of_frames, *of_contexts;
	struct sn_table of_strings; /* the database's: their numbers */
	struct sn_arena arena;
	struct sn_buffer message, part, text;
	bool failed; /* for lack of memory; sticky */
};

/* 0 or SN_ERR_MEMORY; release in either case. */
int sn_otlp_dictionary_init(struct sn_otlp_dictionary *dictionary, const struct sonde_db *db,
			    const uint32_t *metrics, uint32_t metric_count);
void sn_otlp_dictionary_release(struct sn_otlp_dictionary *dictionary);

/* The numbers of entries. */
uint32_t sn_otlp_text(struct sn_otlp_dictionary *dictionary, const char *text);
uint32_t sn_otlp_attribute_text(struct sn_otlp_dictionary *dictionary, const char *key,
				const char *text);
uint32_t sn_otlp_attribute_number(struct sn_otlp_dictionary *dictionary, const char *key,
				  uint64_t number);
/* Called with ascending contexts after sn_whole_paths_begin(&dictionary->paths). */
uint32_t sn_otlp_stack(struct sn_otlp_dictionary *dictionary, uint32_t context);

/* Appends the dictionary's message. */
void sn_otlp_dictionary_put(const struct sn_otlp_dictionary *dictionary, struct sn_buffer *to);
/* Appends an attribute that stands for itself, as resources have it: a KeyValue. */
void sn_otlp_put_key_value(struct sn_buffer *to, unsigned field, const char *key, const char *text);
