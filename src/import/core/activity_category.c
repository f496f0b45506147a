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
		     {"operator", SN_ACTIVITY_OPERATOR}, /* until 2022 */
		     {"runtime", SN_ACTIVITY_API},
		     {"memcpy", SN_ACTIVITY_COPY},
		     {"memset", SN_ACTIVITY_FILL},
		     {"concurrent_kernel", SN_ACTIVITY_KERNEL}};
	/* names in capitals are of the earliest versions */
	for (size_t i = 0; i < sizeof(known) / sizeof(*known) && text; i++)
		if (length == strlen(known[i].name) && !strncasecmp(text, known[i].name, length))
			return known[i].category;
	return SN_ACTIVITY_OTHER;
}

enum sn_activity_category sn_activity_of_mtia(const char *name, size_t length)
{
	if (length == 11 && !memcmp(name, "dma_request", 11))
		return SN_ACTIVITY_COPY;
	return length > 6 && !memcmp(name, "event_", 6) ? SN_ACTIVITY_DEVICE_OTHER
							: SN_ACTIVITY_KERNEL;
}
