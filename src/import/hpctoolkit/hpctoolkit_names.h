/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates HPCToolkit's names: placeholders in call paths, units of metrics, identifiers of
 * threads and streams.
 */
#pragma once

#include "hpcrun.h"

#include "format/database/database_writer.h"
#include "trace/writer.h"

/* A placeholder is a node of module 0; its instruction pointer is eight letters. */
#define SN_HPCT_LETTERS(a, b, c, d, e, f, g, h)                                                    \
	((uint64_t)(a) << 56 | (uint64_t)(b) << 48 | (uint64_t)(c) << 40 | (uint64_t)(d) << 32 |   \
	 (uint64_t)(e) << 24 | (uint64_t)(f) << 16 | (uint64_t)(g) << 8 | (uint64_t)(h))
#define SN_HPCT_ROOT_PRIMARY SN_HPCT_LETTERS('^', 'P', 'r', 'i', 'm', 'a', 'r', 'y')
#define SN_HPCT_ROOT_PARTIAL SN_HPCT_LETTERS('^', 'P', 'a', 'r', 't', 'i', 'a', 'l')
#define SN_HPCT_UNNORMALIZED SN_HPCT_LETTERS('*', 'U', 'n', 'n', 'o', 'r', 'm', ' ')
#define SN_HPCT_NO_ACTIVITY  SN_HPCT_LETTERS('N', 'o', 'A', 'c', 't', 'v', 't', 'y')
#define SN_HPCT_FENCE_MAIN   SN_HPCT_LETTERS('|', ' ', 'M', 'a', 'i', 'n', ' ', ' ')
#define SN_HPCT_FENCE_THREAD SN_HPCT_LETTERS('|', ' ', 'T', 'h', 'r', 'e', 'a', 'd')

/* The name that is shown for a placeholder, or its letters if it has none. Stores the frame's kind
 * (enum sn_frame_kind) in *kind and the letters in text. */
const char *sn_hpct_placeholder(uint64_t letters, unsigned *kind, char text[40]);
/* The frame's kind for the name of a placeholder in a database: "<gpu kernel>". */
unsigned sn_hpct_placeholder_kind(const char *name);

/* The names of the top of a tree, and HPCToolkit's number of each: 0 for none. */
#define SN_HPCT_ENTRY_UNKNOWN "unknown entry"
#define SN_HPCT_ENTRY_MAIN    "main thread"
#define SN_HPCT_ENTRY_THREAD  "application thread"

/* Whether a module holds code of a device. */
bool sn_hpct_is_gpu_module(const char *path);

/* Records the program: `path` is that of its executable, or its name. */
void sn_hpct_program(struct sn_db_builder *builder, const char *name, const char *path);

/* A metric by its name, whose ending gives the unit: "CPUTIME (sec)". */
uint32_t sn_hpct_metric(struct sn_db_builder *builder, const char *name, uint64_t period);

/* An identifier of a thread or a stream: a level of "NODE 0x7f00 RANK 3 THREAD 0". */
struct sn_hpct_id {
	const char *name; /* "THREAD" */
	bool is_physical; /* `number` identifies a part of the machine; shown in hexadecimal */
	uint64_t number;
};
/* The profile of a tuple. All identifiers are stored in its thread's name, because `sonde export
 * --to hpctoolkit` writes them again; host, rank, ... are filled in from them. */
struct sonde_db_profile sn_hpct_profile(struct sn_db_builder *builder, const struct sn_hpct_id *ids,
					size_t count);

/* A value of HPCToolkit's is a sum: a statistic of one value. 0 is none. */
void sn_hpct_value(struct sn_db_builder *builder, uint32_t profile, uint32_t context,
		   uint32_t metric, double value);
/* A point of a trace: from then on the thread was in that context; 0: in none. */
struct sn_hpct_traced {
	uint64_t time_ns;
	uint32_t context;
};
/* Adds all points of a profile, in any order. Of a thread they become samples; of a stream they are
 * sorted, and each lasts until the next one. */
void sn_hpct_points(struct sn_trace_writer *events, uint32_t profile, bool is_stream,
		    struct sn_hpct_traced *points, size_t count);
