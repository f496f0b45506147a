/* SPDX-License-Identifier: Apache-2.0 */
/* Findings in words: one function for each rule, from the finding's evidence alone. */
#include "views.h"

#include "timeline/path/path_causes.h"
#include "timeline/threads/thread_activity.h"

#include <stdio.h>
#include <string.h>

/* A finding, and where its sentence is written. */
struct sentence {
	const struct sn_answers *answers;
	const struct sn_finding *finding;
	FILE *out;
};

/* ---- evidence in words ---- */

static bool has(const struct sentence *sentence, const char *name)
{
	return sn_finding_has(sentence->finding, name);
}

static double value(const struct sentence *sentence, const char *name)
{
	return sn_finding_value(sentence->finding, name);
}

static uint32_t number(const struct sentence *sentence, const char *name)
{
	return (uint32_t)value(sentence, name);
}

static struct sn_number share(const struct sentence *sentence, const char *name)
{
	return sn_number_part(value(sentence, name), 1);
}

static struct sn_number time_of(const struct sentence *sentence, const char *name)
{
	return sn_number_time(value(sentence, name));
}

static struct sn_node_name node(const struct sentence *sentence, const char *name)
{
	const struct sn_node_map *nodes = &sentence->answers->nodes;
	return sn_mention_node(nodes, nodes->of_context[number(sentence, name)]);
}

static struct sn_place_name device(const struct sentence *sentence, const char *name)
{
	return sn_name_stream_device(sentence->answers, number(sentence, name));
}

static struct sn_path_name path(const struct sentence *sentence)
{
	struct sn_path_extent extent = {SONDE_NONE, 0, has(sentence, "is_cut")};
	if (has(sentence, "iteration_of")) {
		extent.context = number(sentence, "iteration_of");
		extent.iteration = (uint64_t)value(sentence, "iteration");
	}
	return sn_name_path(sentence->answers->db, &extent);
}

/* ---- rules ---- */

/* "82.5% communicating (64.0% with nothing beside it)". */
static void write_work(const struct sentence *t, const char *what, const char *name,
		       const char *alone)
{
	fprintf(t->out, " %s %s", share(t, name).text, what);
	if (value(t, name) > 0)
		fprintf(t->out, " (%s with nothing beside it)", share(t, alone).text);
}

/* A largest part of less than this is no answer. */
#define SPREAD 0.05

static void write_device_time(const struct sentence *t)
{
	fprintf(t->out, "Where the time goes: of %s", time_of(t, "time").text);
	if (has(t, "iterations")) {
		double count = value(t, "iterations");
		fprintf(t->out, ", %.0f iteration%s of %s", count, count == 1 ? "" : "s",
			sn_name_iterations(t->answers->db, number(t, "iterations_of")).text);
	}
	if (has(t, "device"))
		fprintf(t->out, ", %s spends", device(t, "device").text);
	else
		fprintf(t->out, ", %.0f devices spend", value(t, "devices"));
	fprintf(t->out, " %s computing,", share(t, "computing").text);
	write_work(t, "communicating", "communicating", "alone");
	fprintf(t->out, " and");
	write_work(t, "copying", "copying", "copying_alone");
	fprintf(t->out, ", and %s idle", share(t, "idle").text);
	if (has(t, "most_idle"))
		fprintf(t->out, " (from %s on %s to %s on %s)", share(t, "least_idle").text,
			device(t, "least_idle_device").text, share(t, "most_idle").text,
			device(t, "most_idle_device").text);
	putc('.', t->out);
	if (has(t, "node") && value(t, "node_share") >= SPREAD)
		fprintf(t->out, " Most work: %s, %s of all work.", node(t, "node").text,
			share(t, "node_share").text);
	else if (has(t, "node"))
		fprintf(t->out, " The work is spread: the most of it, %s, is in %s.",
			share(t, "node_share").text, node(t, "node").text);
}

