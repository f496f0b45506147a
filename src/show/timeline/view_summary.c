/* SPDX-License-Identifier: Apache-2.0 */
/* The three sentences: where the time goes, what devices wait for, which node to change. */
#include "timeline/path/critical_path.h"
#include "format/measurement/measurement.h"
#include "timeline/threads/activity_times.h"
#include "timeline/node_sums.h"

#include <stdio.h>
#include <string.h>

/* Parts of all devices' time together. */
struct whole {
	double time, compute, communication, copies, idle, reasons[SN_WAITS];
};

static struct whole sum_up(const struct sn_answers *answers)
{
	struct whole whole = {0};
	for (size_t i = 0; i < answers->times.count; i++) {
		const struct sn_device_time *time = answers->times.devices + i;
		whole.time += (double)(time->end_ns - time->start_ns);
		whole.compute += (double)time->work_ns[SN_WORK_COMPUTE];
		whole.communication += (double)time->exposed_ns[SN_WORK_COMMUNICATION];
		whole.copies += (double)time->exposed_ns[SN_WORK_COPY];
		whole.idle += (double)time->idle_ns;
		for (unsigned r = 0; r < SN_WAITS; r++)
			whole.reasons[r] += (double)answers->waits[i].reasons_ns[r];
	}
	return whole;
}

/* "rank 2 · device 0" of the most and least idle, where they differ by more than a twentieth. */
static void say_spread(const struct sn_answers *answers, char *text, size_t size)
{
	size_t least = 0, most = 0;
	double shares[2] = {2, -1};
	char place[SN_PLACE_CHARS];
	text[0] = 0;
	for (size_t i = 0; i < answers->times.count; i++) {
		const struct sn_device_time *time = answers->times.devices + i;
		double share = (double)time->idle_ns / (double)(time->end_ns - time->start_ns);
		if (share < shares[0])
			shares[0] = share, least = i;
		if (share > shares[1])
			shares[1] = share, most = i;
	}
	if (answers->times.count < 2 || shares[1] - shares[0] < 0.05)
		return;
	int used = snprintf(text, size, " (from %s on %s", sn_answers_share(shares[0], 1),
			    sn_answers_device(answers, least, place));
	snprintf(text + used, size - (size_t)used, " to %s on %s)", sn_answers_share(shares[1], 1),
		 sn_answers_device(answers, most, place));
}

/* Time of devices' operations by node. */
static struct sn_node_sum *device_nodes(const struct sn_answers *answers, size_t *count)
{
	double *values = calloc(answers->nodes.table.count + 1ull, sizeof(*values));
	*count = 0;
	if (!values)
		return NULL;
	for (uint32_t i = 0; i < sonde_db_context_count(answers->db); i++)
		values[answers->nodes.of_context[i]] += answers->times.context_ns[i];
	struct sn_node_sum *sums = sn_node_sums(&answers->nodes, values, count);
	free(values);
	return sums;
}

static int say_where(const struct sn_answers *answers, const struct whole *whole,
		     struct sn_page *page)
{
	char spread[300], place[SN_PLACE_CHARS], count[40], label[SN_NODE_CHARS],
	    most[SN_NODE_CHARS + 40] = "";
	size_t node_count;
	struct sn_node_sum *nodes = device_nodes(answers, &node_count);
	double all = 0;
	if (!nodes)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < node_count; i++)
		all += nodes[i].value;
	if (node_count)
		snprintf(most, sizeof(most), " Most work: %s, %s of it.",
			 sn_node_map_mention(&answers->nodes, nodes[0].node, label),
			 sn_answers_share(nodes[0].value, all));
	free(nodes);
	say_spread(answers, spread, sizeof(spread));
	snprintf(count, sizeof(count), "%zu devices", answers->times.count);
	sn_page_sentence(page,
			 "Where the time goes: of %s, %s %s %s computing, %s communicating and %s "
			 "copying with nothing beside it, and %s idle%s.%s",
			 sn_answers_time(whole->time / (double)answers->times.count),
			 answers->times.count == 1 ? sn_answers_device(answers, 0, place) : count,
			 answers->times.count == 1 ? "spends" : "spend",
			 sn_answers_share(whole->compute, whole->time),
			 sn_answers_share(whole->communication, whole->time),
			 sn_answers_share(whole->copies, whole->time),
			 sn_answers_share(whole->idle, whole->time), spread, most);
	return 0;
}

