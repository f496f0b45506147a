/* SPDX-License-Identifier: Apache-2.0 */
/* Categories by name; see activity_category.h. */
#include "activity_category.h"

#include <string.h>
#include <strings.h>

enum sn_activity_category sn_activity_category(const char *text, size_t length)
{
	static const struct {
		const char *name;
		enum sn_activity_category category;
	} known[] = {{"cpu_op", SN_ACTIVITY_OPERATOR},
		     {"python_function", SN_ACTIVITY_PYTHON},
		     {"cuda_runtime", SN_ACTIVITY_API},
		     {"kernel", SN_ACTIVITY_KERNEL},
		     {"cuda_driver", SN_ACTIVITY_API},
		     {"range", SN_ACTIVITY_RANGE},
		     {"user_annotation", SN_ACTIVITY_ANNOTATION},
		     {"gpu_memcpy", SN_ACTIVITY_COPY},
		     {"gpu_memset", SN_ACTIVITY_FILL},
		     {"gpu_user_annotation", SN_ACTIVITY_DEVICE_ANNOTATION},
		     {"cpu_instant_event", SN_ACTIVITY_INSTANT},
		     {"overhead", SN_ACTIVITY_OVERHEAD},
		     {"xpu_runtime", SN_ACTIVITY_API},
		     {"xpu_driver", SN_ACTIVITY_API},
		     {"mtia_runtime", SN_ACTIVITY_API},
		     {"privateuse1_runtime", SN_ACTIVITY_API},
		     {"privateuse1_driver", SN_ACTIVITY_API},
		     {"hpu_op", SN_ACTIVITY_KERNEL},
		     {"cuda_sync", SN_ACTIVITY_DEVICE_OTHER},
		     {"cuda_event", SN_ACTIVITY_DEVICE_OTHER},
		     {"cuda_profiler_range", SN_ACTIVITY_DEVICE_OTHER},
		     {"mtia_ccp_events", SN_ACTIVITY_DEVICE_OTHER},
		     {"concurrent_kernel", SN_ACTIVITY_KERNEL}};
	/* kernel names in capitals are of the earliest versions */
	for (size_t i = 0; i < sizeof(known) / sizeof(*known) && text; i++)
		if (length == strlen(known[i].name) && !strncasecmp(text, known[i].name, length))
			return known[i].category;
	return SN_ACTIVITY_OTHER;
}
