/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All launches as parallel coordinates: each thread counts those of its slices, and rank 0 has the sum of all. The ranges of the axes are known from the
 * first reading, so that groups do not depend on who counted what (docs/design/parallel-coordinates.md).
 */
#include "base/sort_by.h"
#include "timeline/devices/copies.h"
#include "window.h"

#include <math.h>

static const struct {
	enum sn_feature feature;
	enum sn_parallel_scale scale;
	const char *unit;
} known[] = {{SN_FEATURE_START, SN_PARALLEL_LINEAR, "ns"},
	     {SN_FEATURE_KERNEL, SN_PARALLEL_CATEGORY, ""},
	     {SN_FEATURE_COPY_KIND, SN_PARALLEL_CATEGORY, ""},
	     {SN_FEATURE_COPY_BYTES, SN_PARALLEL_LOG, "bytes"},
	     {SN_FEATURE_DURATION, SN_PARALLEL_LOG, "ns"},
	     {SN_FEATURE_MEMORY_STALL, SN_PARALLEL_LOG, "ns"}};
enum { AXES = sizeof(known) / sizeof(*known) };
_Static_assert((int)AXES <= (int)SN_PARALLEL_AXES, "parallel coordinates have fewer axes");

/* ---- axes ---- */

/* Numbers that lie within the axis, as its ends. */
static void find_range(const struct sn_vary *vary, struct sn_parallel_axis *axis,
		       enum sn_feature feature)
{
	const struct sn_variability *result = vary->result;
	const struct sn_vary_copies *copies = &vary->copies;
	uint64_t longest_ns =
	    vary->longest_ns > copies->longest_ns ? vary->longest_ns : copies->longest_ns;
	switch (feature) {
	case SN_FEATURE_START:
		axis->low = 0;
		axis->high = (double)(result->end_ns - result->start_ns);
		break;
	case SN_FEATURE_DURATION:
		axis->low = fmax((double)vary->shortest_ns, 1);
		axis->high = (double)vary->longest_ns;
		break;
	case SN_FEATURE_MEMORY_STALL:
		axis->low = 1;
		axis->high = (double)longest_ns;
		break;
	case SN_FEATURE_COPY_BYTES:
		axis->low = fmax((double)copies->least_bytes, 1);
		axis->high = (double)copies->most_bytes;
		break;
	default:
		break;
	}
}

/* Whether it may have any value. */
static bool has_axis(const struct sn_vary *vary, enum sn_feature feature)
{
	if (feature == SN_FEATURE_COPY_BYTES)
		return vary->copies.most_bytes > 0;
	return vary->copies.count ||
	       (feature != SN_FEATURE_COPY_KIND && feature != SN_FEATURE_MEMORY_STALL);
}

/* Features of the axes in their order. */
static unsigned choose(const struct sn_vary *vary, unsigned chosen[AXES])
{
	unsigned count = 0;
	for (unsigned i = 0; i < AXES; i++)
		if (has_axis(vary, known[i].feature))
			chosen[count++] = i;
	return count;
}

static struct sn_parallel *new_parallel(const struct sn_vary *vary)
{
	struct sn_parallel_axis axes[AXES];
	unsigned chosen[AXES], count = choose(vary, chosen);
	for (unsigned axis = 0; axis < count; axis++) {
		enum sn_feature feature = known[chosen[axis]].feature;
		axes[axis] =
		    (struct sn_parallel_axis){sn_feature_name(feature), known[chosen[axis]].unit,
					      known[chosen[axis]].scale, NAN, NAN};
		find_range(vary, axes + axis, feature);
	}
	return sn_parallel_new(axes, count);
}

SN_SORT_BY(sort_kernels, uint32_t, const uint64_t *, SN_ORDER(of[*b], of[*a]) ?: SN_ORDER(*a, *b));

/* Kernels by their launches, most first. */
static int name_kernels(struct sn_vary *vary, struct sn_parallel_names *names)
{
	struct sn_arena *arena = &vary->result->arena;
	uint32_t count = vary->sources.kernel_count;
	uint64_t *launches = calloc(count + 1ull, sizeof(*launches));
	uint32_t *order = calloc(count + 1ull, sizeof(*order));
	const char **texts = sn_arena_array(arena, const char *, count + 1ull);
	vary->category_of_kernel = sn_arena_array(arena, uint32_t, count + 1ull);
	int result = launches && order && !arena->failed ? 0 : SN_ERR_MEMORY;
	for (uint32_t i = 0; i < vary->cell_count && !result; i++)
		launches[vary->cells[i].kernel] += vary->cells[i].count;
	for (uint32_t i = 0; i < count && !result; i++)
		order[i] = i;
	if (!result)
		sort_kernels(order, count, launches);
	for (uint32_t i = 0; i < count && !result; i++) {
		vary->category_of_kernel[order[i]] = i;
		texts[i] = vary->sources.kernels[order[i]];
	}
	*names = (struct sn_parallel_names){texts, count};
	free(launches);
	free(order);
	return result;
}

