/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's calling context tree with its sparse metrics, its strings and its Python code objects.
 *
 * Owned by one thread; only this thread inserts. A checkpoint in another thread may read all
 * published elements at any time. Inserting a path that is already there allocates nothing.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: the tree's owner.
 */
#pragma once

#include "arena.h"
#include "format/measurement/measurement.h"

#include <stdbool.h>

#define SN_NODE_ROOT 0u
#define SN_NODE_NONE UINT32_MAX

struct sn_cct_node {
	/* while the program runs, `own` is the generation of the trace file (trace.h) that refers
	 * to it */
	struct sn_node_record record;
	uint32_t next_in_bucket;
	_Atomic uint32_t first_value; /* newest first, SN_ID_NONE ends */
};

/* Fields are written by the owner with relaxed stores and may be read while they change. */
struct sn_cct_value {
	struct sn_value_record record;
	uint32_t next; /* of the same node */
	uint32_t reserved;
};

struct sn_cct_string {
	const char *text; /* not terminated */
	uint32_t length;
	uint32_t hash;
	uint32_t next_in_bucket;
	uint32_t reserved;
};

struct sn_cct_code {
	struct sn_code_record record;
	uint32_t next_in_bucket;
};

/* The bucket heads of a hash table; the links are in the elements. Doubles at one element per
 * bucket.
 */
struct sn_buckets {
	uint32_t *heads;
	uint32_t count; /* a power of two */
};

struct sn_cct {
	struct sn_array nodes;	 /* struct sn_cct_node */
	struct sn_array values;	 /* struct sn_cct_value */
	struct sn_array strings; /* struct sn_cct_string */
	struct sn_array codes;	 /* struct sn_cct_code */
	struct sn_bump text;	 /* of the strings */
	struct sn_buckets node_buckets, string_buckets, code_buckets;
	uint32_t first_live_value; /* values below it were measured by the parent before fork */
};

/* Creates the root, of kind SN_FRAME_THREAD. 0, or -ENOMEM. */
int sn_cct_init(struct sn_cct *cct);
void sn_cct_release(struct sn_cct *cct);
/* Removes all values but keeps contexts, strings and codes: for the child of a fork. */
void sn_cct_forget_values(struct sn_cct *cct);

/* The child of `parent` for `frame`, created if missing; SN_NODE_NONE without memory. */
uint32_t sn_cct_child(struct sn_cct *cct, uint32_t parent, const struct sn_frame *frame);

/* Adds one measured value at a node. False without memory. */
bool sn_cct_add(struct sn_cct *cct, uint32_t node, uint32_t metric, uint64_t value);

/* The value of a metric at a node, created if missing, and adding to it as sn_cct_add does, for who adds often: valid until the
 * values are forgotten. NULL without memory. */
struct sn_cct_value *sn_cct_value_of(struct sn_cct *cct, uint32_t node, uint32_t metric);
void sn_cct_value_add(struct sn_cct_value *value, uint64_t amount);
/* Adds the same amount so often. */
void sn_cct_value_add_times(struct sn_cct_value *value, uint64_t amount, uint64_t times);
/* Adds all that was added to another, of which node and metric are not looked at. */
void sn_cct_value_add_all(struct sn_cct_value *value, const struct sn_value_record *added);

/* Prefetches a node, or its newest value, that will soon be added to. If the node is cached, this
 * causes no cache miss itself. */
static inline void sn_cct_prefetch_node(const struct sn_cct *cct, uint32_t node)
{
	__builtin_prefetch(sn_array_at(&cct->nodes, node), 1);
}
static inline void sn_cct_prefetch_value(const struct sn_cct *cct, uint32_t node)
{
	const struct sn_cct_node *record = sn_array_at(&cct->nodes, node);
	uint32_t value = atomic_load_explicit(&record->first_value, memory_order_relaxed);
	if (value != SN_ID_NONE)
		__builtin_prefetch(sn_array_at(&cct->values, value), 1);
}

/* Reads a value while its owner may be adding to it: each field is consistent, but the fields may
 * be from different moments. MT: yes. */
void sn_cct_value_read(const struct sn_cct_value *value, struct sn_value_record *record);

/* The id of a string, created if missing; SN_ID_NONE without memory. Any bytes; truncated to 4,095.
 * */
uint32_t sn_cct_string(struct sn_cct *cct, const char *text, size_t length);

/* The child of `parent` for a frame that has only a kind and a name, created if missing;
 * SN_NODE_NONE without memory, and if `parent` is SN_NODE_NONE. */
uint32_t sn_cct_named_child(struct sn_cct *cct, uint32_t parent, uint8_t kind, const char *name,
			    size_t length);

/* The index of a Python code object, created if missing; SN_ID_NONE without memory. Code objects
 * with the same file, name and first line have one index. */
uint32_t sn_cct_code(struct sn_cct *cct, const char *file, size_t file_length, const char *name,
		     size_t name_length, uint32_t first_line);
