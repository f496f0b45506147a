/* SPDX-License-Identifier: Apache-2.0 */
/* Without devices: for which rank the others wait in collectives, and what it does meanwhile. */
#include "finding.h"

#include "timeline/messages/stragglers.h"

int sn_rule_rank_waits(const struct sn_rule_input *input, struct sn_findings *findings,
		       struct sn_error *error)
{
	const struct sn_answers *answers = input->answers;
	const struct sn_ranks *ranks = &answers->ranks;
	struct sn_latest latest;
	double waited = 0;
	for (size_t i = 0; i < ranks->participant_count; i++)
		waited += (double)ranks->sums[i].waited_ns;
	if (answers->times.count || !ranks->count || waited <= 0)
		return 0;
	int result = sn_latest(answers, &latest, error);
	if (!result) {
		const struct sn_rank_sum *sum = ranks->sums + latest.participant;
		double whole = (double)(answers->end_ns - answers->start_ns) *
			       (double)ranks->participant_count;
		struct sn_finding *finding =
		    sn_findings_add(findings, SN_RULE_rank_waits, sn_share(waited, whole));
		sn_finding_put(finding, "waited", "ns", waited);
		sn_finding_put(finding, "collectives", "count", (double)ranks->count);
		sn_finding_put(finding, "rank", "profile",
			       answers->collectives.participants[latest.participant].profile);
		sn_finding_put(finding, "rank_share", "ratio",
			       sn_share((double)sum->delayed_ns, waited));
		sn_finding_put(finding, "last", "count", (double)sum->last_count);
		if (latest.count && latest.whole_ns > 0) {
			sn_finding_put(finding, "node", "context",
				       sn_node_map_context(&answers->nodes, latest.nodes[0].node));
			sn_finding_put(finding, "node_share", "ratio",
				       latest.nodes[0].value / latest.whole_ns);
		}
	}
	free(latest.nodes);
	return result;
}
