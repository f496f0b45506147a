/* SPDX-License-Identifier: Apache-2.0 */
/* One participant's device and threads, in the time when all others wait; see stragglers.h. */
#include "stragglers.h"

#include "timeline/threads/activity_samples.h"
#include "timeline/threads/thread_activity.h"

/* ---- what the last did while the others waited ---- */

struct late {
	const struct sn_answers *answers;
	struct sn_intervals *windows; /* by participant: from the arrival before its own to that */
	double *values;		      /* of one participant, by node */
};

/* What one participant did in its windows, in order of time. */
struct causes {
	const struct sn_answers *answers;
	const struct sn_intervals *windows;
	double *values;
	struct sn_operations *operations; /* of its device; NULL without one */
	struct sn_operation next;
	bool has_next;
	uint64_t covered_ns; /* until then the device's operations have been looked at */
	uint64_t quiet_ns;   /* of the windows before that, when the device did nothing */
	struct sn_activity_threads *threads;
	uint64_t *begins; /* by thread: quiet_ns when it began what it is in */
	uint8_t *known;	  /* by context; see sn_activity_does_something */
};

static int find_windows(const struct sn_answers *answers, struct late *late)
{
	const struct sn_ranks *ranks = &answers->ranks;
	for (size_t i = 0; i < ranks->count; i++) {
		const struct sn_collective *one = ranks->collectives + i;
		const struct sn_arrival *last = ranks->arrivals + one->first + one->count - 1;
		uint64_t offset = (uint64_t)ranks->sums[last->participant].offset_ns;
		if (sn_intervals_add(late->windows + last->participant, last[-1].start_ns - offset,
				     last->start_ns - offset))
			return SN_ERR_MEMORY;
	}
	for (size_t i = 0; i < ranks->participant_count; i++)
		sn_intervals_settle(late->windows + i);
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
	causes->values[causes->answers->nodes.of_context[one->context]] +=
	    (double)sn_intervals_within(causes->windows, one->start_ns, one->end_ns);
	return 0;
}

static uint64_t within(const struct causes *causes, uint64_t to_ns)
{
	return causes->covered_ns < to_ns
		   ? sn_intervals_within(causes->windows, causes->covered_ns, to_ns)
		   : 0;
}

/* How long the device has done nothing in the windows until then. */
static int quiet_until(struct causes *causes, uint64_t time_ns, uint64_t *quiet_ns,
		       struct sn_error *error)
{
	int result = 0;
	while (!result && causes->has_next && causes->next.start_ns < time_ns) {
		uint64_t end = causes->next.end_ns;
		causes->quiet_ns += within(causes, causes->next.start_ns);
		causes->covered_ns = end > causes->covered_ns ? end : causes->covered_ns;
		result = read_next(causes, error);
	}
	*quiet_ns = causes->quiet_ns + within(causes, time_ns);
	return result;
}

static int run(struct causes *causes, struct sn_error *error)
{
	struct sn_activity_change change;
	uint64_t quiet;
	int result = read_next(causes, error), found;
	while (!result && (found = sn_activity_threads_next(causes->threads, &change, error))) {
		if (found < 0)
			return found;
		result = quiet_until(causes, change.time_ns, &quiet, error);
		if (change.ended && sn_activity_does_something(causes->answers->db, causes->known,
							       change.ended->context))
			causes->values[causes->answers->nodes.of_context[change.ended->context]] +=
			    (double)(quiet - causes->begins[change.thread]);
		causes->begins[change.thread] = quiet;
	}
	/* what the device does once threads have nothing more to do */
	while (!result && causes->has_next)
		result = read_next(causes, error);
	return result;
}

/* ---- what was in no call ---- */

struct counted {
	const struct sn_intervals *windows;
	const struct sn_node_map *nodes;
	double *counts; /* by node */
};

static int take_sample(void *data, uint32_t context, uint64_t time_ns)
{
	const struct counted *counted = data;
	if (sn_intervals_within(counted->windows, time_ns, time_ns + 1))
		counted->counts[counted->nodes->of_context[context]]++;
	return 0;
}

static int add_samples(struct late *late, size_t participant, struct sn_error *error)
{
	const struct sn_answers *answers = late->answers;
	struct counted counted = {
	    .windows = late->windows + participant,
	    .nodes = &answers->nodes,
	    .counts = calloc(answers->nodes.table.count + 1ull, sizeof(double)),
	};
	uint64_t each_ns;
	if (!counted.counts)
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	int result = sn_activity_samples(&answers->processes,
					 answers->collectives.participants[participant].profile,
					 take_sample, &counted, &each_ns, error);
	for (uint32_t i = 0; !result && i < answers->nodes.table.count; i++)
		late->values[i] += (double)each_ns * counted.counts[i];
	free(counted.counts);
	return result;
}

/* ---- all of it ---- */

/* What kept a participant: its device's operations, or while that had none, its threads. */
static int find_causes(struct late *late, size_t participant, struct sn_error *error)
{
	const struct sn_answers *answers = late->answers;
	const struct sn_participant *one = answers->collectives.participants + participant;
	struct causes causes = {
	    .answers = answers,
	    .windows = late->windows + participant,
	    .values = late->values,
	    .known = calloc(sonde_db_context_count(answers->db) + 1ull, 1),
	};
	int result = sn_activity_threads_open(&answers->processes, one->profile, false,
					      &causes.threads, error);
	if (!result)
		causes.begins =
		    calloc(sn_activity_threads_count(causes.threads) + 1, sizeof(uint64_t));
	if (one->device != SONDE_NONE)
		causes.operations =
		    sn_device_times_read(&answers->times, answers->trace, one->device, SONDE_NONE);
	if (!result &&
	    (!causes.begins || !causes.known || (one->device != SONDE_NONE && !causes.operations)))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	if (!result)
		result = run(&causes, error);
	sn_activity_threads_free(causes.threads);
	sn_operations_free(causes.operations);
	free(causes.begins);
	free(causes.known);
	return result;
}

