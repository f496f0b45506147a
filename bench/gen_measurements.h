/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Made-up measurements of N ranks x T threads x S GPU streams, for trying analysis at any scale.
 *
 * A universe of calling contexts is drawn from the seed once (gen_measurements_tree.c). Every
 * profile then visits a part of it and measures made-up integers there (gen_measurements_file.c):
 * all share the upper tree, each takes its own choice of the subtrees below, and has a few contexts
 * that nobody else has. What a profile measures depends on the seed and on its rank and number
 * alone, so that the same arguments give the same bytes whatever the number of jobs; what all of
 * it adds up to is counted while it is written (struct gen_totals), so that tests know the answer.
 */
#ifndef GEN_MEASUREMENTS_H
#define GEN_MEASUREMENTS_H

#include "format/measurement/measurement.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gen_metric {
#define GEN_METRIC(id, name, unit, source, kind, period) GEN_##id,
#include "gen_measurements_metrics.def"
#undef GEN_METRIC
	GEN_METRIC_COUNT
};

struct gen_metric_info {
	const char *name, *unit, *source;
	enum sn_metric_kind kind;
	uint64_t period;
};
extern const struct gen_metric_info gen_metrics[GEN_METRIC_COUNT];

struct gen_options {
	uint64_t seed;
	uint32_t ranks, threads, streams;	   /* streams and threads of each rank */
	uint32_t upper, depth, fan_out;		   /* contexts that all have; their shape */
	uint32_t leaves, leaf_depth, leaf_fan_out; /* subtrees below them, and their shape */
	double visit;				   /* the share of these that a profile takes */
	uint32_t own;				   /* contexts that one profile alone has */
	uint32_t kernels, instructions;		   /* launched, and sampled places in each kernel */
	bool is_wide;				   /* values whose columns do not shrink */
	uint32_t slow_rank;
	double imbalance; /* how much more the slow rank spends in `exchange` */
	const char
	    *module; /* an ELF whose functions are the native frames; NULL: one without a file */
};

/* What a context of the universe is for: where values are drawn, and by whom. */
enum gen_role {
	GEN_UPPER, /* shared by all */
	GEN_LEAF,
	GEN_EXCHANGE, /* the context whose cost differs between ranks */
	GEN_API,      /* a call that starts work on a device */
	GEN_KERNEL,
	GEN_INSTRUCTION, /* a place in a kernel that is sampled */
	GEN_COPY,
	GEN_SYNC,
};

struct gen_node {
	uint32_t parent; /* less than its own number; 0 is the thread */
	uint32_t depth;
	uint32_t unit; /* the subtree that is visited as a whole; UINT32_MAX: always */
	enum gen_role role;
	struct sn_frame frame;
};

struct gen_universe {
	struct gen_node *nodes;
	uint32_t node_count, unit_count;
	struct sn_node_record *templates; /* the nodes' records, but for the parents */
	unsigned char *strings, *codes;	  /* sections of a thread, the same in all */
	size_t strings_bytes, codes_bytes;
	uint64_t strings_checksum, codes_checksum;
	const char **names; /* [string] */
	struct sn_code_record *code_records;
	uint64_t build_id_bytes;
	uint8_t build_id[20];
};

/* Ends the program where there is no memory or the module cannot be read. */
void gen_universe_init(struct gen_universe *universe, const struct gen_options *options);
void gen_universe_release(struct gen_universe *universe);
/* The name that a database without symbols gives the context. */
void gen_node_name(const struct gen_universe *universe, uint32_t node, char *text, size_t size);

/* A stream of random numbers (splitmix64, Steele, Lea and Flood 2014). */
struct gen_random {
	uint64_t state;
};
static inline uint64_t gen_next(struct gen_random *random)
{
	uint64_t z = random->state += 0x9E3779B97F4A7C15ull;
	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ z >> 27) * 0x94D049BB133111EBull;
	return z ^ z >> 31;
}
/* A number below `bound`, which is less than 2^32. */
static inline uint32_t gen_below(struct gen_random *random, uint32_t bound)
{
	return (uint32_t)((gen_next(random) >> 32) * bound >> 32);
}

struct gen_total {
	uint64_t values; /* records */
	uint64_t count, sum, min, max;
};

/* What was written. One for each job, added up at the end. */
struct gen_totals {
	uint64_t files, bytes, nodes, values;
	struct gen_total metrics[GEN_METRIC_COUNT];
	struct gen_total *contexts; /* [node][metric], or NULL */
	bool *visited;		    /* [node] */
};

/* Memory for one rank's file; all zeroes at first, free(bytes), free(local), free(visited). */
struct gen_buffer {
	unsigned char *bytes;
	size_t length, capacity;
	uint32_t *local; /* [node]: the number in this profile */
	bool *visited;	 /* [unit] */
};

/* The whole measurement file of a rank in buffer->bytes. */
void gen_rank(const struct gen_universe *universe, const struct gen_options *options, uint32_t rank,
	      struct gen_buffer *buffer, struct gen_totals *totals);
/* HOST-PID-START.sonde-process */
void gen_rank_name(uint32_t rank, char *text, size_t size);

/* Memory, or the end of the program. */
void *gen_must(void *memory);

#endif
