/* SPDX-License-Identifier: Apache-2.0 */
/* What findings say in words: one function for each rule, from the finding's evidence alone. */
#include "views.h"

#include <math.h>
#include <stdio.h>

/* A finding that is being told, and where. */
struct telling {
	const struct sn_answers *answers;
	const struct sn_finding *finding;
	FILE *out;
};

/* ---- evidence in words, in texts that last for four calls ---- */

static bool has(const struct telling *telling, const char *name)
{
	return sn_finding_has(telling->finding, name);
}

static double value(const struct telling *telling, const char *name)
{
	return sn_finding_value(telling->finding, name);
}

static uint32_t number(const struct telling *telling, const char *name)
{
	return (uint32_t)value(telling, name);
}

static const char *share(const struct telling *telling, const char *name)
{
	return sn_number_part(value(telling, name), 1);
}

static const char *time_of(const struct telling *telling, const char *name)
{
	return sn_number_time(value(telling, name));
}

static const char *node(const struct telling *telling, const char *name)
{
	static char texts[4][SN_NODE_CHARS];
	static unsigned next;
	const struct sn_node_map *nodes = &telling->answers->nodes;
	return sn_mention_node(nodes, nodes->of_context[number(telling, name)], texts[next++ % 4]);
}

static const char *device(const struct telling *telling, const char *name)
{
	static char texts[4][SN_PLACE_CHARS];
	static unsigned next;
	return sn_name_stream_device(telling->answers, number(telling, name), texts[next++ % 4]);
}

static const char *path(const struct telling *telling)
{
	static char text[SN_PATH_CHARS];
	struct sn_path_extent extent = {SONDE_NONE, 0, has(telling, "is_cut")};
	if (has(telling, "iteration_of")) {
		extent.context = number(telling, "iteration_of");
		extent.iteration = (size_t)value(telling, "iteration");
	}
	return sn_name_path(telling->answers->db, &extent, text);
}

/* ---- rules ---- */

static void say_device_time(const struct telling *t)
{
	fprintf(t->out, "Where the time goes: of %s, ", time_of(t, "time"));
	if (has(t, "device"))
		fprintf(t->out, "%s spends", device(t, "device"));
	else
		fprintf(t->out, "%.0f devices spend", value(t, "devices"));
	fprintf(
	    t->out,
	    " %s computing, %s communicating and %s copying with nothing beside it, and %s idle",
	    share(t, "computing"), share(t, "communicating"), share(t, "copying"),
	    share(t, "idle"));
	if (has(t, "most_idle"))
		fprintf(t->out, " (from %s on %s to %s on %s)", share(t, "least_idle"),
			device(t, "least_idle_device"), share(t, "most_idle"),
			device(t, "most_idle_device"));
	putc('.', t->out);
	if (has(t, "node"))
		fprintf(t->out, " Most work: %s, %s of it.", node(t, "node"),
			share(t, "node_share"));
}

static void say_device_waits(const struct telling *t)
{
	fprintf(t->out, "What devices wait for: ");
	if (!has(t, "reason")) {
		fprintf(t->out, "nothing, they compute all the time.");
		return;
	}
	fprintf(t->out, "of the %s without computation mostly %s (%s): %s",
		share(t, "without_computation"), sn_wait_name(number(t, "reason")),
		share(t, "reason_share"), sn_wait_meaning(number(t, "reason")));
	if (has(t, "then"))
		fprintf(t->out, ", then %s (%s)", sn_wait_name(number(t, "then")),
			share(t, "then_share"));
	putc('.', t->out);
	if (has(t, "host"))
		fprintf(t->out, " While they were idle, the host was most in %s (%s).",
			node(t, "host"), share(t, "host_share"));
}

static void say_thread_time(const struct telling *t)
{
	fprintf(t->out, "Where the time goes: no device is recorded; of %s of threads",
		time_of(t, "time"));
	if (has(t, "covered"))
		fprintf(t->out, " (%s of the %s that the trace covers)", share(t, "covered"),
			time_of(t, "trace"));
	fprintf(t->out, " most are in %s (%s)", node(t, "node"), share(t, "node_share"));
	if (has(t, "then"))
		fprintf(t->out, ", then in %s (%s)", node(t, "then"), share(t, "then_share"));
	putc('.', t->out);
}

