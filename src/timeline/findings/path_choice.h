/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the parts of a critical path that deserve a finding; for the rules about it. */
#pragma once

#include "timeline/findings/finding.h"
#include "timeline/path/critical_path.h"

struct sn_path_choice {
	/* The path is not representative of the run: the first moments of a trace without
	 * iterations, or all that is recorded but samples and counters. */
	bool is_too_short;
	/* The node whose work, a tenth faster, would gain most; NULL: none. */
	const struct sn_path_share *best;
	bool gains; /* a hundredth of the path or more, were it a tenth faster */
	/* Code that no call is recorded of is more to the point than that node; and a node that
	 * samples met in it has more of the path. */
	bool is_mostly_own, is_mostly_sampled;
};

struct sn_path_choice sn_path_choose(const struct sn_rule_input *input);
/* Whether there is a best node, and it is shown first. */
bool sn_path_tells_best(const struct sn_path_choice *choice);
/* Adds evidence on the path: "iteration_of", "iteration", or "is_cut"; and its length. */
void sn_path_put_extent(const struct sn_critical_path *path, struct sn_finding *finding);
