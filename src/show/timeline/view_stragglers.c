/* SPDX-License-Identifier: Apache-2.0 */
/* Who comes late to collectives, what it did instead, and where the others waited. */
#include "timeline/answers.h"
#include "timeline/threads/thread_activity.h"
#include "timeline/threads/activity_samples.h"
#include "timeline/node_sums.h"

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
	uint8_t *waits;	  /* by context: 0 not known yet, 1 does something, 2 waits */
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

static bool does_something(struct causes *causes, uint32_t context)
{
	const struct sonde_db *db = causes->answers->db;
	uint8_t *waits = causes->waits + context;
	if (!*waits)
		*waits =
		    sn_activity_is_waiting(db, context) || sn_activity_is_synchronizing(db, context)
			? 2
			: 1;
	return *waits == 1;
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
		if (change.ended && does_something(causes, change.ended->context))
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
	    .waits = calloc(sonde_db_context_count(answers->db) + 1ull, 1),
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
	    (!causes.begins || !causes.waits || (one->device != SONDE_NONE && !causes.operations)))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	if (!result)
		result = run(&causes, error);
	sn_activity_threads_free(causes.threads);
	sn_operations_free(causes.operations);
	free(causes.begins);
	free(causes.waits);
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

/* Whom the others waited for most. */
static size_t find_worst(const struct sn_ranks *ranks)
{
	size_t worst = 0;
	for (size_t i = 1; i < ranks->participant_count; i++)
		if (ranks->sums[i].delayed_ns > ranks->sums[worst].delayed_ns)
			worst = i;
	return worst;
}

static int causes(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	char place[SN_PLACE_CHARS], label[SN_NODE_CHARS];
	size_t worst = find_worst(&answers->ranks), count = 0;
	struct late late;
	int result = late_begin(answers, &late, error);
	struct sn_sheet *sheet =
	    sn_page_sheet(page, "late_in", "while all others waited, the last one was in");
	sn_sheet_column(sheet, "participant", "who", "");
	sn_sheet_column(sheet, "time_ns", "time", "ns");
	sn_sheet_column(sheet, "node", "node", "");
	struct sn_node_sum *sums = NULL;
	if (!result)
		result = sum_causes(&late, worst, &sums, &count, error);
	for (size_t i = 0; !result && i < count && i < 20; i++) {
		sn_sheet_text(sheet, sn_answers_participant(answers, worst, place));
		sn_sheet_number(sheet, sums[i].value);
		sn_sheet_text(sheet, sn_node_map_label(&answers->nodes, sums[i].node, label));
	}
	free(sums);
	late_end(&late);
	return result;
}

int sn_latest(const struct sn_answers *answers, struct sn_latest *latest, struct sn_error *error)
{
	struct late late;
	size_t count = 0;
	*latest = (struct sn_latest){find_worst(&answers->ranks), SONDE_NONE, 0};
	int result = late_begin(answers, &late, error);
	struct sn_node_sum *sums = NULL;
	double whole = 0;
	if (!result)
		result = sum_causes(&late, latest->participant, &sums, &count, error);
	for (size_t i = 0; !result && i < late.windows[latest->participant].count; i++) {
		const struct sn_interval *one = late.windows[latest->participant].items + i;
		whole += (double)(one->end_ns - one->start_ns);
	}
	if (!result && count && whole > 0) {
		latest->node = sums[0].node;
		latest->share = sums[0].value / whole;
	}
	free(sums);
	late_end(&late);
	return result;
}

/* ---- sums ---- */

struct order {
	size_t participant;
	uint64_t delayed_ns;
};

static int by_delay(const void *left, const void *right)
{
	const struct order *a = left, *b = right;
	if (a->delayed_ns != b->delayed_ns)
		return a->delayed_ns < b->delayed_ns ? 1 : -1;
	return (a->participant > b->participant) - (a->participant < b->participant);
}

/* Of many only the first are shown: those for whom others waited most. */
enum { FEW_RANKS = 8 };