/* The node that threads were in most while devices were idle. */
static int blamed_node(const struct sn_answers *answers, uint32_t *node, double *share)
{
	double *values = calloc(answers->nodes.table.count + 1ull, sizeof(*values));
	double idle = 0;
	size_t count = 0;
	if (!values)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < answers->times.count; i++) {
		idle += (double)answers->times.devices[i].idle_ns;
		for (size_t k = 0; k < answers->blames[i].count; k++)
			values[answers->nodes.of_context[answers->blames[i].shares[k].context]] +=
			    answers->blames[i].shares[k].time_ns;
	}
	struct sn_node_sum *sums = sn_node_sums(&answers->nodes, values, &count);
	*node = sums && count ? sums[0].node : SONDE_NONE;
	*share = sums && count && idle > 0 ? sums[0].value / idle : 0;
	free(sums);
	free(values);
	return sums ? 0 : SN_ERR_MEMORY;
}

static int say_waits(const struct sn_answers *answers, const struct whole *whole,
		     struct sn_page *page)
{
	unsigned first = 0, second = SN_WAITS;
	uint32_t node;
	double all = 0, share;
	char label[SN_NODE_CHARS], then[600] = "", host[600] = "";
	for (unsigned i = 0; i < SN_WAITS; i++) {
		all += whole->reasons[i];
		if (whole->reasons[i] > whole->reasons[first])
			first = i;
	}
	for (unsigned i = 0; i < SN_WAITS; i++)
		if (i != first &&
		    (second == SN_WAITS || whole->reasons[i] > whole->reasons[second]))
			second = i;
	if (whole->time <= 0)
		return 0;
	if (!all) {
		sn_page_sentence(page,
				 "What devices wait for: nothing, they compute all the time.");
		return 0;
	}
	if (blamed_node(answers, &node, &share))
		return SN_ERR_MEMORY;
	if (whole->reasons[second] >= 0.05 * all)
		snprintf(then, sizeof(then), ", then %s (%s)", sn_wait_name(second),
			 sn_answers_share(whole->reasons[second], all));
	if (node != SONDE_NONE && whole->idle > 0.1 * all)
		snprintf(host, sizeof(host), " While they were idle, the host was most in %s (%s).",
			 sn_node_map_mention(&answers->nodes, node, label),
			 sn_answers_share(share, 1));
	sn_page_sentence(page,
			 "What devices wait for: of the %s without computation mostly %s (%s): "
			 "%s%s.%s",
			 sn_answers_share(all, whole->time), sn_wait_name(first),
			 sn_answers_share(whole->reasons[first], all), sn_wait_meaning(first), then,
			 host);
	return 0;
}

/* Many devices as lines; few are shown one by one. */
static void list_devices(const struct sn_answers *answers, struct sn_page *page)
{
	static const struct {
		const char *key, *head;
		enum sn_wait wait;
	} waits[] = {{"no_work", "no work", SN_WAIT_NO_WORK},
		     {"launch_bound", "launch-bound", SN_WAIT_DISPATCH},
		     {"other_rank", "other rank", SN_WAIT_RANK}};
	char place[SN_PLACE_CHARS];
	struct sn_sheet *sheet = sn_page_sheet(page, "device_table", "devices");
	sheet->is_whole = answers->times.count <= 64;
	sn_sheet_column(sheet, "device", "device", "");
	sn_sheet_column(sheet, "total_ns", "time", "ns");
	sn_sheet_column(sheet, "computation", "computing", "ratio");
	sn_sheet_column(sheet, "communication", "communicating", "ratio");
	sn_sheet_column(sheet, "copies", "copying", "ratio");
	sn_sheet_column(sheet, "idle", "idle", "ratio");
	for (size_t w = 0; w < sizeof(waits) / sizeof(*waits); w++)
		sn_sheet_column(sheet, waits[w].key, waits[w].head, "ratio");
	for (size_t i = 0; i < answers->times.count; i++) {
		const struct sn_device_time *time = answers->times.devices + i;
		double whole = (double)(time->end_ns - time->start_ns);
		sn_sheet_text(sheet, sn_answers_device(answers, i, place));
		sn_sheet_number(sheet, whole);
		sn_sheet_number(sheet, (double)time->work_ns[SN_WORK_COMPUTE] / whole);
		sn_sheet_number(sheet, (double)time->exposed_ns[SN_WORK_COMMUNICATION] / whole);
		sn_sheet_number(sheet, (double)time->exposed_ns[SN_WORK_COPY] / whole);
		sn_sheet_number(sheet, (double)time->idle_ns / whole);
		for (size_t w = 0; w < sizeof(waits) / sizeof(*waits); w++)
			sn_sheet_number(sheet, (double)answers->waits[i].reasons_ns[waits[w].wait] /
						   whole);
	}
	sn_sheet_note(sheet, "the first four add up; the others are reasons, of which --view idle "
			     "has all");
}

