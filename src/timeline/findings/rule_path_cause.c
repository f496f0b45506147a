/* SPDX-License-Identifier: Apache-2.0 */
/* The cause with the most time on the critical path, and the node with most of it, or the single
 * long wait of which it consists. */
#include "path_choice.h"

#include "frame/context_frame.h"

#include <string.h>

/* Fewer launches than this, or more time between two, mean that their number is not the problem. */
enum { MANY_LAUNCHES = 64, LAUNCH_NS = 100000 };

/* The cause with the most time; among the first `count`. */
static enum sn_path_cause first_cause(const struct sn_path_causes *causes, unsigned count)
{
	enum sn_path_cause first = 0;
	for (unsigned i = 1; i < count; i++)
		if (causes->time_ns[i] > causes->time_ns[first])
			first = i;
	return first;
}

/* Where the profiler has the most time, what comes next is the program's. */
static void put_next(const struct sn_critical_path *path, struct sn_finding *finding)
{
	enum sn_path_cause next = first_cause(&path->causes, SN_CAUSE_RECORDER);
	double share = sn_share(path->causes.time_ns[next], path->length_ns);
	if (share < 0.01)
		return;
	sn_finding_put(finding, "then", "cause", next);
	sn_finding_put(finding, "then_share", "ratio", share);
}

static void put_longest(const struct sn_path_longest *longest, struct sn_finding *finding)
{
	sn_finding_put(finding, "longest", "ns", longest->time_ns);
	if (longest->context != SONDE_NONE)
		sn_finding_put(finding, "in", "context", longest->context);
	if (longest->within != SONDE_NONE)
		sn_finding_put(finding, "within", "context", longest->within);
}

/* Whether what launches most is a call that launches graphs, as is advised elsewhere. */
static bool are_of_graphs(const struct sn_rule_input *input)
{
	uint32_t context = input->path->causes.most_contexts[SN_CAUSE_LAUNCHING];
	return context != SONDE_NONE &&
	       strstr(sn_context_name(input->answers->db, context), "GraphLaunch");
}

int sn_rule_path_cause(const struct sn_rule_input *input, struct sn_findings *findings,
		       struct sn_error *error)
{
	const struct sn_critical_path *path = input->path;
	const struct sn_path_causes *causes = &path->causes;
	enum sn_path_cause cause = first_cause(causes, SN_PATH_CAUSES);
	double time = causes->time_ns[cause];
	if (time <= 0 || sn_path_choose(input).is_too_short)
		return 0;
	struct sn_finding *finding =
	    sn_findings_add(findings, SN_RULE_path_cause, sn_share(time, path->length_ns));
	sn_path_put_extent(path, finding);
	sn_finding_put(finding, "cause", "cause", cause);
	sn_finding_put(finding, "time", "ns", time);
	sn_finding_put(finding, "share", "ratio", sn_share(time, path->length_ns));
	if (cause == SN_CAUSE_COPIES || cause == SN_CAUSE_WAITING)
		put_longest(causes->longest + cause, finding);
	if ((cause == SN_CAUSE_COMMUNICATION || cause == SN_CAUSE_RECORDER) &&
	    causes->most_contexts[cause] != SONDE_NONE) {
		sn_finding_put(finding, "most", "context", causes->most_contexts[cause]);
		sn_finding_put(finding, "most_share", "ratio",
			       sn_share(causes->most_ns[cause], path->length_ns));
	}
	if (cause == SN_CAUSE_RECORDER)
		put_next(path, finding);
	if (cause == SN_CAUSE_LAUNCHING) {
		sn_finding_put(finding, "launches", "count", (double)causes->launch_count);
		if (causes->launch_count >= MANY_LAUNCHES &&
		    time / (double)causes->launch_count <= LAUNCH_NS)
			finding->suggestion = are_of_graphs(input)
						  ? "fewer, larger kernels help"
						  : "fewer, larger kernels or graphs help";
	}
	return 0;
}