/* As feature.c numbers them: 0 without a copy. */
static int name_copies(struct sn_vary *vary, struct sn_parallel_names *names)
{
	const char **texts =
	    sn_arena_array(&vary->result->arena, const char *, SN_COPY_DIRECTIONS + 1);
	for (unsigned i = 0; i < SN_COPY_DIRECTIONS && texts; i++)
		texts[i + 1] = sn_copy_direction_name((enum sn_copy_direction)i);
	if (texts)
		texts[0] = "none";
	*names = (struct sn_parallel_names){texts, SN_COPY_DIRECTIONS + 1};
	return texts ? 0 : SN_ERR_MEMORY;
}

static int name_axes(struct sn_vary *vary)
{
	struct sn_parallel_names *names = vary->result->picture.names;
	unsigned chosen[AXES], count = choose(vary, chosen);
	int result = 0;
	for (unsigned axis = 0; axis < count && !result; axis++) {
		if (known[chosen[axis]].feature == SN_FEATURE_KERNEL)
			result = name_kernels(vary, names + axis);
		else if (known[chosen[axis]].feature == SN_FEATURE_COPY_KIND)
			result = name_copies(vary, names + axis);
	}
	return result;
}

int sn_vary_picture_begin(struct sn_vary *vary, struct sn_error *error)
{
	if (!vary->request->wants_picture)
		return 0;
	int result = name_axes(vary);
	for (unsigned i = 0; i < vary->threads && !result; i++) {
		vary->workers[i].picture = new_parallel(vary);
		result = vary->workers[i].picture ? 0 : SN_ERR_MEMORY;
	}
	return sn_peers_agree(vary->peers, sn_fail_code(error, result), error);
}

/* ---- launches ---- */

void sn_vary_picture_add(const struct sn_vary_window *window, const struct sn_window_launch *launch)
{
	const struct sn_vary *vary = window->vary;
	double values[AXES];
	unsigned axis = 0;
	for (unsigned i = 0; i < AXES; i++) {
		if (!has_axis(vary, known[i].feature))
			continue;
		double value = sn_vary_feature(window, launch, NULL, known[i].feature);
		values[axis++] = known[i].feature == SN_FEATURE_KERNEL
				     ? vary->category_of_kernel[(size_t)value]
				     : value;
	}
	sn_parallel_add(window->worker->picture, values);
}

/* ---- of all threads and ranks ---- */

/* The first worker's is that of the rank. */
static void pack_picture(const void *context, struct sn_buffer *bytes)
{
	const struct sn_vary *vary = context;
	sn_parallel_pack(vary->workers[0].picture, bytes);
}

static int add_picture(void *context, struct sn_span bytes)
{
	struct sn_vary *vary = context;
	struct sn_parallel *one = new_parallel(vary);
	bool has_failed = !one || !vary->workers[0].picture || !sn_parallel_unpack(one, bytes) ||
			  sn_parallel_merge(vary->workers[0].picture, one);
	sn_parallel_free(one);
	return has_failed ? SN_ERR_MEMORY : 0;
}

static void clear_picture(void *context)
{
	struct sn_vary *vary = context;
	sn_parallel_free(vary->workers[0].picture);
	vary->workers[0].picture = new_parallel(vary);
}

int sn_vary_picture_end(struct sn_vary *vary, struct sn_error *error)
{
	const struct sn_peers_merging merging = {pack_picture, add_picture, clear_picture, vary};
	int result = 0;
	if (!vary->request->wants_picture)
		return 0;
	for (unsigned i = 1; i < vary->threads && !result; i++)
		result = sn_parallel_merge(vary->workers[0].picture, vary->workers[i].picture);
	result = sn_peers_agree(vary->peers, sn_fail_code(error, result), error);
	result = result ?: sn_peers_merge(vary->peers, &merging, error);
	vary->result->picture.parallel = vary->workers[0].picture;
	vary->workers[0].picture = NULL;
	return result;
}
