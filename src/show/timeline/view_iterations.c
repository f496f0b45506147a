/* SPDX-License-Identifier: Apache-2.0 */
/* How long iterations take, what their devices did meanwhile, and what grew in the unusual ones. */
#include "timeline/iterations/iteration_work.h"
#include "timeline/iterations/unusual.h"
#include "views.h"

/* The rank or process of an iteration, without its run. */
static struct sn_place_name name_owner(const struct sonde_db *db, const struct sn_iteration *one)
{
	const struct sonde_db_profile *profile = sonde_db_profile(db, one->profile);
	struct sn_place_name name;
	bool has_rank = profile->rank >= 0;
	snprintf(name.text, sizeof(name.text), has_rank ? "rank %lld" : "process %lld",
		 has_rank ? (long long)profile->rank : (long long)profile->pid);
	return name;
}

static void list(const struct sn_answers *answers, const struct sn_iteration_work *works,
		 struct sn_page *page)
{
	static const struct sn_column columns[] = {{"name", "of", ""},
						   {"who", "who", ""},
						   {"number", "number", "count"},
						   {"start_ns", "at", "ns"},
						   {"time_ns", "time", "ns"},
						   {"unusual", "", ""},
						   {"computation_ns", "computation", "ns"},
						   {"communication_ns", "communication", "ns"},
						   {"copy_ns", "copies", "ns"},
						   {"idle_ns", "device idle", "ns"}};
	const struct sn_iterations *all = &answers->iterations;
	struct sn_sheet *sheet = sn_page_table(page, "iteration_list", columns, "iterations");
	for (size_t i = 0; i < all->count; i++) {
		const struct sn_iteration *one = all->items + i;
		const uint64_t *ns = works[i].times_ns;
		sn_sheet_text(sheet, sn_name_context(answers->db, one->context).text);
		sn_sheet_text(sheet, name_owner(answers->db, one).text);
		sn_sheet_numbers(sheet, one->number, one->start_ns - answers->start_ns,
				 sn_iteration_length_ns(one));
		sn_sheet_text(sheet, one->is_unusual ? "unusual" : "");
		if (sn_iteration_device(answers, one) == SIZE_MAX)
			sn_sheet_numbers(sheet, NAN, NAN, NAN, NAN);
		else
			sn_sheet_numbers(sheet, ns[1] + ns[3] + ns[5] + ns[7], ns[2] + ns[6], ns[4],
					 ns[0]);
	}
	sn_sheet_note(sheet, "what devices did while the program was in the iteration; "
			     "communication and copies with nothing better beside them");
}

static int show_unusual(const struct sn_answers *answers, struct sn_page *page,
			struct sn_error *error)
{
	static const struct sn_column columns[] = {{"number", "number", "count"},
						   {"time_ns", "time", "ns"},
						   {"more_ns", "than usual", "ns"},
						   {"node_more_ns", "of that", "ns"},
						   {"node", "node", ""}};
	struct sn_unusuals unusuals;
	int result = sn_unusuals(answers, &unusuals, error);
	struct sn_sheet *sheet =
	    sn_page_table(page, "unusual", columns, "what is different in unusual iterations");
	for (size_t i = 0; i < unusuals.count && !result; i++) {
		const struct sn_unusual *one = unusuals.items + i;
		sn_sheet_numbers(sheet, one->number, one->length_ns, one->more_ns,
				 one->node_more_ns);
		sn_sheet_text(sheet, sn_name_node(&answers->nodes, one->node).text);
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
	int result = works ? sn_iteration_works(answers, works, error) : sn_fail_memory(error);
	if (!result)
		list(answers, works, page);
	free(works);
	return result ? result : show_unusual(answers, page, error);
}
