/* SPDX-License-Identifier: Apache-2.0 */
/* See epochs_callers.h. */
#include "epochs_callers.h"

#include "base/sort_by.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A function, of one profile, by one metric. */
struct function {
	uint32_t profile, metric, kind, id;
	uint64_t start; /* or another number that its code has in common */
};

SN_SORT_BY(sort_paths, struct sn_epochs_path, const void *,
	   SN_ORDER_BY(a, b, function, parent, is_parents));

/* Code of a process's own is known by the name that the store has for it, which is one text. */
static uint64_t start_of(const struct sn_symbol_location *location, const struct sn_frame *frame)
{
	if (location && location->function_start)
		return location->function_start;
	return location && location->frames[0].name ? (uintptr_t)location->frames[0].name
						    : frame->value;
}

static struct function function_of(const struct sn_epochs_callers *callers, uint32_t profile,
				   uint32_t metric, uint32_t number)
{
	const struct sn_symbol_location *location = callers->resolved->locations[number];
	struct sn_frame frame;
	memcpy(&frame, sn_intern_at(&callers->merge->frames, number, NULL), sizeof(frame));
	return (struct function){
	    .profile = profile,
	    .metric = metric,
	    .kind = frame.kind,
	    .id = frame.id,
	    .start = start_of(location, &frame),
	};
}

static int add_path(struct sn_epochs_callers *callers, const struct sn_epochs_leaf *leaf)
{
	struct function function = function_of(callers, leaf->profile, leaf->metric, leaf->frame);
	struct sn_epochs_path path = {
	    .function = sn_intern_add(&callers->functions, &function, sizeof(function)),
	    .parent = leaf->parent,
	    .is_parents = leaf->is_parents,
	    .samples = leaf->samples,
	};
	return path.function == SN_INTERN_NONE ||
		       sn_vec_push(&callers->paths, &callers->capacity, &callers->count, path)
		   ? SN_ERR_MEMORY
		   : 0;
}

/* Sums those that differ in the instruction alone. */
static void order_paths(struct sn_epochs_callers *callers)
{
	size_t kept = 0;
	sort_paths(callers->paths, callers->count, NULL);
	for (size_t i = 0; i < callers->count; i++) {
		struct sn_epochs_path *last = kept ? callers->paths + kept - 1 : NULL;
		if (last && last->function == callers->paths[i].function &&
		    last->parent == callers->paths[i].parent &&
		    last->is_parents == callers->paths[i].is_parents)
			last->samples += callers->paths[i].samples;
		else
			callers->paths[kept++] = callers->paths[i];
	}
	callers->count = kept;
}

int sn_epochs_callers_init(struct sn_epochs_callers *callers, const struct sn_merge *merge,
			   const struct sn_resolved *resolved, const struct sn_epochs_leaf *leaves,
			   size_t count)
{
	*callers = (struct sn_epochs_callers){.merge = merge, .resolved = resolved};
	for (size_t i = 0; i < count; i++)
		if (add_path(callers, leaves + i))
			return SN_ERR_MEMORY;
	order_paths(callers);
	callers->firsts = calloc(callers->functions.count + 1ull, sizeof(*callers->firsts));
	if (!callers->firsts)
		return SN_ERR_MEMORY;
	callers->firsts[callers->functions.count] = callers->count;
	for (size_t i = callers->count; i--;)
		callers->firsts[callers->paths[i].function] = i;
	return 0;
}

void sn_epochs_callers_release(struct sn_epochs_callers *callers)
{
	sn_intern_release(&callers->functions);
	free(callers->paths);
	free(callers->firsts);
}

const struct sn_epochs_path *sn_epochs_callers_of(const struct sn_epochs_callers *callers,
						  uint32_t profile, uint32_t metric, uint32_t frame,
						  size_t *count)
{
	struct function function = function_of(callers, profile, metric, frame);
	uint32_t number = sn_intern_find(&callers->functions, &function, sizeof(function));
	*count = 0;
	if (number == SN_INTERN_NONE)
		return NULL;
	*count = callers->firsts[number + 1] - callers->firsts[number];
	return callers->paths + callers->firsts[number];
}

void sn_epochs_share(struct sn_epochs_sharing *sharing, const struct sn_epochs_path *paths,
		     size_t count, uint64_t samples, uint64_t turn)
{
	static const double golden = 0.6180339887498949;
	double all = 0, begin = (double)turn * golden;
	for (size_t i = 0; i < count; i++)
		all += paths[i].samples;
	*sharing = (struct sn_epochs_sharing){
	    .each = (double)samples / all, .next = begin - floor(begin), .left = samples};
}

uint64_t sn_epochs_share_next(struct sn_epochs_sharing *sharing, const struct sn_epochs_path *path,
			      bool is_last)
{
	double share = path->samples * sharing->each, whole = floor(share);
	uint64_t given = (uint64_t)whole;
	sharing->rest += share - whole;
	if (sharing->rest > sharing->next) {
		given++;
		sharing->next += 1;
	}
	if (is_last || given > sharing->left)
		given = sharing->left;
	sharing->left -= given;
	return given;
}
