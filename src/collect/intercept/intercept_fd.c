/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors. A program that closes all descriptors that it did not open would close the
 * collector's; the wrappers report these as not open.
 */
#include "intercept.h"
#include "collect/record/own_fd.h"
#include "collect/sample/sample_signal.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

SN_REAL(int, close, (int))
SN_REAL(int, setsockopt, (int, int, int, const void *, socklen_t))
SN_REAL(int, close_range, (unsigned, unsigned, int))
SN_REAL(int, dup2, (int, int))
SN_REAL(int, dup3, (int, int, int))

#define HIGHEST_OWN_FD 65535u

static _Atomic bool lingers; /* some socket of the program does, maybe */

SN_EXPORT int setsockopt(int fd, int level, int option, const void *value, socklen_t bytes)
{
	if (level == SOL_SOCKET && option == SO_LINGER)
		atomic_store_explicit(&lingers, true, memory_order_relaxed);
	return real_setsockopt_get()(fd, level, option, value, bytes);
}

SN_EXPORT int close(int fd)
{
	if (sn_own_fd_is_hidden(fd)) {
		errno = EBADF;
		return -1;
	}
	/* a close that lingers gives up when a signal comes */
	uint64_t held =
	    atomic_load_explicit(&lingers, memory_order_relaxed) ? sn_samples_hold() : 0;
	int status = real_close_get()(fd);
	sn_samples_release(held);
	return status;
}

/* Closes a range in pieces, around our descriptors. */
static int close_around(unsigned first, unsigned last, int flags)
{
	unsigned from = first;
	for (unsigned fd = first; fd <= last && fd <= HIGHEST_OWN_FD; fd++) {
		if (!sn_own_fd_is_hidden((int)fd))
			continue;
		if (fd > from && real_close_range_get()(from, fd - 1, flags))
			return -1;
		from = fd + 1;
	}
	return from > last ? 0 : real_close_range_get()(from, last, flags);
}

SN_EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	if (first > last || !sn_measuring())
		return real_close_range_get()(first, last, flags);
	return close_around(first, last, flags);
}

SN_EXPORT void closefrom(int first)
{
	unsigned from = first < 0 ? 0 : (unsigned)first;
	if (!close_around(from, UINT_MAX, 0))
		return;
	/* a kernel without close_range */
	for (unsigned fd = from; fd <= HIGHEST_OWN_FD; fd++)
		close((int)fd);
}

/* The program takes a number of ours: it gets it, and we lose what was there. */
SN_EXPORT int dup2(int fd, int number)
{
	int result = real_dup2_get()(fd, number);
	if (result >= 0 && fd != number)
		sn_own_fd_forget(number);
	return result;
}

SN_EXPORT int dup3(int fd, int number, int flags)
{
	int result = real_dup3_get()(fd, number, flags);
	if (result >= 0)
		sn_own_fd_forget(number);
	return result;
}
