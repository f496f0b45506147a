/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector's system calls, as hidden functions with the C library's names: a program may
 * export clock_gettime() or getpid() of its own (libfaketime) and take a lock there, and the
 * handler would wait for ever for the thread that it interrupted. A sanitizer intercepts mmap().
 */
#include "kernel.h"

#include "collect/unwind/elf_symbol.h"
#include "unwind/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* ---- clocks ---- */

typedef int clock_function(clockid_t clock, struct timespec *now);

/* The kernel's, which reads the processor's counter without a system call; NULL: not found, or this
 * process may not read that counter. */
static _Atomic(clock_function *) clock_in_vdso;

static int look_for_vdso(struct dl_phdr_info *info, size_t bytes, void *found)
{
	struct sn_module module;
	if (!sn_elf_module_of(info, &module) || module.start != getauxval(AT_SYSINFO_EHDR))
		return 0;
	*(uintptr_t *)found = sn_elf_symbol(&module, SN_MACHINE_VDSO_CLOCK, NULL);
	return 1;
}

void sn_clock_init(void)
{
	uintptr_t found = 0;
	int counter = PR_TSC_ENABLE;
	if (!syscall(SYS_prctl, PR_GET_TSC, &counter) && counter != PR_TSC_ENABLE)
		return;
	dl_iterate_phdr(look_for_vdso, &found);
	atomic_store_explicit(&clock_in_vdso, (clock_function *)found, memory_order_relaxed);
}

void sn_clock_spare_counter(void)
{
	atomic_store_explicit(&clock_in_vdso, NULL, memory_order_relaxed);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	clock_function *quick = atomic_load_explicit(&clock_in_vdso, memory_order_relaxed);
	if (quick && (clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME))
		return quick(clock, now);
	return (int)syscall(SYS_clock_gettime, clock, now);
}

/* A function of the C library's that is nothing but a call. */
#define CALL(result, name, parameters, ...)                                                        \
	result name parameters                                                                     \
	{                                                                                          \
		return (result)syscall(__VA_ARGS__);                                               \
	}

/* ---- the process ---- */

CALL(pid_t, getpid, (void), SYS_getpid)
CALL(pid_t, getppid, (void), SYS_getppid)
CALL(int, getrlimit, (__rlimit_resource_t resource, struct rlimit *limit), SYS_prlimit64, 0,
     resource, NULL, limit)
CALL(int, getrusage, (__rusage_who_t who, struct rusage *usage), SYS_getrusage, who, usage)
CALL(int, sched_yield, (void), SYS_sched_yield)
CALL(int, uname, (struct utsname * name), SYS_uname, name)

/* ---- memory ---- */

/*
 * Our mappings lie in a span of their own, which begins PLACES_BELOW bytes below this library and
 * grows downward: the kernel places nothing there by itself. Where it places the program's
 * mappings, a program without threads may unmap an address and count on it to stay free.
 */
#define PLACES_BELOW   ((uintptr_t)256 << 30)
#define PLACES_SPAN    ((uintptr_t)64 << 30) /* then the first places come again */
#define PLACES_SKIPPED ((uintptr_t)4 << 30)  /* behind a place that is taken */
#define PLACES_TRIED   8

static _Atomic uintptr_t placed_bytes;

static void *next_place(size_t bytes)
{
	uintptr_t pages = (bytes + 4095) & ~(uintptr_t)4095;
	/* relaxed: two threads that get one place are told apart by the kernel */
	uintptr_t before = atomic_fetch_add_explicit(&placed_bytes, pages, memory_order_relaxed);
	uintptr_t first = ((uintptr_t)&placed_bytes & ~(uintptr_t)4095) - PLACES_BELOW;
	return (void *)(first - before % PLACES_SPAN - pages);
}

void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	int saved_errno = errno;
	for (int tried = 0; !address && tried < PLACES_TRIED; tried++) {
		long mapped = syscall(SYS_mmap, next_place(bytes), bytes, protection,
				      flags | MAP_FIXED_NOREPLACE, fd, offset);
		if (mapped != -1) {
			errno = saved_errno;
			return (void *)mapped;
		}
		if (errno != EEXIST)
			break;
		atomic_fetch_add_explicit(&placed_bytes, PLACES_SKIPPED, memory_order_relaxed);
	}
	return (void *)syscall(SYS_mmap, (long)address, (long)bytes, protection, flags, fd, offset);
}

CALL(int, munmap, (void *address, size_t bytes), SYS_munmap, address, bytes)
CALL(int, madvise, (void *address, size_t bytes, int advice), SYS_madvise, address, bytes, advice)

/* ---- files ---- */

int open(const char *path, int flags, ...)
{
	va_list more;
	va_start(more, flags);
	int mode = flags & O_CREAT ? va_arg(more, int) : 0;
	va_end(more);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

CALL(ssize_t, pwrite, (int fd, const void *from, size_t bytes, off_t place), SYS_pwrite64, fd, from,
     bytes, place)
CALL(int, ftruncate, (int fd, off_t bytes), SYS_ftruncate, fd, bytes)
CALL(int, fstat, (int fd, struct stat *status), SYS_newfstatat, fd, "", status, AT_EMPTY_PATH)
CALL(int, stat, (const char *path, struct stat *status), SYS_newfstatat, AT_FDCWD, path, status, 0)
CALL(ssize_t, readlink, (const char *path, char *target, size_t bytes), SYS_readlinkat, AT_FDCWD,
     path, target, bytes)
CALL(int, unlink, (const char *path), SYS_unlinkat, AT_FDCWD, path, 0)

/* Of both the last argument is one word, whatever it is. */
#define CALL_WITH_WORD(name, second, number)                                                       \
	int name(int fd, second operation, ...)                                                    \
	{                                                                                          \
		va_list last;                                                                      \
		va_start(last, operation);                                                         \
		long word = va_arg(last, long);                                                    \
		va_end(last);                                                                      \
		return (int)syscall(number, fd, operation, word);                                  \
	}
CALL_WITH_WORD(fcntl, int, SYS_fcntl)
CALL_WITH_WORD(ioctl, unsigned long, SYS_ioctl)
