/* SPDX-License-Identifier: Apache-2.0 */
/* See behave.h. */
#include "behave.h"

#include <stdarg.h>

extern const struct behave_case *const __start_behave_cases[], *const __stop_behave_cases[];

void say(const char *format, ...)
{
	char text[2000];
	va_list arguments;
	va_start(arguments, format);
	int bytes = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	for (ssize_t done = 0, n; done < bytes; done += n)
		if ((n = write(STDOUT_FILENO, text + done, (size_t)(bytes - done))) <= 0)
			_exit(98);
}

void skip(const char *reason)
{
	say("skipped: %s\n", reason);
	_exit(77);
}

void behave_fail(const char *what)
{
	say("failed: %s: %s\n", what, strerror(errno));
	_exit(97);
}

uint64_t now_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void spin(void)
{
	volatile unsigned long value = 1;
	for (int round = 0; round < 50000; round++)
		value = value * 3 + 1;
}

void work(unsigned ms)
{
	/* all threads touch the same: of a thread's own there would be no room on the least stack */
	static char pages[16 << 12] __attribute__((aligned(4096)));
	uint64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000ull;
	int saved = errno;
	do {
		spin();
		madvise(pages, sizeof(pages), MADV_DONTNEED);
		for (size_t at = 0; at < sizeof(pages); at += 4096)
			((volatile char *)pages)[at] = 1;
	} while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end);
	errno = saved;
}

void pause_ns(long ns)
{
	struct timespec time = {0, ns};
	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static char state_of(pid_t process, pid_t thread)
{
	char path[64], text[512] = "";
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", process, thread);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return 0;
	ssize_t bytes = read(file, text, sizeof(text) - 1);
	close(file);
	const char *behind = bytes > 0 ? strrchr(text, ')') : NULL;
	return behind ? behind[2] : 0;
}

void until_asleep(pid_t process, pid_t thread)
{
	for (int looks = 0, asleep = 0; looks < 20000 && asleep < 4; looks++) {
		asleep = state_of(process, thread) == 'S' ? asleep + 1 : 0;
		pause_ns(300000);
	}
}

const char *own_program(void)
{
	static char path[PATH_MAX];
	if (!*path && readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		_exit(96);
	return path;
}

void become(const char *name, const char *argument)
{
	execl(own_program(), "behave", name, argument, (char *)NULL);
	_exit(127);
}

const char *ended(pid_t child)
{
	static char text[40];
	int status = 0;
	if (child < 0)
		return "never started";
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return "nobody to wait for";
	if (WIFEXITED(status))
		snprintf(text, sizeof(text), "exit %d", WEXITSTATUS(status));
	else
		snprintf(text, sizeof(text), "signal %d", WTERMSIG(status));
	return text;
}

void set_handler(int signal, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
	sigemptyset(&action.sa_mask);
	MUST(sigaction(signal, &action, NULL));
}

void set_info_handler(int signal, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = flags | SA_SIGINFO};
	sigemptyset(&action.sa_mask);
	MUST(sigaction(signal, &action, NULL));
}

sigset_t set_of(int first, ...)
{
	sigset_t set;
	sigemptyset(&set);
	va_list more;
	va_start(more, first);
	for (int signal = first; signal; signal = va_arg(more, int))
		sigaddset(&set, signal);
	va_end(more);
	return set;
}

/* ---- memory that tells who wrote below it ---- */

#define PATTERN	    0x5a
#define BELOW_BYTES (256u << 10)

struct guarded guarded_new(size_t bytes)
{
	size_t whole = (bytes + 4095) & ~(size_t)4095;
	unsigned char *memory = mmap(NULL, BELOW_BYTES + whole, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		behave_fail("mmap");
	memset(memory, PATTERN, BELOW_BYTES + whole);
	return (struct guarded){memory, memory + BELOW_BYTES + whole - bytes,
				BELOW_BYTES + whole - bytes, bytes};
}

size_t guarded_overrun(const struct guarded *memory)
{
	size_t changed = 0;
	for (size_t at = 0; at < memory->below_bytes; at++)
		changed += memory->below[at] != PATTERN;
	return changed;
}

size_t guarded_used(const struct guarded *memory)
{
	const unsigned char *end = memory->start + memory->bytes, *lowest = memory->below;
	while (lowest < end && *lowest == PATTERN)
		lowest++;
	return (size_t)(end - lowest);
}

/* ---- the program ---- */

/* What a program left open, and where a lower number than the lowest free one would come from. */
static void say_descriptors(void)
{
	char text[400] = "";
	size_t bytes = 0;
	for (int fd = 0; fd < 100; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			bytes += (size_t)snprintf(text + bytes, sizeof(text) - bytes, " %d", fd);
	say("open:%s\n", text);
}

int main(int argc, char **argv)
{
	for (const struct behave_case *const *at = __start_behave_cases; at < __stop_behave_cases;
	     at++) {
		if (argc > 1 && !strcmp(argv[1], (*at)->name)) {
			(*at)->run(argc - 2, argv + 2);
			if (!(*at)->part)
				say_descriptors();
			return 0;
		}
		if (argc == 2 && !strcmp(argv[1], "list") && !(*at)->part)
			say("%s\n", (*at)->name);
	}
	return argc == 2 && !strcmp(argv[1], "list") ? 0 : 99;
}
