/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits. Where a user has no room left for pending signals (RLIMIT_SIGPENDING) the kernel sends
 * SIGIO instead of the signal that a perf event asks for, and that may be the program's. So perf's
 * signals end before the program takes that room from itself.
 */
#include "intercept.h"
#include "collect/sample/program_memory.h"
#include "collect/sample/sample.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

SN_REAL(int, setrlimit, (int, const struct rlimit *))
SN_REAL(int, prlimit, (pid_t, int, const struct rlimit *, struct rlimit *))

void sn_before_limit(pid_t process, int resource, const void *limit)
{
	struct rlimit asked;
	if (resource == RLIMIT_SIGPENDING && limit && sn_measuring() && sn_is_measured_process() &&
	    (!process || process == getpid()) && sn_program_take(limit, &asked, sizeof(asked)) &&
	    asked.rlim_cur < SN_LEAST_SIGPENDING)
		sn_sampling_spare_queue();
}

static int set(int resource, const struct rlimit *limit)
{
	sn_before_limit(0, resource, limit);
	return real_setrlimit_get()(resource, limit);
}

static int set_and_get(pid_t process, int resource, const struct rlimit *limit, struct rlimit *old)
{
	sn_before_limit(process, resource, limit);
	return real_prlimit_get()(process, resource, limit, old);
}

/* Two names for each: limits have 64 bits in both. */
int set_by_short_name(int resource, const struct rlimit *limit) __asm__("setrlimit");
int set_by_long_name(int resource, const struct rlimit *limit) __asm__("setrlimit64");
int set_and_get_by_short_name(pid_t process, int resource, const struct rlimit *limit,
			      struct rlimit *old) __asm__("prlimit");
int set_and_get_by_long_name(pid_t process, int resource, const struct rlimit *limit,
			     struct rlimit *old) __asm__("prlimit64");

SN_EXPORT int set_by_short_name(int resource, const struct rlimit *limit)
{
	return set(resource, limit);
}

SN_EXPORT int set_by_long_name(int resource, const struct rlimit *limit)
{
	return set(resource, limit);
}

SN_EXPORT int set_and_get_by_short_name(pid_t process, int resource, const struct rlimit *limit,
					struct rlimit *old)
{
	return set_and_get(process, resource, limit, old);
}

SN_EXPORT int set_and_get_by_long_name(pid_t process, int resource, const struct rlimit *limit,
				       struct rlimit *old)
{
	return set_and_get(process, resource, limit, old);
}
