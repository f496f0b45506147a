/* SPDX-License-Identifier: Apache-2.0 */
/* The program's own code, outside of recorded calls, has more of the critical path
 * than any node. */
#include "path_choice.h"

#include <string.h>

int sn_rule_own_code(const struct sn_rule_input *input, struct sn_findings *findings,
		     struct sn_error *error)
{
	struct sn_path_choice choice = sn_path_choose(input);
	if (choice.is_too_short || choice.is_mostly_sampled || !choice.is_mostly_own)
		return 0;
	double share = sn_share(input->path->own_ns, input->path->length_ns);
	struct sn_finding *finding = sn_findings_add(findings, SN_RULE_own_code, share);
	sn_finding_put(finding, "share", "ratio", share);
	const char *from = sonde_db_property(input->answers->db, "imported.from");
	if (!input->path->sampled_count)
		finding->suggestion =
		    from && !strcmp(from, "kineto")
			? "samples, or torch.profiler's with_stack=True, tell which"
			: "samples tell which";
	return 0;
}
