/* SPDX-License-Identifier: Apache-2.0 */
/* From samples by instruction to frequencies, cycles and culprits: the issue model of each block (issue.h, mca.h), the frequencies (frequency.h), then the blame (blame.h). */
#pragma once

#include "annotate.h"
#include "blame.h"

/* `footprint` of the code with samples. 0 or SN_ERR_MEMORY. */
int sn_explain(struct sn_annotation *annotation, const struct sn_blame_footprint *footprint,
	       bool no_mca);
