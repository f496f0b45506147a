/* SPDX-License-Identifier: Apache-2.0 */
/* Time by call path cut off at a depth: the profile that a trace shows at that depth. */
#pragma once

#include "timeline/answers.h"

/* Time of a context; at the greatest depth including all contexts below. */
struct sn_depth_time {
	uint32_t context;
	double threads_ns, device_ns;
};

struct sn_depth_times {
	struct sn_depth_time *items; /* most time first */
	size_t count;
	double threads_ns, device_ns; /* all together */
};

/* To answers->depth. 0 or a negative enum sn_err; free the items in either case. */
int sn_depth_times(const struct sn_answers *answers, struct sn_depth_times *times,
		   struct sn_error *error);
