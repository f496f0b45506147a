/* SPDX-License-Identifier: Apache-2.0 */
/* A long trace without marked iterations, of which the critical path would cover only the begin. */
#include "path_choice.h"

int sn_rule_unmarked_iterations(const struct sn_rule_input *input, struct sn_findings *findings,
				struct sn_error *error)
{
	if (!input->path->extent.is_cut || !sn_path_choose(input).is_too_short)
		return 0;
	struct sn_finding *finding = sn_findings_add(findings, SN_RULE_unmarked_iterations, 0);
	sn_path_put_extent(input->path, finding);
	finding->suggestion = "Mark them (sonde.iteration() in Python, SONDE_ITERATION in C), or "
			      "record a part";
	return 0;
}
