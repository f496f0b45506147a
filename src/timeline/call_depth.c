/* SPDX-License-Identifier: Apache-2.0 */
/* Exclusive times of contexts, passed to their parents down to the wanted depth. */
#include "call_depth.h"

#include "base/sort_by.h"
#include "timeline/threads/activity_samples.h"

SN_SORT_BY(sort_by_time, struct sn_depth_time, const void *,
	   SN_ORDER(b->threads_ns + b->device_ns, a->threads_ns + a->device_ns)
	       ?: SN_ORDER(a->context, b->context));

/* Contexts are in pre-order, so going backwards visits children before their parents. */
static void roll_up(const struct sn_answers *answers, struct sn_depth_time *items)
{
	for (uint32_t i = sonde_db_context_count(answers->db); i-- > 1;) {
		const struct sonde_db_context *context = sonde_db_context(answers->db, i);
		if (context->depth <= answers->depth)
			continue;
		items[context->parent].threads_ns += items[i].threads_ns;
		items[context->parent].device_ns += items[i].device_ns;
		items[i].threads_ns = items[i].device_ns = 0;
	}
}

int sn_depth_times(const struct sn_answers *answers, struct sn_depth_times *times,
		   struct sn_error *error)
{
	uint32_t count = sonde_db_context_count(answers->db);
	double *threads = calloc(count + 1ull, sizeof(*threads));
	*times = (struct sn_depth_times){.items = malloc((count + 1ull) * sizeof(*times->items))};
	int result = threads && times->items
			 ? sn_activity_times(&answers->processes, threads, error)
			 : sn_fail_memory(error);
	for (uint32_t i = 0; i < count && !result; i++)
		times->items[i] =
		    (struct sn_depth_time){i, threads[i], answers->times.context_ns[i]};
	free(threads);
	if (result)
		return result;
	roll_up(answers, times->items);
	for (uint32_t i = 0; i < count; i++) {
		struct sn_depth_time one = times->items[i];
		times->threads_ns += one.threads_ns;
		times->device_ns += one.device_ns;
		if (one.threads_ns + one.device_ns > 0)
			times->items[times->count++] = one;
	}
	sort_by_time(times->items, times->count, NULL);
	return 0;
}
