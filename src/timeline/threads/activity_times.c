/* SPDX-License-Identifier: Apache-2.0 */
/* See activity_times.h. */
#include "activity_times.h"

#include "thread_activity.h"
#include "activity_samples.h"

#include <stdlib.h>

static int add_part(void *data, const struct sn_activity_part *part)
{
	double *times_ns = data;
	times_ns[part->context] += (double)(part->end_ns - part->start_ns);
	return 0;
}

static int count_sample(void *data, uint32_t context, uint64_t time_ns)
{
	double *counts = data;
	(void)time_ns;
	counts[context]++;
	return 0;
}

int sn_activity_times(const struct sn_processes *processes, double *times_ns,
		      struct sn_error *error)
{
	uint32_t contexts = sonde_db_context_count(processes->db);
	uint64_t each_ns = 0;
	double *counts = calloc(contexts + 1ull, sizeof(*counts));
	int result = counts ? sn_activity_walk(processes, SONDE_NONE, SONDE_EVENTS_BRIEF, add_part,
					       times_ns, error)
			    : sn_fail_memory(error);
	if (!result)
		result = sn_activity_samples(processes, SONDE_NONE, count_sample, counts, &each_ns,
					     error);
	for (uint32_t i = 0; !result && i < contexts; i++)
		times_ns[i] += (double)each_ns * counts[i];
	free(counts);
	return result;
}
