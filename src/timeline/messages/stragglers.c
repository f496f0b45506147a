/* SPDX-License-Identifier: Apache-2.0 */
/* What the participant that others waited for most did in that time: its device and its threads. */
#include "stragglers.h"

#include "base/sort_by.h"
#include "timeline/threads/activity_samples.h"
#include "timeline/threads/thread_activity.h"

/* What one participant did while all others waited for it. */
struct causes {
	const struct sn_answers *answers;
	struct sn_intervals windows;	  /* from the last other arrival to its own */
	double *values_ns;		  /* by node */
	double *samples;		  /* by node: samples outside of calls */
	struct sn_operations *operations; /* of its device; NULL if it has none */
	struct sn_operation next;
	bool has_next;
	uint64_t covered_ns; /* end of the device's operations so far */
	uint64_t quiet_ns;   /* idle time of the device in the windows before covered_ns */
	struct sn_activity_threads *threads;
	uint64_t *begins; /* by thread: quiet_ns at the begin of its current part */
	uint8_t *known;	  /* by context: a cache for sn_activity_does_something */
};

static int find_windows(struct causes *causes, size_t participant)
{
	const struct sn_ranks *ranks = &causes->answers->ranks;
	for (size_t i = 0; i < ranks->count; i++) {
		const struct sn_arrival *last = sn_collective_last(ranks, ranks->collectives + i);
		uint64_t offset = (uint64_t)ranks->sums[last->participant].offset_ns;
		if (last->participant == participant &&
		    sn_intervals_add(&causes->windows, last[-1].start_ns - offset,
				     last->start_ns - offset))
			return SN_ERR_MEMORY;
	}
	sn_intervals_settle(&causes->windows);
	return 0;
}

static int read_next(struct causes *causes, struct sn_error *error)
{
	int result =
	    causes->operations ? sn_operations_next(causes->operations, &causes->next, error) : 0;
	causes->has_next = result > 0;
	if (result <= 0)
		return result;
	const struct sn_operation *one = &causes->next;
	causes->values_ns[causes->answers->nodes.of_context[one->context]] +=
	    (double)sn_intervals_within(&causes->windows, one->start_ns, one->end_ns);
	return 0;
}

/* Computes the device's idle time in the windows up to a time. */
static int quiet_until(struct causes *causes, uint64_t time_ns, uint64_t *quiet_ns,
		       struct sn_error *error)
{
	const struct sn_intervals *windows = &causes->windows;
	int result = 0;
	while (!result && causes->has_next && causes->next.start_ns < time_ns) {
		uint64_t end = causes->next.end_ns;
		causes->quiet_ns +=
		    sn_intervals_within(windows, causes->covered_ns, causes->next.start_ns);
		causes->covered_ns = end > causes->covered_ns ? end : causes->covered_ns;
		result = read_next(causes, error);
	}
	*quiet_ns = causes->quiet_ns + sn_intervals_within(windows, causes->covered_ns, time_ns);
	return result;
}

/* Sums the device's operations and, while it is idle, the parts of threads. */
static int sum_activities(struct causes *causes, struct sn_error *error)
{
	const struct sn_answers *answers = causes->answers;
	struct sn_activity_change change;
	uint64_t quiet;
	int result = read_next(causes, error), found;
	while (!result && (found = sn_activity_threads_next(causes->threads, &change, error))) {
		if (found < 0)
			return found;
		result = quiet_until(causes, change.time_ns, &quiet, error);
		if (change.ended &&
		    sn_activity_does_something(answers->db, causes->known, change.ended->context))
			causes->values_ns[answers->nodes.of_context[change.ended->context]] +=
			    (double)(quiet - causes->begins[change.thread]);
		causes->begins[change.thread] = quiet;
	}
	/* the device's operations after the last part of a thread */
	while (!result && causes->has_next)
		result = read_next(causes, error);
	return result;
}

static int count_sample(void *data, uint32_t context, uint64_t time_ns)
{
	const struct causes *causes = data;
	if (sn_intervals_within(&causes->windows, time_ns, time_ns + 1))
		causes->samples[causes->answers->nodes.of_context[context]]++;
	return 0;
}

static int sum_samples(struct causes *causes, uint32_t profile, struct sn_error *error)
{
	const struct sn_answers *answers = causes->answers;
	uint64_t each_ns;
	int result = sn_activity_samples(&answers->processes, profile, count_sample, causes,
					 &each_ns, error);
	for (uint32_t i = 0; !result && i < answers->nodes.table.count; i++)
		causes->values_ns[i] += (double)each_ns * causes->samples[i];
	return result;
}

