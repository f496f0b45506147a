/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the readings; see variability.h. */
#include "variability.h"

#include "base/pool.h"
#include "base/progress/progress.h"
#include "base/search.h"
#include "window.h"

#include <string.h>

static int init(struct sn_vary *vary, const struct sn_variability_request *request,
		struct sn_error *error)
{
	struct sn_variability *result = vary->result;
	pthread_mutex_init(&vary->lock, NULL);
	vary->threads = sn_pool_threads(request->threads);
	vary->workers = calloc(vary->threads, sizeof(*vary->workers));
	if (!vary->workers)
		return sn_fail_memory(error);
	int failed = sn_vary_sources_init(&vary->sources, request->inputs, request->input_count,
					  &result->arena, error);
	if (failed)
		return failed;
	result->kernels = vary->sources.kernels;
	result->kernel_count = vary->sources.kernel_count;
	result->place_count = vary->sources.place_count;
	result->places =
	    sn_arena_array(&result->arena, struct sn_variability_place, result->place_count + 1);
	if (!result->places)
		return sn_fail_memory(error);
	memcpy(result->places, vary->sources.places, result->place_count * sizeof(*result->places));
	return 0;
}

static void release(struct sn_vary *vary)
{
	for (unsigned i = 0; i < vary->threads && vary->workers; i++) {
		struct sn_vary_worker *worker = vary->workers + i;
		sn_vary_reader_release(&worker->reader);
		free(worker->rows);
		free(worker->values);
		free(worker->begins);
		sn_parallel_free(worker->picture);
		sn_vary_window_free_room(worker);
	}
	for (uint32_t i = 0; i < vary->cell_count; i++)
		sn_value_counts_release(&vary->cells[i].durations);
	for (uint32_t i = 0; i < vary->configuration_count; i++)
		sn_value_counts_release(&vary->configurations[i].durations);
	pthread_mutex_destroy(&vary->lock);
	for (uint32_t i = 0; i < vary->keys.count && vary->key_durations; i++)
		sn_value_counts_release(vary->key_durations + i);
	sn_vary_sources_release(&vary->sources);
	sn_intern_release(&vary->keys);
	free(vary->key_durations);
	free(vary->parts);
	free(vary->cell_of_key);
	free(vary->cells);
	free(vary->configurations);
	free(vary->steps);
	free(vary->slices);
	free(vary->workers);
}

int sn_variability(const struct sn_variability_request *request, struct sn_variability *result,
		   struct sn_error *error)
{
	*result = (struct sn_variability){.is_timeless = request->is_timeless,
					  .ticks = request->ticks > 0 ? request->ticks : 1};
	struct sn_vary vary = {.request = request,
			       .result = result,
			       .peers = request->peers ? request->peers : &sn_peers_alone};
	int failed = sn_peers_agree(vary.peers, init(&vary, request, error), error);
	failed = failed ?: sn_vary_survey(&vary, error);
	failed = failed ?: sn_vary_make_groups(&vary, error);
	sn_progress_begin("reading changes", vary.slice_count);
	if (request->is_timeless)
		result->bin_count = 0;
	else
		failed = failed ?: sn_vary_slices(&vary, error);
	failed = failed ?: sn_vary_conclude(&vary, error);
	failed = failed ?: sn_vary_bin_kernels(&vary, error);
	if (request->wants_features)
		failed = failed ?: sn_vary_features(&vary, &result->features, error);
	release(&vary);
	return failed;
}

const struct sn_bin_kernels *sn_variability_bin_kernels(const struct sn_variability *result,
							uint32_t bin)
{
	const struct sn_bin_kernels *all = result->top_bins;
	size_t at = sn_search(i, result->top_bin_count, all[i].bin < bin);
	return at < result->top_bin_count && all[at].bin == bin ? all + at : NULL;
}

void sn_variability_release(struct sn_variability *result)
{
	for (size_t i = 0; i < result->group_count; i++) {
		sn_value_counts_release(&result->groups[i].durations);
		free(result->groups[i].places);
	}
	for (size_t i = 0; i < result->top_bin_count; i++)
		free(result->top_bins[i].items);
	free(result->top_bins);
	free(result->groups);
	free(result->by_variance);
	free(result->by_adjusted);
	sn_launch_features_release(&result->features);
	sn_parallel_free(result->picture.parallel);
	sn_arena_release(&result->arena);
	*result = (struct sn_variability){0};
}
