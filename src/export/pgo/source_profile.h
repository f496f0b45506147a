/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often source lines ran, function by function, as compilers read it: a function has lines, by their distance from the line where it is declared, and calls that were inlined into it, each a function again.
 * A line may have several blocks, which discriminators tell apart, and it has the functions that were called from it.
 *
 * Of a line's instructions the one that ran most often counts, for others were moved there or away. A function that stands several times in an image (static ones of one name, clones) is the sum of them.
 */
#pragma once

#include "calls.h"

#include "base/intern.h"

enum { SN_PGO_NONE = UINT32_MAX };

/* What numbers of blocks mean. */
enum sn_pgo_discriminators {
	SN_PGO_WITHOUT, /* left out */
	SN_PGO_LLVM,	/* the base discriminator of LLVM's; what it duplicated counts so often */
};

struct sn_pgo_node {
	uint32_t parent; /* the node that it was inlined into; SN_PGO_NONE: it stands by itself */
	uint32_t offset, discriminator; /* of the call, in the parent */
	uint32_t name;
	uint64_t head,
	    total; /* calls from elsewhere; executions of all lines, with those inlined */
	uint32_t first_line, end_line;
	uint32_t first_child, end_child; /* of profile->order */
};

struct sn_pgo_line {
	uint32_t node, offset, discriminator;
	uint64_t count;
	uint32_t first_target, end_target;
	/* while it is made: the most of one function, and which */
	uint64_t most;
	uint32_t function;
};

struct sn_pgo_target {
	uint32_t line, name;
	uint64_t count;
};

struct sn_pgo_profile {
	struct sn_intern names; /* texts with their NUL */
	struct sn_pgo_node *nodes;
	struct sn_pgo_line *lines;     /* by node, offset and discriminator */
	struct sn_pgo_target *targets; /* by line, the most frequent first */
	/* numbers of nodes: the children of each together, by place, and at the end, from first_function on, those without a parent, the hottest first */
	uint32_t *order;
	uint32_t first_function;
	bool failed; /* for lack of memory */
	struct sn_intern node_keys, line_keys, target_keys;
	size_t node_capacity, line_capacity, target_capacity;
};

/* Of the image that was asked for. SN_ERR_MISSING where it has no lines, or as sn_pgo_image_open; 0. Release it in either case. */
int sn_pgo_profile_make(struct sn_pgo_profile *profile, const struct sn_export_request *request,
			enum sn_pgo_discriminators discriminators, struct sn_error *error);
void sn_pgo_profile_release(struct sn_pgo_profile *profile);

static inline const char *sn_pgo_name(const struct sn_pgo_profile *profile, uint32_t name)
{
	return sn_intern_at(&profile->names, name, NULL);
}

/* How it is made; numbers are SN_PGO_NONE once it has failed, and may be passed on. */
uint32_t sn_pgo_profile_name(struct sn_pgo_profile *profile, const char *name);
uint32_t sn_pgo_profile_node(struct sn_pgo_profile *profile, uint32_t parent, uint32_t offset,
			     uint32_t discriminator, uint32_t name);
uint32_t sn_pgo_profile_line(struct sn_pgo_profile *profile, uint32_t node, uint32_t offset,
			     uint32_t discriminator);
/* An instruction of the line, in the image's function of that number; functions ascend. */
void sn_pgo_profile_count(struct sn_pgo_profile *profile, uint32_t line, uint32_t function,
			  uint64_t count);
void sn_pgo_profile_call(struct sn_pgo_profile *profile, uint32_t line, uint32_t name,
			 uint64_t count);
/* Sorts, sums up. 0 or SN_ERR_MEMORY. */
int sn_pgo_profile_finish(struct sn_pgo_profile *profile);
