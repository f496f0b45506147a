/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies that come again in each iteration: by node, how much each iteration copies and what part
 * of it that takes. A copy belongs to the iteration in which it starts.
 */
#ifndef SN_TIMELINE_ITERATION_COPIES_H
#define SN_TIMELINE_ITERATION_COPIES_H

#include "timeline/answers.h"

/* The sheet "transfer_iterations"; none without iterations. 0 or a negative enum sn_err. */
int sn_iteration_copies(const struct sn_answers *answers, struct sn_page *page,
			struct sn_error *error);

#endif
