/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HPCToolkit's raw measurement files as they are on disk: the profile of a thread or a device's
 * stream (.hpcrun, version 04.00) and its trace (.hpctrace, version 01.01).
 *
 * A profile is sections found through a footer; numbers are of the byte order that the header
 * names ("b", big endian, is the only one that its own writer knows). Nothing is interpreted here:
 * what nodes and metrics mean is hpctoolkit_profile.c's. See docs/design/hpctoolkit.md.
 */
#pragma once

#include "base/arena.h"
#include "import/core/cursor.h"

#define SN_HPCRUN_MAGIC	  "HPCRUN-profile____" /* 18 bytes, then version and byte order */
#define SN_HPCTRACE_MAGIC "HPCRUN-trace______"

/* Bytes inside the file; not ended by a NUL. */
struct sn_hpcrun_text {
	const char *text;
	uint32_t length;
};

struct sn_hpcrun_id {
	uint16_t kind; /* enum sn_hpcrun_kind, with how to read the numbers in the upper 2 bits */
	uint64_t physical, logical;
};
enum sn_hpcrun_kind {
	SN_HPCRUN_NODE = 1,
	SN_HPCRUN_RANK = 2,
	SN_HPCRUN_THREAD = 3,
	SN_HPCRUN_GPU_DEVICE = 4,
	SN_HPCRUN_GPU_CONTEXT = 5,
	SN_HPCRUN_GPU_STREAM = 6,
	SN_HPCRUN_CORE = 7,
};
enum sn_hpcrun_numbering {
	SN_HPCRUN_BOTH = 0,	      /* both numbers are as measured */
	SN_HPCRUN_LOGICAL_LOCAL = 1,  /* the logical one is to be counted among equal prefixes */
	SN_HPCRUN_LOGICAL_GLOBAL = 2, /* the logical one is to be counted among all of the kind */
	SN_HPCRUN_LOGICAL_ONLY = 3,
};
static inline unsigned sn_hpcrun_kind(uint16_t kind)
{
	return kind & 0x3fff;
}
static inline unsigned sn_hpcrun_numbering(uint16_t kind)
{
	return kind >> 14;
}

struct sn_hpcrun_name { /* of a kind of id */
	uint16_t kind;
	struct sn_hpcrun_text name;
};

struct sn_hpcrun_metric {
	struct sn_hpcrun_text name, formula;
	bool is_real;	  /* values are doubles, else unsigned integers */
	bool is_relation; /* belongs to the function that was called, not to the instruction */
	uint64_t period;  /* what one unit of a value stands for */
};

struct sn_hpcrun_module {
	uint16_t id;
	struct sn_hpcrun_text path;
};

struct sn_hpcrun_node {
	uint32_t id, parent; /* a root's parent is 0 */
	uint16_t module;
	bool is_unwound; /* its callers are as measured; else they are to be reconstructed */
	uint64_t ip;
};

struct sn_hpcrun_value {
	uint64_t bits; /* a double or an integer, by metric */
	uint16_t metric;
};
struct sn_hpcrun_block { /* values of one node: first .. end - 1 */
	uint32_t node;
	uint64_t first, end;
};

struct sn_hpcrun {
	unsigned char *bytes;
	struct sn_arena arena; /* of all arrays */
	struct sn_hpcrun_text program, program_path, job;
	struct sn_hpcrun_id *ids;
	struct sn_hpcrun_name *names;
	struct sn_hpcrun_metric *metrics;
	struct sn_hpcrun_module *modules;
	struct sn_hpcrun_node *nodes;
	struct sn_hpcrun_value *values;
	struct sn_hpcrun_block *blocks;
	size_t id_count, name_count, metric_count, module_count, node_count, value_count,
	    block_count;
};

/* Errors name the file. Release in either case. */
int sn_hpcrun_read(struct sn_hpcrun *file, const char *path, struct sn_error *error);
void sn_hpcrun_release(struct sn_hpcrun *file);

struct sn_hpctrace_point {
	uint64_t time_ns; /* since the Unix epoch */
	uint32_t node;
};
struct sn_hpctrace {
	struct sn_hpctrace_point *points; /* as in the file: not always in order */
	size_t count;
	bool is_call_trace; /* nodes stand for what was called, not for an instruction in it */
};
int sn_hpctrace_read(struct sn_hpctrace *trace, const char *path, struct sn_error *error);
void sn_hpctrace_release(struct sn_hpctrace *trace);
