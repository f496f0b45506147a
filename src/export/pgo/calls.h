/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls within an image, and how many.
 *
 * A direct call runs as often as its block. Where an indirect one goes is known from call paths alone, if the database has any: its block's count is shared out by the time in each function that
 * was called from there, with all that it calls. That is right where they take equally long; else the one that costs more has more.
 */
#pragma once

#include "pgo_image.h"

struct sn_pgo_call {
	uint64_t at, target; /* the instruction; where the other function begins */
	double count;
};

struct sn_pgo_calls {
	struct sn_pgo_call *list; /* by instruction and target, each pair once */
	size_t count, capacity;
};

/* 0 or SN_ERR_MEMORY; release it in either case. */
int sn_pgo_calls_find(struct sn_pgo_calls *calls, const struct sn_pgo_image *image,
		      const struct sn_export_request *request);
void sn_pgo_calls_release(struct sn_pgo_calls *calls);
/* The first of an instruction, or calls->count: then it has none. */
size_t sn_pgo_calls_at(const struct sn_pgo_calls *calls, uint64_t address);
