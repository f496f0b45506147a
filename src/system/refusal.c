/* SPDX-License-Identifier: Apache-2.0 */
/* Explaining refused events; see refusal.h. */
#include "refusal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int paranoid_level(void)
{
	int level = 99;
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	if (!file)
		return level;
	if (fscanf(file, "%d", &level) != 1)
		level = 99;
	fclose(file);
	return level;
}

void sn_refusal_explain(struct sn_refusal *refusal, int error)
{
	*refusal = (struct sn_refusal){""};
	if (error != EACCES && error != EPERM) {
		snprintf(refusal->why, sizeof(refusal->why), "perf_event_open: %s",
			 strerror(error));
	} else if (!geteuid()) {
		snprintf(refusal->why, sizeof(refusal->why),
			 "a container's rules forbid perf_event_open");
		snprintf(refusal->fix, sizeof(refusal->fix),
			 "docker run --cap-add PERFMON --security-opt seccomp=unconfined ...");
	} else {
		snprintf(refusal->why, sizeof(refusal->why),
			 "kernel.perf_event_paranoid is %d and forbids it", paranoid_level());
		snprintf(refusal->fix, sizeof(refusal->fix),
			 "run as root, or: sudo sysctl kernel.perf_event_paranoid=-1");
	}
}

void sn_allow_descriptors(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}
