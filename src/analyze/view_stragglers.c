/* SPDX-License-Identifier: Apache-2.0 */
/* Who comes late to collectives, what it did instead, and where the others waited. */
#include "answers.h"
#include "host.h"
#include "node_sums.h"

/* ---- what the last did while the others waited ---- */

struct late {
	const struct sn_answers *answers;
	struct sn_intervals *windows; /* by participant: from the arrival before its own to that */
	double *values;		      /* of one participant, by node */
	struct sn_intervals quiet;    /* of its windows, when its device did nothing */
	uint64_t idle_ns;
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

static void add_overlap(const struct sn_intervals *windows, uint64_t start_ns, uint64_t end_ns,
			double *value)
{
	*value += (double)sn_intervals_within(windows, start_ns, end_ns);
}

static int take_part(void *data, const struct sn_host_part *part)
{
	struct late *late = data;
	if (!sn_host_is_waiting(late->answers->db, part->context) &&
	    !sn_host_is_synchronizing(late->answers->db, part->context))
		add_overlap(&late->quiet, part->start_ns, part->end_ns,
			    late->values + late->answers->nodes.of_context[part->context]);
	return 0;
}

/* Of the windows, what lies between the device's operations. */
static int find_quiet(struct late *late, const struct sn_intervals *windows,
		      const struct sn_device_operations *device)
{
	size_t at = 0;
	for (size_t i = 0; i < windows->count; i++) {
		uint64_t now = windows->items[i].start_ns, end = windows->items[i].end_ns;
		while (at && device && device->items[at - 1].end_ns > now)
			at--;
		for (; device && at < device->count && device->items[at].start_ns < end; at++) {
			if (device->items[at].end_ns <= now)
				continue;
			if (device->items[at].start_ns > now &&
			    sn_intervals_add(&late->quiet, now, device->items[at].start_ns))
				return SN_ERR_MEMORY;
			now = device->items[at].end_ns;
		}
		if (now < end && sn_intervals_add(&late->quiet, now, end))
			return SN_ERR_MEMORY;
	}
	sn_intervals_settle(&late->quiet);
	for (size_t i = 0; i < late->quiet.count; i++)
		late->idle_ns += late->quiet.items[i].end_ns - late->quiet.items[i].start_ns;
	return 0;
}

/* What kept a participant: its device's operations, or while that had none, its threads. */
static int find_causes(struct late *late, size_t participant, struct sn_error *error)
{
	const struct sn_answers *answers = late->answers;
	const struct sn_participant *one = answers->details.participants + participant;
	const struct sn_intervals *windows = late->windows + participant;
	const struct sn_device_operations *device =
	    one->device == SONDE_NONE ? NULL : answers->operations.devices + one->device;
	for (size_t i = 0; device && i < device->count; i++)
		add_overlap(windows, device->items[i].start_ns, device->items[i].end_ns,
			    late->values + answers->nodes.of_context[device->items[i].context]);
	if (find_quiet(late, windows, device))
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	return sn_host_walk(answers->db, answers->trace, one->profile, SONDE_EVENTS_BRIEF,
			    take_part, late, error);
}

static int show_causes(struct late *late, size_t participant, struct sn_sheet *sheet,
		       struct sn_error *error)
{
	const struct sn_answers *answers = late->answers;
	char place[SN_PLACE_CHARS], label[SN_NODE_CHARS];
	size_t count;
	for (uint32_t i = 0; i < answers->nodes.table.count; i++)
		late->values[i] = 0;
	late->idle_ns = 0;
	int result = find_causes(late, participant, error);
	sn_intervals_release(&late->quiet);
	if (result)
		return result;
	struct sn_node_sum *sums = sn_node_sums(&answers->nodes, late->values, &count);
	if (!sums)
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	for (size_t i = 0; i < count && i < 20; i++) {
		sn_sheet_text(sheet, sn_answers_participant(answers, participant, place));
		sn_sheet_number(sheet, sums[i].value);
		sn_sheet_text(sheet, sn_node_map_label(&answers->nodes, sums[i].node, label));
	}
	free(sums);
	return 0;
}

static int causes(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	size_t count = answers->ranks.participant_count;
	struct late late = {
	    .answers = answers,
	    .windows = calloc(count + 1, sizeof(*late.windows)),
	    .values = calloc(answers->nodes.table.count + 1ull, sizeof(double)),
	};
	int result = late.windows && late.values && !find_windows(answers, &late)
			 ? 0
			 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	struct sn_sheet *sheet =
	    sn_page_sheet(page, "late_in", "while all others waited, the last one was in");
	sn_sheet_column(sheet, "participant", "who", "");
	sn_sheet_column(sheet, "time_ns", "time", "ns");
	sn_sheet_column(sheet, "node", "node", "");
	size_t worst = 0;
	for (size_t i = 1; i < count; i++)
		if (answers->ranks.sums[i].delayed_ns > answers->ranks.sums[worst].delayed_ns)
			worst = i;
	if (!result && count)
		result = show_causes(&late, worst, sheet, error);
	for (size_t i = 0; i < count && late.windows; i++)
		sn_intervals_release(late.windows + i);
	free(late.windows);
	free(late.values);
	return result;
}

/* ---- sums ---- */

static void participants(const struct sn_answers *answers, struct sn_page *page)
{
	const struct sn_ranks *ranks = &answers->ranks;
	char place[SN_PLACE_CHARS];
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
		const struct sn_rank_sum *sum = ranks->sums + i;
		sn_sheet_text(sheet, sn_answers_participant(answers, i, place));
		sn_sheet_number(sheet, (double)sum->count);
		sn_sheet_number(sheet, (double)sum->last_count);
		sn_sheet_number(sheet, (double)sum->waited_ns);
		sn_sheet_number(sheet, (double)sum->delayed_ns);
		sn_sheet_number(sheet, (double)sum->late_ns);
		sn_sheet_number(sheet, (double)sum->offset_ns);
	}
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
			      answers->details.arrival_count
				  ? "no collective has partners in this trace: import the "
				    "files of all ranks together"
				  : "no collectives are recorded");
		return 0;
	}
	participants(answers, page);
	if (by_node(answers, page))
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	return causes(answers, page, error);
}
