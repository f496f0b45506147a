/* SPDX-License-Identifier: Apache-2.0 */
/* How long iterations take, what their devices did meanwhile, and what grew in the unusual ones. */
#include "timeline/answers.h"
#include "timeline/threads/thread_activity.h"
#include "timeline/iterations/iteration_work.h"
#include "timeline/node_sums.h"
#include "show/label.h"

#include <math.h>
#include <stdio.h>

enum { EXPLAINED = 12, CAUSES = 5 };

/* A device of the process that an iteration is of; SIZE_MAX without one. */
static size_t device_of(const struct sn_answers *answers, uint32_t profile)
{
	const uint32_t *devices;
	size_t count =
	    sn_processes_list(&answers->processes, &answers->processes.devices, profile, &devices);
	return count ? devices[0] : SIZE_MAX;
}

static double length_of(const struct sn_iteration *one)
{
	return (double)(one->end_ns - one->start_ns);
}

/* NULL: no device is known to work for it. */
static void put_parts(const struct sn_iteration_work *work, struct sn_sheet *sheet)
{
	const uint64_t *times = work ? work->times_ns : NULL;
	sn_sheet_number(sheet,
			times ? (double)(times[1] + times[3] + times[5] + times[7]) : (double)NAN);
	sn_sheet_number(sheet, times ? (double)(times[2] + times[6]) : (double)NAN);
	sn_sheet_number(sheet, times ? (double)times[4] : (double)NAN);
	sn_sheet_number(sheet, times ? (double)times[0] : (double)NAN);
}

/* What devices did in iterations. 0 or a negative enum sn_err. */
static int find_work(const struct sn_answers *answers, struct sn_iteration_work *works,
		     struct sn_error *error)
{
	const struct sn_iterations *all = &answers->iterations;
	int result = 0;
	for (size_t first = 0, next; first < all->count && !result; first = next) {
		uint32_t profile = all->items[first].profile;
		for (next = first + 1; next < all->count; next++)
			if (all->items[next].context != all->items[first].context ||
			    all->items[next].profile != profile)
				break;
		size_t device = device_of(answers, profile);
		if (device != SIZE_MAX)
			result = sn_iteration_work(answers, device, all->items + first,
						   next - first, works + first, error);
	}
	return result;
}

static void list(const struct sn_answers *answers, const struct sn_iteration_work *works,
		 struct sn_page *page)
{
	const struct sn_iterations *all = &answers->iterations;
	char name[SN_LABEL_CHARS], who[SN_PLACE_CHARS];
	struct sn_sheet *sheet = sn_page_sheet(page, "iteration_list", "iterations");
	sn_sheet_column(sheet, "name", "of", "");
	sn_sheet_column(sheet, "who", "who", "");
	sn_sheet_column(sheet, "number", "number", "count");
	sn_sheet_column(sheet, "start_ns", "at", "ns");
	sn_sheet_column(sheet, "time_ns", "time", "ns");
	sn_sheet_column(sheet, "unusual", "", "");
	sn_sheet_column(sheet, "computation_ns", "computation", "ns");
	sn_sheet_column(sheet, "communication_ns", "communication", "ns");
	sn_sheet_column(sheet, "copy_ns", "copies", "ns");
	sn_sheet_column(sheet, "idle_ns", "device idle", "ns");
	size_t number = 0;
	for (size_t i = 0; i < all->count; i++) {
		const struct sn_iteration *one = all->items + i;
		bool follows =
		    i && one[-1].context == one->context && one[-1].profile == one->profile;
		const struct sonde_db_profile *profile =
		    sonde_db_profile(answers->db, one->profile);
		number = follows ? number + 1 : 1;
		sn_label_name(answers->db, SN_GROUP_AUTO,
			      sonde_db_context(answers->db, one->context)->frame, name);
		snprintf(who, sizeof(who), profile->rank >= 0 ? "rank %lld" : "process %lld",
			 profile->rank >= 0 ? (long long)profile->rank : (long long)profile->pid);
		sn_sheet_text(sheet, name);
		sn_sheet_text(sheet, who);
		sn_sheet_number(sheet, (double)number);
		sn_sheet_number(sheet, (double)(one->start_ns - answers->start_ns));
		sn_sheet_number(sheet, length_of(one));
		sn_sheet_text(sheet, one->is_unusual ? "unusual" : "");
		bool has_device = device_of(answers, one->profile) != SIZE_MAX;
		put_parts(has_device ? works + i : NULL, sheet);
	}
	sn_sheet_note(sheet, "what devices did while the program was in the iteration; "
			     "communication and copies with nothing better beside them");
}

/* ---- why ---- */

/* What happened within some iterations, by node: own time of threads and time of devices. */
struct inside {
	const struct sn_answers *answers;
	const struct sn_iteration *items[EXPLAINED + 1]; /* the last: the usual one */
	size_t count;
	double *values; /* by iteration and node */
	uint32_t nodes;
};

static void add_inside(struct inside *inside, uint32_t profile, uint32_t context, uint64_t start_ns,
		       uint64_t end_ns)
{
	for (size_t i = 0; i < inside->count; i++) {
		const struct sn_iteration *one = inside->items[i];
		uint64_t start = start_ns > one->start_ns ? start_ns : one->start_ns;
		uint64_t end = end_ns < one->end_ns ? end_ns : one->end_ns;
		if (start < end &&
		    sn_activity_is_same_process(inside->answers->db, profile, one->profile))
			inside->values[i * inside->nodes +
				       inside->answers->nodes.of_context[context]] +=
			    (double)(end - start);
	}
}

