/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second half of analysis: turns measured addresses into functions, loops and operators.
 *
 * A native frame becomes its function followed by the loops and inlined functions it is in there,
 * outermost first; a GPU's instruction its function, inlined calls, loops and line. The entry
 * points of operators become operators (operators.h); a path whose callers are unknown begins with
 * a marker. Values go to the innermost of the frames that replace their context.
 */
#pragma once

#include "merge.h"
#include "resolve.h"

#define SN_CALLERS_UNKNOWN "[callers unknown]"
#define SN_CODE_UNKNOWN	   "[unknown code]"
#define SN_NAME_UNKNOWN	   "[unknown]"

/* Adds all contexts and values to the merge's builder, and fills in merge->contexts. 0 or
 * SN_ERR_MEMORY. */
int sn_expand(struct sn_merge *merge, const struct sn_resolved *resolved);
