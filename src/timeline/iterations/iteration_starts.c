/* SPDX-License-Identifier: Apache-2.0 */
/* The iterations of each device's process, and one walk over its threads; see iteration_starts.h.
 */
#include "iteration_starts.h"

#include "timeline/threads/thread_activity.h"
#include "iteration_work.h"
#include "timeline/node_sums.h"
#include "show/label.h"

enum { SHOWN = 20 };

/* The iterations of one name in a device's process, and what comes before the device starts. */
struct starts {
	const struct sn_answers *answers;
	struct sn_intervals before; /* of all these iterations */
	size_t count;
	uint64_t before_ns, whole_ns;
	double *values; /* by node */
	uint8_t *waits; /* by context: 0 not known yet, 1 does something, 2 waits */
};

/* Iterations in which the device did nothing are none of its. */
static int take_iteration(struct starts *starts, uint64_t first, const struct sn_iteration *one)
{
	if (first == one->end_ns)
		return 0;
	starts->count++;
	starts->whole_ns += one->end_ns - one->start_ns;
	starts->before_ns += first - one->start_ns;
	return first > one->start_ns ? sn_intervals_add(&starts->before, one->start_ns, first) : 0;
}

/* From the iterations' begins to the device's. */
static int find_before(struct starts *starts, size_t device, const struct sn_iteration *items,
		       size_t count, struct sn_error *error)
{
	struct sn_iteration_work *works = malloc((count + 1) * sizeof(*works));
	int result = works ? sn_iteration_work(starts->answers, device, items, count, works, error)
			   : SN_ERR_MEMORY;
	for (size_t i = 0; i < count && !result; i++)
		result = take_iteration(starts, works[i].first_ns, items + i);
	sn_intervals_settle(&starts->before);
	free(works);
	return result;
}

static int take_part(void *data, const struct sn_activity_part *part)
{
	struct starts *starts = data;
	const struct sonde_db *db = starts->answers->db;
	if (!starts->waits[part->context])
		starts->waits[part->context] =
		    sn_activity_is_waiting(db, part->context) ||
			    sn_activity_is_synchronizing(db, part->context)
			? 2
			: 1;
	if (starts->waits[part->context] == 1)
		starts->values[starts->answers->nodes.of_context[part->context]] +=
		    (double)sn_intervals_within(&starts->before, part->start_ns, part->end_ns);
	return 0;
}

static int put_rows(const struct starts *starts, const char *device, const char *name,
		    struct sn_sheet *sheet)
{
	char label[SN_NODE_CHARS];
	size_t count;
	struct sn_node_sum *sums = sn_node_sums(&starts->answers->nodes, starts->values, &count);
	double iterations = (double)starts->count;
	for (size_t i = 0; sums && i < count && i < SHOWN; i++) {
		sn_sheet_text(sheet, device);
		sn_sheet_text(sheet, name);
		sn_sheet_number(sheet, iterations);
		sn_sheet_number(sheet, (double)starts->before_ns / iterations);
		sn_sheet_number(sheet, (double)starts->before_ns / (double)starts->whole_ns);
		sn_sheet_number(sheet, sums[i].value / iterations);
		sn_sheet_text(sheet,
			      sn_node_map_label(&starts->answers->nodes, sums[i].node, label));
	}
	free(sums);
	return sums ? 0 : SN_ERR_MEMORY;
}

/* One device and the iterations [first, next), of one context and thread. */
static int look(const struct sn_answers *answers, size_t device, size_t first, size_t next,
		struct sn_sheet *sheet, struct sn_error *error)
{
	const struct sn_iteration *items = answers->iterations.items;
	struct starts starts = {
	    .answers = answers,
	    .values = calloc(answers->nodes.table.count + 1ull, sizeof(double)),
	    .waits = calloc(sonde_db_context_count(answers->db) + 1ull, 1),
	};
	char place[SN_PLACE_CHARS], name[SN_LABEL_CHARS];
	int result = starts.values && starts.waits ? 0 : SN_ERR_MEMORY;
	if (!result)
		result = find_before(&starts, device, items + first, next - first, error);
	if (!result && starts.count)
		result = sn_activity_walk(&answers->processes, items[first].profile,
					  SONDE_EVENTS_BRIEF, take_part, &starts, error);
	sn_label_name(answers->db, SN_GROUP_AUTO,
		      sonde_db_context(answers->db, items[first].context)->frame, name);
	if (!result && starts.count)
		result = put_rows(&starts, sn_answers_device(answers, device, place), name, sheet);
	sn_intervals_release(&starts.before);
	free(starts.values);
	free(starts.waits);
	return result == SN_ERR_MEMORY ? sn_fail(error, result, "out of memory") : result;
}

static void columns(struct sn_sheet *sheet)
{
	sn_sheet_column(sheet, "device", "device", "");
	sn_sheet_column(sheet, "iteration", "iteration", "");
	sn_sheet_column(sheet, "count", "times", "count");
	sn_sheet_column(sheet, "before_ns", "before device", "ns");
	sn_sheet_column(sheet, "before_share", "of each", "ratio");
	sn_sheet_column(sheet, "time_ns", "of that", "ns");
	sn_sheet_column(sheet, "node", "node", "");
	sn_sheet_note(sheet, "on average of the iterations in which the device works: from the "
			     "begin to the moment when it is busy; threads add up");
}

int sn_iteration_starts(const struct sn_answers *answers, struct sn_page *page,
			struct sn_error *error)
{
	const struct sn_iterations *all = &answers->iterations;
	int result = 0;
	if (!all->count || !answers->times.count)
		return 0;
	struct sn_sheet *sheet =
	    sn_page_sheet(page, "before_each", "what threads did before the device in iterations");
	columns(sheet);
	for (size_t first = 0, next; first < all->count && !result; first = next) {
		for (next = first + 1; next < all->count; next++)
			if (all->items[next].context != all->items[first].context ||
			    all->items[next].profile != all->items[first].profile)
				break;
		const uint32_t *devices;
		size_t count = sn_processes_list(&answers->processes, &answers->processes.devices,
						 all->items[first].profile, &devices);
		for (size_t i = 0; i < count && !result; i++)
			result = look(answers, devices[i], first, next, sheet, error);
	}
	return result;
}