static void write_device_waits(const struct sentence *t)
{
	fprintf(t->out, "What devices wait for: ");
	if (!has(t, "reason")) {
		fprintf(t->out, "nothing, they compute all the time.");
		return;
	}
	/* what has less than half is not "mostly" */
	fprintf(t->out, "of the %s without computation %s %s (%s): %s",
		share(t, "without_computation").text,
		value(t, "reason_share") >= 0.5 ? "mostly" : "most of all",
		sn_wait_name(number(t, "reason")), share(t, "reason_share").text,
		sn_wait_meaning(number(t, "reason")));
	if (has(t, "then"))
		fprintf(t->out, ", then %s (%s)", sn_wait_name(number(t, "then")),
			share(t, "then_share").text);
	putc('.', t->out);
	if (has(t, "host") && value(t, "host_share") >= SPREAD)
		fprintf(t->out, " While they were idle, %s in %s (%s).",
			sn_activity_is_recorder(t->answers->db, number(t, "host"))
			    ? "the profiler that recorded this was at its own work,"
			    : "the host was most",
			sn_mention_blame(&t->answers->nodes, number(t, "host")).text,
			share(t, "host_share").text);
}

static void write_thread_time(const struct sentence *t)
{
	fprintf(t->out, "Where the time goes: no device is recorded");
	if (has(t, "launches")) {
		double count = value(t, "launches");
		fprintf(t->out, ", though %.0f call%s launched work on one", count,
			count == 1 ? "" : "s");
	}
	fprintf(t->out, "; of %s of threads", time_of(t, "time").text);
	if (has(t, "covered"))
		fprintf(t->out, " (%s of the %s that the trace covers)", share(t, "covered").text,
			time_of(t, "trace").text);
	fprintf(t->out, " %s in %s (%s)",
		value(t, "node_share") >= 0.5 ? "most are" : "the largest part is",
		node(t, "node").text, share(t, "node_share").text);
	if (has(t, "then"))
		fprintf(t->out, ", then in %s (%s)", node(t, "then").text,
			share(t, "then_share").text);
	putc('.', t->out);
}

static void write_rank_waits(const struct sentence *t)
{
	double collectives = value(t, "collectives");
	fprintf(
	    t->out,
	    "What ranks wait for: %s together in %.0f collective%s, %s of it for %s, which came "
	    "last to %.0f",
	    time_of(t, "waited").text, collectives, collectives == 1 ? "" : "s",
	    share(t, "rank_share").text, sn_name_member(t->answers, number(t, "rank")).text,
	    value(t, "last"));
	if (has(t, "node"))
		fprintf(t->out, "; meanwhile that was most in %s (%s)", node(t, "node").text,
			share(t, "node_share").text);
	putc('.', t->out);
}

static void write_unmarked_iterations(const struct sentence *t)
{
	fprintf(t->out,
		"Which node to change: not looked at, because the trace is long and has no "
		"iterations. %s.",
		t->finding->suggestion);
}

/* "cudaMemcpyAsync", and the node that it is in. */
static void write_call(const struct sentence *t, const char *name)
{
	uint32_t context = number(t, name);
	struct sn_context_name call = sn_name_context(t->answers->db, context);
	struct sn_node_name of = node(t, name);
	fprintf(t->out, "%s", call.text);
	if (strncmp(of.text, call.text, strlen(call.text)) != 0)
		fprintf(t->out, " of %s", of.text);
	else
		fprintf(t->out, "%s", of.text + strlen(call.text));
}

/* "463 ms in hipMemcpyWithStream of aten::copy_". */
static void write_longest(const struct sentence *t, bool is_copy)
{
	fprintf(t->out, "%s", time_of(t, "longest").text);
	if (has(t, "in")) {
		fprintf(t->out, is_copy ? ", " : " in ");
		write_call(t, "in");
	} else if (has(t, "within")) {
		fprintf(t->out, " in ");
		write_call(t, "within");
	} else {
		fprintf(t->out, " for what is not recorded");
	}
}