/* The node whose work, a tenth faster, would gain most. */
static const struct sn_path_share *best_share(const struct sn_answers *answers,
					      const struct sn_critical_path *path)
{
	const struct sn_path_share *best = NULL;
	for (size_t i = 0; i < path->share_count && i < SN_PATH_SHARES; i++) {
		uint32_t frame = sn_node_map_at(&answers->nodes, path->shares[i].node).frame;
		/* a step as such is only what nobody else has recorded */
		if (sonde_db_frame(answers->db, frame)->flags & SN_FRAME_ITERATION)
			continue;
		if (!best || path->shares[i].gain_ns > best->gain_ns)
			best = path->shares + i;
	}
	return best;
}

/* Whether a step's own code, a tenth faster, would gain more than the node. */
static bool gains_more(const struct sn_answers *answers, const struct sn_critical_path *path,
		       const struct sn_path_share *best)
{
	for (size_t i = 0; i < path->share_count && i < SN_PATH_SHARES; i++) {
		uint32_t frame = sn_node_map_at(&answers->nodes, path->shares[i].node).frame;
		if (sonde_db_frame(answers->db, frame)->flags & SN_FRAME_ITERATION &&
		    path->shares[i].gain_ns > best->gain_ns)
			return true;
	}
	return false;
}

/* Whether code that no call is recorded of is more to the point than the node. */
static bool is_mostly_own(const struct sn_answers *answers, const struct sn_critical_path *path,
			  const struct sn_path_share *best)
{
	return path->own_ns > 0.2 * path->length_ns &&
	       (!best || best->time_ns < path->own_ns || gains_more(answers, path, best));
}

static bool is_mostly_sampled(const struct sn_answers *answers, const struct sn_critical_path *path,
			      const struct sn_path_share *best)
{
	return is_mostly_own(answers, path, best) && path->sampled_count &&
	       (!best || best->time_ns < path->sampled[0].time_ns);
}

/* What was looked at says nothing of the run: the first moments of a trace without iterations. */
static bool is_too_short(const struct sn_answers *answers, const struct sn_critical_path *path)
{
	return path->is_cut &&
	       path->length_ns < 0.1 * (double)(answers->end_ns - answers->start_ns);
}

/* "aten::mm is on the critical path of iteration 3 for 8 ms of its 12 ms (66%); ..." */
static void say_best(const struct sn_answers *answers, const struct sn_critical_path *path,
		     const struct sn_path_share *best, struct sn_page *page)
{
	char label[SN_NODE_CHARS], launching[160] = "", own[200] = "";
	if (path->kinds_ns[SN_PATH_LAUNCH] > 0.2 * path->length_ns)
		snprintf(launching, sizeof(launching),
			 " Launching is %s of that path: fewer, larger kernels or graphs help.",
			 sn_answers_share(path->kinds_ns[SN_PATH_LAUNCH], path->length_ns));
	if (is_mostly_own(answers, path, best))
		snprintf(own, sizeof(own),
			 " %s of that path is the program's own code, in no recorded call%s",
			 sn_answers_share(path->own_ns, path->length_ns),
			 path->sampled_count ? "."
					     : ": samples, or torch.profiler's with_stack=True, "
					       "tell which.");
	sn_page_sentence(page,
			 "Which node to change: %s is on the critical path of %s for %s of "
			 "its %s (%s); 10%% faster it would gain %s (%s), and were it free %s.%s%s",
			 sn_node_map_mention(&answers->nodes, best->node, label), path->name,
			 sn_answers_time(best->time_ns), sn_answers_time(path->length_ns),
			 sn_answers_share(best->time_ns, path->length_ns),
			 sn_answers_time(best->gain_ns),
			 sn_answers_share(best->gain_ns, path->length_ns),
			 sn_answers_time(best->gain_all_ns), launching, own);
}

/* The same of what only samples tell of. */
static void say_sampled(const struct sn_answers *answers, const struct sn_critical_path *path,
			const struct sn_path_share *best, struct sn_page *page)
{
	char label[SN_NODE_CHARS], recorded[SN_NODE_CHARS + 80] = "";
	if (best)
		snprintf(recorded, sizeof(recorded), " Of recorded calls %s has most of it (%s).",
			 sn_node_map_mention(&answers->nodes, best->node, label),
			 sn_answers_share(best->time_ns, path->length_ns));
	sn_page_sentence(page,
			 "Which node to change: %s, in no recorded call: by samples it has %s of "
			 "the %s of the critical path of %s (%s).%s",
			 sn_node_map_mention(&answers->nodes, path->sampled[0].node, label),
			 sn_answers_time(path->sampled[0].time_ns),
			 sn_answers_time(path->length_ns), path->name,
			 sn_answers_share(path->sampled[0].time_ns, path->length_ns), recorded);
}

