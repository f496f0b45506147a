/* SPDX-License-Identifier: Apache-2.0 */
/* The node of the critical path that gains most if its work takes a tenth less time. */
#include "path_choice.h"

int sn_rule_critical_node(const struct sn_rule_input *input, struct sn_findings *findings,
			  struct sn_error *error)
{
	struct sn_path_choice choice = sn_path_choose(input);
	const struct sn_critical_path *path = input->path;
	if (!sn_path_tells_best(&choice))
		return 0;
	struct sn_finding *finding = sn_findings_add(
	    findings, SN_RULE_critical_node, sn_share(choice.best->gain_all_ns, path->length_ns));
	sn_path_put_extent(path, finding);
	sn_finding_put(finding, "node", "context",
		       sn_node_map_context(&input->answers->nodes, choice.best->node));
	sn_finding_put(finding, "time", "ns", choice.best->time_ns);
	sn_finding_put(finding, "share", "ratio", sn_share(choice.best->time_ns, path->length_ns));
	sn_finding_put(finding, "gain", "ns", choice.best->gain_ns);
	sn_finding_put(finding, "gain_share", "ratio",
		       sn_share(choice.best->gain_ns, path->length_ns));
	sn_finding_put(finding, "gain_all", "ns", choice.best->gain_all_ns);
	return 0;
}
