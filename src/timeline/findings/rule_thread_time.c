/* SPDX-License-Identifier: Apache-2.0 */
/* Without devices: what threads did besides waiting and for the profiler, and the nodes with the most of that time. */
#include "finding.h"

#include "format/measurement/measurement.h"
#include "frame/context_frame.h"
#include "timeline/answers.h"
#include "timeline/node_sums.h"
#include "timeline/threads/activity_samples.h"
#include "timeline/threads/thread_activity.h"

#include <string.h>

/* Calls that launch, of a trace without what they launched: its recorder was not asked for devices. */
static double count_launches(const struct sonde_db *db)
{
	uint32_t metric = sonde_db_metric_by_name(db, "gpu-api-time");
	double count = 0;
	for (uint32_t i = 0; i < sonde_db_context_count(db) && metric != SONDE_NONE; i++) {
		struct sonde_db_summary summary;
		if (sn_context_frame(db, i)->kind == SN_FRAME_GPU_API &&
		    strstr(sn_context_name(db, i), "Launch") &&
		    sonde_db_summary(db, i, metric, &summary))
			count += (double)summary.exclusive.count;
	}
	return count;
}

static void put(const struct sn_answers *answers, double all_ns, const struct sn_node_sum *nodes,
		size_t count, struct sn_findings *findings)
{
	double whole_ns = (double)(answers->end_ns - answers->start_ns);
	struct sn_finding *finding =
	    sn_findings_add(findings, SN_RULE_thread_time, sn_share(nodes[0].value, all_ns));
	double launches = count_launches(answers->db);
	if (launches > 0)
		sn_finding_put(finding, "launches", "count", launches);
	sn_finding_put(finding, "time", "ns", all_ns);
	/* says how little was recorded, lest it be taken for the whole run */
	if (all_ns < 0.5 * whole_ns) {
		sn_finding_put(finding, "covered", "ratio", sn_share(all_ns, whole_ns));
		sn_finding_put(finding, "trace", "ns", whole_ns);
	}
	sn_finding_put(finding, "node", "context",
		       sn_node_map_context(&answers->nodes, nodes[0].node));
	sn_finding_put(finding, "node_share", "ratio", sn_share(nodes[0].value, all_ns));
	if (count == 1)
		return;
	sn_finding_put(finding, "then", "context",
		       sn_node_map_context(&answers->nodes, nodes[1].node));
	sn_finding_put(finding, "then_share", "ratio", sn_share(nodes[1].value, all_ns));
}

int sn_rule_thread_time(const struct sn_rule_input *input, struct sn_findings *findings,
			struct sn_error *error)
{
	const struct sn_answers *answers = input->answers;
	uint32_t contexts = sonde_db_context_count(answers->db);
	size_t count = 0;
	double all = 0;
	if (answers->times.count)
		return 0;
	double *times = calloc(contexts + 1ull, sizeof(*times));
	int result =
	    times ? sn_activity_times(&answers->processes, times, error) : sn_fail_memory(error);
	for (uint32_t i = 0; i < contexts && !result; i++) {
		if (times[i] && (sn_activity_is_waiting(answers->db, i) ||
				 sn_activity_is_recorder(answers->db, i)))
			times[i] = 0;
		all += times[i];
	}
	struct sn_node_sum *sums =
	    result ? NULL : sn_node_sums_of_contexts(&answers->nodes, times, &count);
	if (!result && !sums)
		result = sn_fail_memory(error);
	if (count)
		put(answers, all, sums, count, findings);
	free(sums);
	free(times);
	return result;
}