static void write_path_cause(const struct sentence *t)
{
	enum sn_path_cause cause = (enum sn_path_cause)value(t, "cause");
	bool is_copy = cause == SN_CAUSE_COPIES;
	bool is_one = has(t, "longest") && value(t, "longest") >= 0.5 * value(t, "time");
	fprintf(t->out, "What limits it: ");
	if (is_one) {
		fprintf(t->out, "one %s of ", is_copy ? "copy" : "wait");
		write_longest(t, is_copy);
		fprintf(t->out, "; %s", is_copy ? "copies are" : "waiting is");
	} else {
		fprintf(t->out, "%s,", sn_path_cause_name(cause));
	}
	fprintf(t->out, " %s of the %s of the critical path of %s", share(t, "share").text,
		time_of(t, "path").text, path(t).text);
	if (has(t, "longest") && !is_one) {
		fprintf(t->out, ", the longest ");
		write_longest(t, is_copy);
	}
	if (has(t, "most"))
		fprintf(t->out, ", most of it in %s (%s)",
			sn_name_context(t->answers->db, number(t, "most")).text,
			share(t, "most_share").text);
	if (has(t, "then"))
		fprintf(t->out, ", then %s (%s)",
			sn_path_cause_name((enum sn_path_cause)value(t, "then")),
			share(t, "then_share").text);
	if (t->finding->suggestion)
		fprintf(t->out, ", with %.0f launches: %s", value(t, "launches"),
			t->finding->suggestion);
	putc('.', t->out);
}

static void write_sampled_node(const struct sentence *t)
{
	fprintf(t->out,
		" Which node to change: %s, in no recorded call: by samples it has %s of the "
		"critical path (%s).",
		node(t, "node").text, time_of(t, "time").text, share(t, "share").text);
	if (has(t, "recorded"))
		fprintf(t->out, " Of recorded calls %s has most of it (%s).",
			node(t, "recorded").text, share(t, "recorded_share").text);
}

static void write_critical_node(const struct sentence *t)
{
	fprintf(t->out,
		" Which node to change: %s is on the critical path for %s (%s); 10%% faster it "
		"would gain %s (%s), and were it free %s.",
		node(t, "node").text, time_of(t, "time").text, share(t, "share").text,
		time_of(t, "gain").text, share(t, "gain_share").text, time_of(t, "gain_all").text);
}

static void write_own_code(const struct sentence *t)
{
	fprintf(t->out, " %s of that path is the program's own code, in no recorded call%s%s.",
		share(t, "share").text, t->finding->suggestion ? ": " : "",
		t->finding->suggestion ? t->finding->suggestion : "");
}

static void write_thread_states(const struct sentence *t)
{
	fprintf(t->out, "What threads do: of %s, %s ran %s, was ready to run %s, and blocked %s",
		time_of(t, "time").text, sn_name_thread(t->answers->db, number(t, "thread")).text,
		share(t, "running").text, share(t, "ready").text, share(t, "blocked").text);
	if (has(t, "blocked_in"))
		fprintf(t->out, ", most of it in %s (%s)",
			sn_state_name(t->answers->db, number(t, "blocked_in")),
			share(t, "blocked_in_share").text);
	putc('.', t->out);
}

static const struct {
	void (*write)(const struct sentence *sentence);
	bool follows;
} rules[SN_RULES] = {
#define SN_RULE(name, follows, evidence) {write_##name, follows},
#include "timeline/findings/rules.def"
#undef SN_RULE
};

void sn_show_findings(const struct sn_answers *answers, const struct sn_findings *findings,
		      size_t most, struct sn_page *page)
{
	size_t written[SN_RULES] = {0};
	for (size_t i = 0; i < findings->count;) {
		char *text = NULL;
		size_t length;
		FILE *out = open_memstream(&text, &length);
		if (!out) {
			page->has_failed = true;
			return;
		}
		bool is_written = written[findings->items[i].rule]++ < most;
		do {
			struct sentence sentence = {answers, findings->items + i++, out};
			if (is_written)
				rules[sentence.finding->rule].write(&sentence);
		} while (i < findings->count && rules[findings->items[i].rule].follows);
		if (fclose(out))
			page->has_failed = true;
		else if (is_written)
			sn_page_sentence(page, "%s", text);
		free(text);
	}
}
