/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits. If a user has no room left for pending signals (RLIMIT_SIGPENDING) the kernel sends SIGIO
 * instead of a perf event's signal, and SIGIO may be the program's. So perf's signals end before
 * the program lowers that limit.
 */
#include "intercept.h"
#include "collect/sample/program_memory.h"
#include "collect/sample/sample.h"

#include <sys/resource.h>
#include <unistd.h>

SN_REAL(int, setrlimit, (int, const struct rlimit *))
SN_REAL(int, prlimit, (pid_t, int, const struct rlimit *, struct rlimit *))

void sn_before_limit(pid_t process, int resource, const void *limit)
{
	struct rlimit asked;
	if (resource == RLIMIT_SIGPENDING && limit && sn_measuring() && sn_is_measured_process() &&
	    (!process || process == getpid()) && sn_program_read(limit, &asked, sizeof(asked)) &&
	    asked.rlim_cur < SN_LEAST_SIGPENDING)
		sn_sampling_spare_queue();
}

/* A function that sets a limit, by both of its names: limits have 64 bits in both. */
#define SETS(name, symbol, real, parameters, arguments, process, resource, limit)                  \
	SN_REPLACES(symbol, int, name, parameters)                                                 \
	{                                                                                          \
		sn_before_limit(process, resource, limit);                                         \
		return real arguments;                                                             \
	}
#define SETS_OWN(name, symbol)                                                                     \
	SETS(name, symbol, real_setrlimit_get(), (int resource, const struct rlimit *limit),       \
	     (resource, limit), 0, resource, limit)
#define SETS_ANY(name, symbol)                                                                     \
	SETS(name, symbol, real_prlimit_get(),                                                     \
	     (pid_t process, int resource, const struct rlimit *limit, struct rlimit *old),        \
	     (process, resource, limit, old), process, resource, limit)
SETS_OWN(set_by_short_name, "setrlimit")
SETS_OWN(set_by_long_name, "setrlimit64")
SETS_ANY(set_and_get_by_short_name, "prlimit")
SETS_ANY(set_and_get_by_long_name, "prlimit64")