/* Of one participant, the most first; the caller frees *sums in either case. */
static int sum_causes(struct late *late, size_t participant, struct sn_node_sum **sums,
		      size_t *count, struct sn_error *error)
{
	const struct sn_answers *answers = late->answers;
	for (uint32_t i = 0; i < answers->nodes.table.count; i++)
		late->values[i] = 0;
	int result = find_causes(late, participant, error);
	/* a device has operations when its threads are in no call, too: those say more */
	if (!result && answers->collectives.participants[participant].device == SONDE_NONE)
		result = add_samples(late, participant, error);
	if (result)
		return result;
	*sums = sn_node_sums(&answers->nodes, late->values, count);
	return *sums ? 0 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
}

static int late_begin(const struct sn_answers *answers, struct late *late, struct sn_error *error)
{
	*late = (struct late){
	    .answers = answers,
	    .windows = calloc(answers->ranks.participant_count + 1, sizeof(*late->windows)),
	    .values = calloc(answers->nodes.table.count + 1ull, sizeof(double)),
	};
	return late->windows && late->values && !find_windows(answers, late)
		   ? 0
		   : sn_fail(error, SN_ERR_MEMORY, "out of memory");
}

static void late_end(struct late *late)
{
	for (size_t i = 0; i < late->answers->ranks.participant_count && late->windows; i++)
		sn_intervals_release(late->windows + i);
	free(late->windows);
	free(late->values);
}

int sn_latest(const struct sn_answers *answers, struct sn_latest *latest, struct sn_error *error)
{
	const struct sn_ranks *ranks = &answers->ranks;
	struct late late;
	size_t worst = 0;
	for (size_t i = 1; i < ranks->participant_count; i++)
		if (ranks->sums[i].delayed_ns > ranks->sums[worst].delayed_ns)
			worst = i;
	*latest = (struct sn_latest){.participant = worst};
	int result = late_begin(answers, &late, error);
	if (!result)
		result = sum_causes(&late, worst, &latest->nodes, &latest->count, error);
	for (size_t i = 0; !result && i < late.windows[worst].count; i++) {
		const struct sn_interval *one = late.windows[worst].items + i;
		latest->whole_ns += (double)(one->end_ns - one->start_ns);
	}
	late_end(&late);
	return result;
}

/* ---- sums ---- */

static int by_delay(const void *left, const void *right, void *data)
{
	const struct sn_rank_sum *sums = data;
	size_t a = *(const size_t *)left, b = *(const size_t *)right;
	if (sums[a].delayed_ns != sums[b].delayed_ns)
		return sums[a].delayed_ns < sums[b].delayed_ns ? 1 : -1;
	return (a > b) - (a < b);
}

size_t *sn_ranks_order(const struct sn_ranks *ranks)
{
	enum { FEW_RANKS = 8 };
	size_t *order = malloc((ranks->participant_count + 1) * sizeof(*order));
	for (size_t i = 0; i < ranks->participant_count && order; i++)
		order[i] = i;
	if (ranks->participant_count > FEW_RANKS && order)
		qsort_r(order, ranks->participant_count, sizeof(*order), by_delay, ranks->sums);
	return order;
}

/* Which of so many participants was last most often. */
static size_t find_most(const uint32_t *lasts, size_t count)
{
	size_t most = 0;
	for (size_t i = 1; i < count; i++)
		if (lasts[i] > lasts[most])
			most = i;
	return most;
}

struct sn_rank_node *sn_rank_nodes(const struct sn_answers *answers, size_t *count)
{
	const struct sn_ranks *ranks = &answers->ranks;
	size_t nodes = answers->nodes.table.count, people = ranks->participant_count;
	double *values = calloc(nodes + 1, sizeof(*values));
	uint32_t *lasts = calloc((nodes + 1) * (people + 1), sizeof(*lasts));
	uint32_t *counts = calloc(nodes + 1, sizeof(*counts));
	bool has_memory = values && lasts && counts;
	for (size_t i = 0; i < ranks->count && has_memory; i++) {
		const struct sn_collective *one = ranks->collectives + i;
		const struct sn_arrival *last = ranks->arrivals + one->first + one->count - 1;
		uint32_t node = answers->nodes.of_context[last->context];
		values[node] += (double)one->wait_ns;
		counts[node]++;
		lasts[node * people + last->participant]++;
	}
	struct sn_node_sum *sums = has_memory ? sn_node_sums(&answers->nodes, values, count) : NULL;
	struct sn_rank_node *items = sums ? malloc((*count + 1) * sizeof(*items)) : NULL;
	for (size_t i = 0; items && i < *count; i++) {
		const uint32_t *of = lasts + sums[i].node * people;
		size_t most = find_most(of, people);
		items[i] = (struct sn_rank_node){sums[i].node, sums[i].value, counts[sums[i].node],
						 most, of[most]};
	}
	free(sums);
	free(values);
	free(lasts);
	free(counts);
	return items;
}
