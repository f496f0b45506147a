/* SPDX-License-Identifier: Apache-2.0 */
/* A critical path that consists of launching to a good part. */
#include "path_choice.h"

int sn_rule_launching(const struct sn_rule_input *input, struct sn_findings *findings,
		      struct sn_error *error)
{
	struct sn_path_choice choice = sn_path_choose(input);
	double share = sn_share(input->path->kinds_ns[SN_PATH_LAUNCH], input->path->length_ns);
	(void)error;
	if (!sn_path_tells_best(&choice) ||
	    input->path->kinds_ns[SN_PATH_LAUNCH] <= 0.2 * input->path->length_ns)
		return 0;
	struct sn_finding *finding = sn_findings_add(findings, SN_RULE_launching, share);
	sn_finding_put(finding, "share", "ratio", share);
	finding->suggestion = "fewer, larger kernels or graphs help";
	return 0;
}
