/* SPDX-License-Identifier: Apache-2.0 */
/* How long iterations take, what their devices did meanwhile, and what grew in the unusual ones. */
#include "timeline/iterations/iteration_work.h"
#include "timeline/iterations/unusual.h"
#include "views.h"

#include <math.h>

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
		snprintf(who, sizeof(who), profile->rank >= 0 ? "rank %lld" : "process %lld",
			 profile->rank >= 0 ? (long long)profile->rank : (long long)profile->pid);
		sn_sheet_text(sheet, sn_name_context(answers->db, one->context, name));
		sn_sheet_text(sheet, who);
		sn_sheet_number(sheet, (double)number);
		sn_sheet_number(sheet, (double)(one->start_ns - answers->start_ns));
		sn_sheet_number(sheet, sn_iteration_length_ns(one));
		sn_sheet_text(sheet, one->is_unusual ? "unusual" : "");
		bool has_device = sn_iteration_device(answers, one) != SIZE_MAX;
		put_parts(has_device ? works + i : NULL, sheet);
	}
	sn_sheet_note(sheet, "what devices did while the program was in the iteration; "
			     "communication and copies with nothing better beside them");
}

static int why(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	char label[SN_NODE_CHARS];
	struct sn_unusuals unusuals;
	int result = sn_unusuals(answers, &unusuals, error);
	struct sn_sheet *sheet =
	    sn_page_sheet(page, "unusual", "what is different in unusual iterations");
	sn_sheet_column(sheet, "number", "number", "count");
	sn_sheet_column(sheet, "time_ns", "time", "ns");
	sn_sheet_column(sheet, "more_ns", "than usual", "ns");
	sn_sheet_column(sheet, "node_more_ns", "of that", "ns");
	sn_sheet_column(sheet, "node", "node", "");
	for (size_t i = 0; i < unusuals.count && !result; i++) {
		const struct sn_unusual *one = unusuals.items + i;
		sn_sheet_number(sheet, (double)one->number);
		sn_sheet_number(sheet, one->length_ns);
		sn_sheet_number(sheet, one->more_ns);
		sn_sheet_number(sheet, one->node_more_ns);
		sn_sheet_text(sheet, sn_name_node(&answers->nodes, one->node, label));
	}
	sn_sheet_note(sheet, "%s",
		      unusuals.count
			  ? "against the iteration of median length; threads and devices "
			    "together, so that parts may be more than the whole"
			  : "none is unusual");
	free(unusuals.items);
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
	int result = works ? sn_iteration_works(answers, works, error)
			   : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	if (!result)
		list(answers, works, page);
	free(works);
	return result ? result : why(answers, page, error);
}
