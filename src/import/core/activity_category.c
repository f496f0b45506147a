/* SPDX-License-Identifier: Apache-2.0 */
/* Categories of activities by their names in traces. */
#include "activity_category.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

enum sn_activity_category sn_activity_category(const char *text, size_t length)
{
	static const struct {
		char name[20];
		uint8_t length, category;
	} known[] = {{"cpu_op", 6, SN_ACTIVITY_OPERATOR},
		     {"python_function", 15, SN_ACTIVITY_PYTHON},
		     {"cuda_runtime", 12, SN_ACTIVITY_API},
		     {"kernel", 6, SN_ACTIVITY_KERNEL},
		     {"cuda_driver", 11, SN_ACTIVITY_API},
		     {"range", 5, SN_ACTIVITY_RANGE},
		     {"user_annotation", 15, SN_ACTIVITY_ANNOTATION},
		     {"gpu_memcpy", 10, SN_ACTIVITY_COPY},
		     {"gpu_memset", 10, SN_ACTIVITY_FILL},
		     {"gpu_graph", 9, SN_ACTIVITY_GRAPH}, /* Sonde's own */
		     {"gpu_user_annotation", 19, SN_ACTIVITY_DEVICE_ANNOTATION},
		     {"cpu_instant_event", 17, SN_ACTIVITY_INSTANT},
		     {"overhead", 8, SN_ACTIVITY_OVERHEAD},
		     {"xpu_runtime", 11, SN_ACTIVITY_API},
		     {"xpu_driver", 10, SN_ACTIVITY_API},
		     {"mtia_runtime", 12, SN_ACTIVITY_API},
		     {"privateuse1_runtime", 19, SN_ACTIVITY_API},
		     {"privateuse1_driver", 18, SN_ACTIVITY_API},
		     {"hpu_op", 6, SN_ACTIVITY_KERNEL},
		     {"cuda_sync", 9, SN_ACTIVITY_DEVICE_OTHER},
		     {"cuda_event", 10, SN_ACTIVITY_DEVICE_OTHER},
		     {"cuda_profiler_range", 19, SN_ACTIVITY_DEVICE_OTHER},
		     {"operator", 8, SN_ACTIVITY_OPERATOR}, /* until 2022 */
		     {"runtime", 7, SN_ACTIVITY_API},
		     {"memcpy", 6, SN_ACTIVITY_COPY},
		     {"memset", 6, SN_ACTIVITY_FILL},
		     {"concurrent_kernel", 17, SN_ACTIVITY_KERNEL}};
	/* the first versions of Kineto wrote the names in capitals */
	for (size_t i = 0; i < sizeof(known) / sizeof(*known) && text; i++)
		if (length == known[i].length && !strncasecmp(text, known[i].name, length))
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