static int participants(const struct sn_answers *answers, struct sn_page *page)
{
	const struct sn_ranks *ranks = &answers->ranks;
	char place[SN_PLACE_CHARS];
	struct order *order = malloc((ranks->participant_count + 1) * sizeof(*order));
	if (!order)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < ranks->participant_count; i++)
		order[i] = (struct order){i, ranks->sums[i].delayed_ns};
	if (ranks->participant_count > FEW_RANKS)
		qsort(order, ranks->participant_count, sizeof(*order), by_delay);
	struct sn_sheet *sheet = sn_page_sheet(page, "ranks", "arrival at collectives");
	sheet->is_whole = ranks->participant_count <= 64;
	sn_sheet_column(sheet, "participant", "who", "");
	sn_sheet_column(sheet, "collectives", "collectives", "count");
	sn_sheet_column(sheet, "last", "was last", "count");
	sn_sheet_column(sheet, "waited_ns", "waited", "ns");
	sn_sheet_column(sheet, "delayed_ns", "others waited", "ns");
	sn_sheet_column(sheet, "late_ns", "late by", "ns");
	sn_sheet_column(sheet, "clock_offset_ns", "clock +", "ns");
	for (size_t i = 0; i < ranks->participant_count; i++) {
		const struct sn_rank_sum *sum = ranks->sums + order[i].participant;
		sn_sheet_text(sheet, sn_answers_participant(answers, order[i].participant, place));
		sn_sheet_number(sheet, (double)sum->count);
		sn_sheet_number(sheet, (double)sum->last_count);
		sn_sheet_number(sheet, (double)sum->waited_ns);
		sn_sheet_number(sheet, (double)sum->delayed_ns);
		sn_sheet_number(sheet, (double)sum->late_ns);
		sn_sheet_number(sheet, (double)sum->offset_ns);
	}
	free(order);
	sn_sheet_note(sheet, "others waited: by all others together, while this one was the last; "
			     "late by: behind the one before it");
	if (ranks->is_shifted)
		sn_sheet_note(sheet, "clocks contradict each other: brought together by the ends "
				     "of collectives, so that waits are approximate");
	if (ranks->is_overlapped)
		sn_sheet_note(sheet, "recordings lack some of the collectives: those that overlap "
				     "in time are taken to belong together");
	if (ranks->alone_count)
		sn_sheet_note(sheet,
			      "%zu parts of collectives have no partner in the trace and are left "
			      "out",
			      ranks->alone_count);
	return 0;
}

static int by_node(const struct sn_answers *answers, struct sn_page *page)
{
	const struct sn_ranks *ranks = &answers->ranks;
	char place[SN_PLACE_CHARS], label[SN_NODE_CHARS];
	uint32_t nodes = answers->nodes.table.count;
	size_t count, people = ranks->participant_count;
	struct sn_sheet *sheet = sn_page_sheet(page, "waits_at", "where ranks waited for others");
	sn_sheet_column(sheet, "wait_ns", "waited", "ns");
	sn_sheet_column(sheet, "count", "collectives", "count");
	sn_sheet_column(sheet, "last", "mostly last", "");
	sn_sheet_column(sheet, "last_share", "of them", "ratio");
	sn_sheet_column(sheet, "node", "node", "");
	double *values = calloc(nodes + 1ull, sizeof(*values));
	uint32_t *lasts = calloc((nodes + 1ull) * (people + 1), sizeof(*lasts));
	uint32_t *counts = calloc(nodes + 1ull, sizeof(*counts));
	for (size_t i = 0; i < ranks->count && values && lasts && counts; i++) {
		const struct sn_collective *one = ranks->collectives + i;
		const struct sn_arrival *last = ranks->arrivals + one->first + one->count - 1;
		uint32_t node = answers->nodes.of_context[last->context];
		values[node] += (double)one->wait_ns;
		counts[node]++;
		lasts[node * people + last->participant]++;
	}
	struct sn_node_sum *sums =
	    values && lasts && counts ? sn_node_sums(&answers->nodes, values, &count) : NULL;
	for (size_t i = 0; sums && i < count; i++) {
		uint32_t node = sums[i].node;
		size_t most = 0;
		for (size_t p = 1; p < people; p++)
			if (lasts[node * people + p] > lasts[node * people + most])
				most = p;
		sn_sheet_number(sheet, sums[i].value);
		sn_sheet_number(sheet, counts[node]);
		sn_sheet_text(sheet, sn_answers_participant(answers, most, place));
		sn_sheet_number(sheet, (double)lasts[node * people + most] / counts[node]);
		sn_sheet_text(sheet, sn_node_map_label(&answers->nodes, node, label));
	}
	bool has_memory = sums != NULL;
	free(sums);
	free(values);
	free(lasts);
	free(counts);
	return has_memory ? 0 : SN_ERR_MEMORY;
}

int sn_view_stragglers(const struct sn_answers *answers, struct sn_page *page,
		       struct sn_error *error)
{
	if (!answers->ranks.count) {
		struct sn_sheet *sheet = sn_page_sheet(page, "ranks", "arrival at collectives");
		sn_sheet_note(sheet, "%s",
			      answers->collectives.arrival_count
				  ? "no collective has partners in this trace: import the "
				    "files of all ranks together"
				  : "no collectives are recorded");
		return 0;
	}
	if (participants(answers, page) || by_node(answers, page))
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	return causes(answers, page, error);
}
