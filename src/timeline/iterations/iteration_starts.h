/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each iteration begins with: from its begin to the moment when the device of its process
 * first has something to do, and what threads do in that time, which nothing hides. A device that
 * is still busy with what came before makes that time nothing.
 */
#ifndef SN_TIMELINE_ITERATION_STARTS_H
#define SN_TIMELINE_ITERATION_STARTS_H

#include "timeline/answers.h"

/* The sheet "before_each". Without iterations or devices there is none. 0 or a negative enum
 * sn_err. */
int sn_iteration_starts(const struct sn_answers *answers, struct sn_page *page,
			struct sn_error *error);

#endif