static int take_part(void *data, const struct sn_activity_part *part)
{
	add_inside(data, part->profile, part->context, part->start_ns, part->end_ns);
	return 0;
}

static int collect_device(struct inside *inside, size_t device, struct sn_error *error)
{
	const struct sn_answers *answers = inside->answers;
	struct sn_operations *operations =
	    sn_device_times_read(&answers->times, answers->trace, device, SONDE_NONE);
	struct sn_operation one;
	int result = operations ? 1 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	while (result > 0 && (result = sn_operations_next(operations, &one, error)) > 0)
		add_inside(inside, answers->times.devices[device].profile, one.context,
			   one.start_ns, one.end_ns);
	sn_operations_free(operations);
	return result;
}

static int collect(struct inside *inside, struct sn_error *error)
{
	const struct sn_answers *answers = inside->answers;
	int result = 0;
	const uint32_t *devices;
	size_t count = sn_processes_list(&answers->processes, &answers->processes.devices,
					 inside->items[0]->profile, &devices);
	for (size_t i = 0; i < count && !result; i++)
		result = collect_device(inside, devices[i], error);
	return result ? result
		      : sn_activity_walk(&answers->processes, inside->items[0]->profile,
					 SONDE_EVENTS_BRIEF, take_part, inside, error);
}

static int put_causes(const struct inside *inside, size_t number, size_t shown_number,
		      struct sn_sheet *sheet)
{
	const struct sn_answers *answers = inside->answers;
	const double *usual = inside->values + (inside->count - 1) * inside->nodes;
	double *values = inside->values + number * inside->nodes;
	double length = length_of(inside->items[number]),
	       usual_length = length_of(inside->items[inside->count - 1]);
	double sign = length > usual_length ? 1 : -1;
	char label[SN_NODE_CHARS];
	size_t count;
	for (uint32_t n = 0; n < inside->nodes; n++)
		values[n] = sign * (values[n] - usual[n]);
	struct sn_node_sum *sums = sn_node_sums(&answers->nodes, values, &count);
	if (!sums)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < count && i < CAUSES; i++) {
		sn_sheet_number(sheet, (double)shown_number);
		sn_sheet_number(sheet, length);
		sn_sheet_number(sheet, length - usual_length);
		sn_sheet_number(sheet, sign * sums[i].value);
		sn_sheet_text(sheet, sn_node_map_label(&answers->nodes, sums[i].node, label));
	}
	free(sums);
	return 0;
}

/* The unusual ones of one thread, and the one next to the median. */
static int explain(const struct sn_answers *answers, const struct sn_iteration *items, size_t count,
		   struct sn_sheet *sheet, struct sn_error *error)
{
	struct inside inside = {.answers = answers, .nodes = answers->nodes.table.count};
	size_t numbers[EXPLAINED], usual = 0;
	struct sn_iteration_sum sum;
	sn_iterations_sum(items, count, &sum);
	for (size_t i = 0; i < count; i++) {
		if (fabs(length_of(items + i) - sum.median_ns) <
		    fabs(length_of(items + usual) - sum.median_ns))
			usual = i;
		if (items[i].is_unusual && inside.count < EXPLAINED) {
			numbers[inside.count] = i;
			inside.items[inside.count++] = items + i;
		}
	}
	if (!inside.count)
		return 0;
	inside.items[inside.count++] = items + usual;
	inside.values = calloc(inside.count * inside.nodes + 1, sizeof(*inside.values));
	int result = inside.values ? collect(&inside, error)
				   : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	for (size_t i = 0; i + 1 < inside.count && !result; i++)
		if (put_causes(&inside, i, numbers[i] + 1, sheet))
			result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	free(inside.values);
	return result;
}

static int why(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	const struct sn_iterations *all = &answers->iterations;
	int result = 0;
	struct sn_sheet *sheet =
	    sn_page_sheet(page, "unusual", "what is different in unusual iterations");
	sn_sheet_column(sheet, "number", "number", "count");
	sn_sheet_column(sheet, "time_ns", "time", "ns");
	sn_sheet_column(sheet, "more_ns", "than usual", "ns");
	sn_sheet_column(sheet, "node_more_ns", "of that", "ns");
	sn_sheet_column(sheet, "node", "node", "");
	for (size_t first = 0, next; first < all->count && !result; first = next) {
		for (next = first + 1; next < all->count; next++)
			if (all->items[next].context != all->items[first].context ||
			    all->items[next].profile != all->items[first].profile)
				break;
		result = explain(answers, all->items + first, next - first, sheet, error);
	}
	sn_sheet_note(sheet, "%s",
		      sn_sheet_rows(sheet)
			  ? "against the iteration of median length; threads and devices "
			    "together, so that parts may be more than the whole"
			  : "none is unusual");
	return result;
}

int sn_view_iterations(const struct sn_answers *answers, struct sn_page *page,
		       struct sn_error *error)
{
	if (!answers->iterations.count) {
		sn_sheet_note(sn_page_sheet(page, "iteration_list", "iterations"),
			      "no iterations are marked: torch.profiler's steps, sonde_iteration");
		return 0;
	}
	struct sn_iteration_work *works = calloc(answers->iterations.count, sizeof(*works));
	int result = works ? find_work(answers, works, error)
			   : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	if (!result)
		list(answers, works, page);
	free(works);
	return result ? result : why(answers, page, error);
}