static int sum_causes(struct causes *causes, size_t participant, struct sn_error *error)
{
	const struct sn_answers *answers = causes->answers;
	const struct sn_participant *one = answers->collectives.participants + participant;
	bool has_device = one->device != SONDE_NONE;
	int result = sn_activity_threads_open(&answers->processes, one->profile, false,
					      &causes->threads, error);
	if (result)
		return result;
	causes->values_ns = calloc(answers->nodes.table.count + 1ull, sizeof(double));
	causes->samples = calloc(answers->nodes.table.count + 1ull, sizeof(double));
	causes->known = calloc(sonde_db_context_count(answers->db) + 1ull, 1);
	causes->begins = calloc(sn_activity_threads_count(causes->threads) + 1, sizeof(uint64_t));
	if (has_device)
		causes->operations =
		    sn_device_times_read(&answers->times, answers->trace, one->device, SONDE_NONE);
	if (!causes->values_ns || !causes->samples || !causes->known || !causes->begins ||
	    (has_device && !causes->operations) || find_windows(causes, participant))
		return sn_fail_memory(error);
	result = sum_activities(causes, error);
	/* if there is a device, its operations say more than samples outside of calls */
	return result || has_device ? result : sum_samples(causes, one->profile, error);
}

int sn_latest(const struct sn_answers *answers, struct sn_latest *latest, struct sn_error *error)
{
	const struct sn_ranks *ranks = &answers->ranks;
	struct causes causes = {.answers = answers};
	*latest = (struct sn_latest){.participant = 0};
	for (size_t i = 1; i < ranks->participant_count; i++)
		if (ranks->sums[i].delayed_ns > ranks->sums[latest->participant].delayed_ns)
			latest->participant = i;
	int result = sum_causes(&causes, latest->participant, error);
	if (!result) {
		latest->nodes = sn_node_sums(&answers->nodes, causes.values_ns, &latest->count);
		result = latest->nodes ? 0 : sn_fail_memory(error);
	}
	for (size_t i = 0; i < causes.windows.count; i++)
		latest->whole_ns += (double)sn_interval_length_ns(causes.windows.items[i]);
	sn_activity_threads_free(causes.threads);
	sn_operations_free(causes.operations);
	sn_intervals_release(&causes.windows);
	free(causes.values_ns);
	free(causes.samples);
	free(causes.known);
	free(causes.begins);
	return result;
}

/* ---- sums ---- */

SN_SORT_BY(sort_by_delay, size_t, const struct sn_rank_sum *,
	   SN_ORDER(of[*b].delayed_ns, of[*a].delayed_ns) ?: SN_ORDER(*a, *b));

size_t *sn_ranks_order(const struct sn_ranks *ranks)
{
	enum { FEW_RANKS = 8 };
	size_t *order = malloc((ranks->participant_count + 1) * sizeof(*order));
	for (size_t i = 0; i < ranks->participant_count && order; i++)
		order[i] = i;
	if (ranks->participant_count > FEW_RANKS && order)
		sort_by_delay(order, ranks->participant_count, ranks->sums);
	return order;
}

/* The participant that was last most often. */
static size_t find_most(const uint32_t *lasts, size_t count)
{
	size_t most = 0;
	for (size_t i = 1; i < count; i++)
		if (lasts[i] > lasts[most])
			most = i;
	return most;
}

SN_SORT_BY(sort_by_wait, struct sn_rank_node, const void *,
	   SN_ORDER(b->wait_ns, a->wait_ns) ?: SN_ORDER(a->node, b->node));

struct sn_rank_node *sn_rank_nodes(const struct sn_answers *answers, size_t *count)
{
	const struct sn_ranks *ranks = &answers->ranks;
	size_t nodes = answers->nodes.table.count, participants = ranks->participant_count;
	struct sn_rank_node *items = calloc(nodes + 1, sizeof(*items));
	uint32_t *lasts = calloc((nodes + 1) * (participants + 1), sizeof(*lasts));
	*count = 0;
	for (size_t i = 0; i < ranks->count && items && lasts; i++) {
		const struct sn_collective *one = ranks->collectives + i;
		const struct sn_arrival *last = sn_collective_last(ranks, one);
		uint32_t node = answers->nodes.of_context[last->context];
		items[node].wait_ns += (double)one->wait_ns;
		items[node].count++;
		lasts[node * participants + last->participant]++;
	}
	for (uint32_t i = 0; i < nodes && items && lasts; i++) {
		const uint32_t *of_node = lasts + i * participants;
		size_t most = find_most(of_node, participants);
		if (items[i].wait_ns > 0)
			items[(*count)++] = (struct sn_rank_node){
			    i, items[i].wait_ns, items[i].count, most, of_node[most]};
	}
	bool has_memory = items && lasts;
	if (has_memory)
		sort_by_wait(items, *count, NULL);
	else
		free(items);
	free(lasts);
	return has_memory ? items : NULL;
}