static void say_rank_waits(const struct telling *t)
{
	char place[SN_PLACE_CHARS];
	double collectives = value(t, "collectives");
	fprintf(
	    t->out,
	    "What ranks wait for: %s together in %.0f collective%s, %s of it for %s, which came "
	    "last to %.0f",
	    time_of(t, "waited"), collectives, collectives == 1 ? "" : "s", share(t, "rank_share"),
	    sn_name_member(t->answers, number(t, "rank"), place), value(t, "last"));
	if (has(t, "node"))
		fprintf(t->out, "; meanwhile that was most in %s (%s)", node(t, "node"),
			share(t, "node_share"));
	putc('.', t->out);
}

static void say_unmarked_iterations(const struct telling *t)
{
	fprintf(t->out,
		"Which node to change: not looked at, because the trace is long and has no "
		"iterations. %s.",
		t->finding->suggestion);
}

static void say_sampled_node(const struct telling *t)
{
	fprintf(t->out,
		"Which node to change: %s, in no recorded call: by samples it has %s of the %s of "
		"the critical path of %s (%s).",
		node(t, "node"), time_of(t, "time"), time_of(t, "path"), path(t),
		share(t, "share"));
	if (has(t, "recorded"))
		fprintf(t->out, " Of recorded calls %s has most of it (%s).", node(t, "recorded"),
			share(t, "recorded_share"));
}

static void say_critical_node(const struct telling *t)
{
	fprintf(
	    t->out,
	    "Which node to change: %s is on the critical path of %s for %s of its %s (%s); 10%% "
	    "faster it would gain %s (%s), and were it free %s.",
	    node(t, "node"), path(t), time_of(t, "time"), time_of(t, "path"), share(t, "share"),
	    time_of(t, "gain"), share(t, "gain_share"), time_of(t, "gain_all"));
}

static void say_launching(const struct telling *t)
{
	fprintf(t->out, " Launching is %s of that path: %s.", share(t, "share"),
		t->finding->suggestion);
}

static void say_own_code(const struct telling *t)
{
	fprintf(t->out, " %s of that path is the program's own code, in no recorded call%s%s.",
		share(t, "share"), t->finding->suggestion ? ": " : "",
		t->finding->suggestion ? t->finding->suggestion : "");
}

static void say_thread_states(const struct telling *t)
{
	char name[SN_PLACE_CHARS];
	fprintf(t->out, "What threads do: of %s, %s ran %s, was ready to run %s, and blocked %s",
		time_of(t, "time"), sn_name_thread(t->answers->db, number(t, "thread"), name),
		share(t, "running"), share(t, "ready"), share(t, "blocked"));
	if (has(t, "blocked_in"))
		fprintf(t->out, ", most of it in %s (%s)",
			sn_state_name(t->answers->db, number(t, "blocked_in")),
			share(t, "blocked_in_share"));
	putc('.', t->out);
}

static const struct {
	void (*say)(const struct telling *telling);
	bool follows;
} rules[SN_RULES] = {
#define SN_RULE(name, follows, evidence) {say_##name, follows},
#include "timeline/findings/rules.def"
#undef SN_RULE
};

void sn_show_findings(const struct sn_answers *answers, const struct sn_findings *findings,
		      size_t most, struct sn_page *page)
{
	size_t told[SN_RULES] = {0};
	for (size_t i = 0; i < findings->count;) {
		char *text = NULL;
		size_t length;
		FILE *out = open_memstream(&text, &length);
		if (!out) {
			page->has_failed = true;
			return;
		}
		bool is_told = told[findings->items[i].rule]++ < most;
		do {
			struct telling telling = {answers, findings->items + i++, out};
			if (is_told)
				rules[telling.finding->rule].say(&telling);
		} while (i < findings->count && rules[findings->items[i].rule].follows);
		if (fclose(out))
			page->has_failed = true;
		else if (is_told)
			sn_page_sentence(page, "%s", text);
		free(text);
	}
}
