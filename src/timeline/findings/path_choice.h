/* SPDX-License-Identifier: Apache-2.0 */
/* What of a critical path is worth a finding; for the rules about it. */
#ifndef SN_TIMELINE_PATH_CHOICE_H
#define SN_TIMELINE_PATH_CHOICE_H

#include "timeline/findings/finding.h"
#include "timeline/path/critical_path.h"

struct sn_path_choice {
	/* What was looked at says nothing of the run: the first moments of a trace without
	 * iterations. */
	bool is_too_short;
	/* The node whose work, a tenth faster, would gain most; NULL: none. */
	const struct sn_path_share *best;
	bool gains; /* a hundredth of the path or more, were it a tenth faster */
	/* Code that no call is recorded of is more to the point than that node; and a node that
	 * samples met in it has more of the path. */
	bool is_mostly_own, is_mostly_sampled;
};

struct sn_path_choice sn_path_choose(const struct sn_rule_input *input);
/* Whether there is a best node, and it is what the reader is told first. */
bool sn_path_tells_best(const struct sn_path_choice *choice);
/* What the path is of: "iteration_of", "iteration", or "is_cut"; and how long it is. */
void sn_path_put_extent(const struct sn_critical_path *path, struct sn_finding *finding);

#endif
