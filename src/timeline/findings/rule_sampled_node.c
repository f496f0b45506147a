/* SPDX-License-Identifier: Apache-2.0 */
/* A node known from samples only, outside of recorded calls, has more of the critical path
 * than any other. */
#include "path_choice.h"

int sn_rule_sampled_node(const struct sn_rule_input *input, struct sn_findings *findings,
			 struct sn_error *error)
{
	struct sn_path_choice choice = sn_path_choose(input);
	const struct sn_critical_path *path = input->path;
	const struct sn_node_map *nodes = &input->answers->nodes;
	if (choice.is_too_short || !choice.is_mostly_sampled)
		return 0;
	double share = sn_share(path->sampled[0].time_ns, path->length_ns);
	struct sn_finding *finding = sn_findings_add(findings, SN_RULE_sampled_node, share);
	sn_path_put_extent(path, finding);
	sn_finding_put(finding, "node", "context",
		       sn_node_map_context(nodes, path->sampled[0].node));
	sn_finding_put(finding, "time", "ns", path->sampled[0].time_ns);
	sn_finding_put(finding, "share", "ratio", share);
	if (choice.best) {
		sn_finding_put(finding, "recorded", "context",
			       sn_node_map_context(nodes, choice.best->node));
		sn_finding_put(finding, "recorded_share", "ratio",
			       sn_share(choice.best->time_ns, path->length_ns));
	}
	return 0;
}