static int say_node(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	struct sn_critical_path path;
	int result = sn_critical_path(answers, &path, error);
	const struct sn_path_share *best = result ? NULL : best_share(answers, &path);
	if (!result && is_too_short(answers, &path))
		sn_page_sentence(page, "Which node to change: not looked at, because the trace is "
				       "long and has no iterations. Mark them (sonde.iteration() "
				       "in Python, SONDE_ITERATION in C), or record a part.");
	else if (!result && is_mostly_sampled(answers, &path, best))
		say_sampled(answers, &path, best, page);
	else if (best)
		say_best(answers, &path, best, page);
	sn_critical_path_release(&path);
	return result;
}

/* Where little of a run is recorded, the reader would take that for all of it. */
static const char *say_covered(const struct sn_answers *answers, double all_ns, char text[80])
{
	double whole_ns = (double)(answers->end_ns - answers->start_ns);
	text[0] = 0;
	if (all_ns < 0.5 * whole_ns)
		snprintf(text, 80, " (%s of the %s that the trace covers)",
			 sn_answers_share(all_ns, whole_ns), sn_answers_time(whole_ns));
	return text;
}

/* Without devices: what threads do, and what of that is most. */
static int say_threads(const struct sn_answers *answers, struct sn_page *page,
		       struct sn_error *error)
{
	char label[SN_NODE_CHARS], second[SN_NODE_CHARS + 40] = "", covered[80];
	uint32_t contexts = sonde_db_context_count(answers->db);
	double *times = calloc(contexts + 1ull, sizeof(*times)), all = 0;
	double *values = calloc(answers->nodes.table.count + 1ull, sizeof(*values));
	size_t count = 0;
	int result = times && values ? sn_activity_times(&answers->processes, times, error)
				     : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	for (uint32_t i = 0; i < contexts && !result; i++) {
		all += times[i];
		values[answers->nodes.of_context[i]] += times[i];
	}
	struct sn_node_sum *sums = result ? NULL : sn_node_sums(&answers->nodes, values, &count);
	if (sums && count > 1)
		snprintf(second, sizeof(second), ", then in %s (%s)",
			 sn_node_map_mention(&answers->nodes, sums[1].node, label),
			 sn_answers_share(sums[1].value, all));
	if (sums && count)
		sn_page_sentence(
		    page,
		    "Where the time goes: no device is recorded; of %s of threads%s most "
		    "are in %s (%s)%s.",
		    sn_answers_time(all), say_covered(answers, all, covered),
		    sn_node_map_mention(&answers->nodes, sums[0].node, label),
		    sn_answers_share(sums[0].value, all), second);
	free(sums);
	free(times);
	free(values);
	return result;
}

/* Without devices: for whom ranks wait, and what that one does meanwhile. */
static int say_ranks(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	char place[SN_PLACE_CHARS], label[SN_NODE_CHARS], in[SN_NODE_CHARS + 80] = "";
	struct sn_latest latest;
	double waited = 0;
	for (size_t i = 0; i < answers->ranks.participant_count; i++)
		waited += (double)answers->ranks.sums[i].waited_ns;
	if (!answers->ranks.count || waited <= 0)
		return 0;
	int result = sn_latest(answers, &latest, error);
	if (result)
		return result;
	const struct sn_rank_sum *sum = answers->ranks.sums + latest.participant;
	if (latest.node != SONDE_NONE)
		snprintf(in, sizeof(in), "; meanwhile that was most in %s (%s)",
			 sn_node_map_mention(&answers->nodes, latest.node, label),
			 sn_answers_share(latest.share, 1));
	sn_page_sentence(
	    page,
	    "What ranks wait for: %s together in %zu collective%s, %s of it for %s, "
	    "which came last to %zu%s.",
	    sn_answers_time(waited), answers->ranks.count, answers->ranks.count == 1 ? "" : "s",
	    sn_answers_share((double)sum->delayed_ns, waited),
	    sn_answers_participant(answers, latest.participant, place), sum->last_count, in);
	return 0;
}

int sn_view_summary(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	struct whole whole = sum_up(answers);
	sn_answers_inferred(answers, page);
	if (answers->times.count &&
	    (say_where(answers, &whole, page) || say_waits(answers, &whole, page)))
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	if (answers->times.count > SN_FEW_DEVICES)
		list_devices(answers, page);
	int result = answers->times.count ? 0 : say_threads(answers, page, error);
	if (!result && !answers->times.count)
		result = say_ranks(answers, page, error);
	if (!result)
		result = say_node(answers, page, error);
	return result ? result : sn_threads_summary(answers, page, error);
}
