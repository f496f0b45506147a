/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building a database: records are added in any order, and written in one canonical order.
 *
 * Equal records are one: adding a string, module, frame, metric or context again returns its
 * number. These numbers are the builder's own; the file renumbers everything (strings by their
 * bytes, frames by content, contexts in pre-order, ...), so that the same input gives the same
 * bytes whatever the order in which it came.
 *
 * Failures are sticky: a failed addition returns SONDE_NONE, additions accept SONDE_NONE from
 * earlier ones, and sn_db_builder_write reports the first. Single-threaded.
 */
#pragma once

#include "base/error.h"
#include "sonde/db.h"

struct sn_db_builder;

/* NULL without memory. Free it with sn_db_builder_free. */
struct sn_db_builder *sn_db_builder_new(void);
void sn_db_builder_free(struct sn_db_builder *builder);

/* SONDE_NONE for NULL. */
uint32_t sn_db_builder_string(struct sn_db_builder *builder, const char *text);
uint32_t sn_db_builder_string_n(struct sn_db_builder *builder, const char *text, size_t length);
/* The text of a number; valid until the next string is added. */
const char *sn_db_builder_text(const struct sn_db_builder *builder, uint32_t string);

uint32_t sn_db_builder_module(struct sn_db_builder *builder, const struct sonde_db_module *module);
uint32_t sn_db_builder_frame(struct sn_db_builder *builder, const struct sonde_db_frame *frame);
/* A frame that has only a kind and a name. */
uint32_t sn_db_builder_named_frame(struct sn_db_builder *builder, unsigned kind, const char *name);
/* Calls `place` with the name of each frame of a kind, which may set the frame's source line. Call
 * it when all frames of that kind have been added. */
typedef void sn_db_placer(void *context, const char *name, uint32_t *file, uint32_t *line);
void sn_db_builder_place_frames(struct sn_db_builder *builder, unsigned kind, sn_db_placer *place,
				void *context);
/* Sets the frame of the root, context 0, which exists from the start as a nameless thread. */
void sn_db_builder_set_root(struct sn_db_builder *builder, uint32_t frame);
/* The child of `parent` for `frame`. */
uint32_t sn_db_builder_context(struct sn_db_builder *builder, uint32_t parent, uint32_t frame);
/* A metric is identified by its name; if other fields differ, one of them is kept, independent of
 * the order. */
uint32_t sn_db_builder_metric(struct sn_db_builder *builder, const struct sonde_db_metric *metric);
/* The metric of that name, or SONDE_NONE. */
uint32_t sn_db_builder_find_metric(const struct sn_db_builder *builder, uint32_t name);
/* Always a new one. */
uint32_t sn_db_builder_profile(struct sn_db_builder *builder,
			       const struct sonde_db_profile *profile);
/* Replaces an earlier value of the key. */
void sn_db_builder_property(struct sn_db_builder *builder, const char *key, const char *value);
/* The same with a number as its value. */
void sn_db_builder_property_number(struct sn_db_builder *builder, const char *key, int64_t value);
/* Adds to an earlier count of the cause. */
void sn_db_builder_drop(struct sn_db_builder *builder, const char *cause, const char *text,
			uint64_t count);
/* Stores the drop of that number; false if there is none. The texts are valid until the builder
 * gets another string. */
bool sn_db_builder_drop_at(const struct sn_db_builder *builder, size_t number, const char **cause,
			   const char **text, uint64_t *count);
/* Adds a named formula, after earlier ones; see lib/db/formula.h. Only readers check it, and leave
 * out invalid ones. An equal one is not added again. */
void sn_db_builder_formula(struct sn_db_builder *builder, const char *name, const char *text);
/* The number of threads that write; 1 by default. */
void sn_db_builder_set_threads(struct sn_db_builder *builder, unsigned threads);

/* Exclusive. Values of one profile, context and metric are merged. Values beyond a double become
 * the largest one; NaN is a failure. */
void sn_db_builder_value(struct sn_db_builder *builder, uint32_t profile, uint32_t context,
			 uint32_t metric, const struct sonde_db_stat *stat);

/*
 * Events are too many to pass through the builder. Their source (src/trace) provides them as
 * sections while the file is written, when final numbers are known.
 */

/* From the builder's numbers to those of the file; profile_at is the inverse. */
struct sn_db_numbers {
	const uint32_t *strings, *contexts, *metrics, *profiles, *profile_at;
	uint32_t string_count, context_count, metric_count, profile_count;
};

/* Bytes of a file. */
struct sn_db_extract {
	int fd;
	uint64_t offset, length;
};
/* The bytes of a section: at `data`, or if that is NULL those of extracts, one after the other. The
 * events' source owns both. */
struct sn_db_section {
	const void *data;
	const struct sn_db_extract *extracts;
	uint64_t length;
};
enum sn_db_event_section {
	SN_DB_EVENT_TRACKS,
	SN_DB_EVENT_KEYS,
	SN_DB_EVENT_BLOCKS,
	SN_DB_EVENT_DATA,
	SN_DB_EVENT_SUMMARIES,
	SN_DB_EVENT_SECTIONS
};
struct sn_db_events {
	/* Fills in all sections, by up to so many threads. 0 or a negative enum sn_err with its
	 * text. */
	int (*sections)(struct sn_db_events *events, const struct sn_db_numbers *numbers,
			unsigned threads, struct sn_db_section *sections, struct sn_error *error);
	void (*free)(struct sn_db_events *events);
};
/* Transfers ownership to the builder: used once, by sn_db_builder_write, and freed with the
 * builder. */
void sn_db_builder_set_events(struct sn_db_builder *builder, struct sn_db_events *events);

uint32_t sn_db_builder_context_count(const struct sn_db_builder *builder);
/* Parent and frame of a context; false of the root. */
bool sn_db_builder_context_at(const struct sn_db_builder *builder, uint32_t context,
			      uint32_t *parent, uint32_t *frame);

/* Computes the summaries and writes the file (under a temporary name, then renamed). The builder
 * stays as it is. */
int sn_db_builder_write(struct sn_db_builder *builder, const char *path, struct sn_error *error);
/* The writer calls it with the whole database before the file gets its name (writer/writer.h). */
void sn_db_builder_set_complete(struct sn_db_builder *builder,
				int (*complete)(void *context, const char *path), void *context);
/* The umask determines who may read the file; else only the user. */
void sn_db_builder_share(struct sn_db_builder *builder);
