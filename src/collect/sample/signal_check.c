/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wraps functions that the collector must not call from a signal handler; see signal_check.h. The
 * list has functions that the C library's manual marks unsafe and that a collector is likely to
 * call: memory, locks, the loader, standard input and output, the environment, time zones.
 */
#include "signal_check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static __thread int depth __attribute__((tls_model("initial-exec")));

/* tests/cli/collect/test_signal_safety.py proves with it that the checker checks. */
static bool must_fail;

__attribute__((constructor)) static void read_setting(void)
{
	must_fail = getenv("SONDE_SIGNAL_CHECK_FAILS") != NULL;
}

void sn_signal_check_enter(void)
{
	depth++;
	if (must_fail)
		free(malloc(1));
}

void sn_signal_check_leave(void)
{
	depth--;
}

void sn_signal_check_refuse(const char *function)
{
	static const char before[] = "sonde: not async-signal-safe, called from a handler: ";
	syscall(SYS_write, 2, before, sizeof(before) - 1);
	syscall(SYS_write, 2, function, strlen(function));
	syscall(SYS_write, 2, "\n", 1);
	syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), SIGKILL);
}

void sn_signal_check_outside(const char *function)
{
	if (__builtin_expect(depth > 0, 0))
		sn_signal_check_refuse(function);
}

#define EXPORT __attribute__((visibility("default")))

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void __libc_free(void *memory);

EXPORT void *malloc(size_t bytes)
{
	sn_signal_check_outside("malloc");
	return __libc_malloc(bytes);
}

EXPORT void *calloc(size_t count, size_t bytes)
{
	sn_signal_check_outside("calloc");
	return __libc_calloc(count, bytes);
}

EXPORT void *realloc(void *memory, size_t bytes)
{
	sn_signal_check_outside("realloc");
	return __libc_realloc(memory, bytes);
}

EXPORT void free(void *memory)
{
	sn_signal_check_outside("free");
	__libc_free(memory);
}

/* The others are only looked up by name, once, outside handlers. */
#define FORWARD(result, name, parameters, arguments)                                               \
	EXPORT result name parameters                                                              \
	{                                                                                          \
		static result(*real) parameters;                                                   \
		sn_signal_check_outside(#name);                                                    \
		if (!real)                                                                         \
			real = (result(*) parameters)dlsym(RTLD_NEXT, #name);                      \
		return real arguments;                                                             \
	}

FORWARD(int, pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex))
FORWARD(FILE *, fopen, (const char *path, const char *mode), (path, mode))
FORWARD(char *, getenv, (const char *name), (name))
FORWARD(int, vsnprintf, (char *text, size_t bytes, const char *format, va_list list),
	(text, bytes, format, list))
FORWARD(int, pthread_getattr_np, (pthread_t thread, pthread_attr_t *attributes),
	(thread, attributes))

EXPORT int snprintf(char *text, size_t bytes, const char *format, ...)
{
	va_list list;
	sn_signal_check_outside("snprintf");
	va_start(list, format);
	int length = vsnprintf(text, bytes, format, list);
	va_end(list);
	return length;
}
