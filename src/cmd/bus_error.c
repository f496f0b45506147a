/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGBUS in a command; see command.h. Everything here runs in the signal's handler: which file
 * lies at the address is read from /proc/self/maps, without the C library's buffers or memory.
 */
#include "command.h"
#include "record/screen.h"

#include "base/output.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Longer than a path and the numbers before it. */
#define LINE_BYTES 4352

struct mapping {
	uint64_t start, end, offset;
	const char *path;
};

static char line[LINE_BYTES];

/* START-END PERMISSIONS OFFSET DEVICE INODE PATH */
static struct mapping parse(char *at)
{
	struct mapping mapping = {.start = strtoull(at, &at, 16)};
	at += *at == '-';
	mapping.end = strtoull(at, &at, 16);
	at += *at == ' ';
	at += strcspn(at, " ");
	mapping.offset = strtoull(at, &at, 16);
	mapping.path = strchr(at, '/');
	return mapping;
}

/* The next line of `fd` into `line`; false at the end. */
static bool next_line(int fd)
{
	static char buffer[4096];
	static ssize_t length, place;
	for (size_t used = 0;;) {
		if (place == length) {
			length = read(fd, buffer, sizeof(buffer));
			place = 0;
		}
		if (length <= 0)
			return false;
		char c = buffer[place++];
		if (c == '\n') {
			line[used] = 0;
			return true;
		}
		if (used < sizeof(line) - 1)
			line[used++] = c < ' ' && c >= 0 ? '?' : c;
	}
}

/* The mapped file that the address belongs to; path NULL where there is none. */
static struct mapping find(uint64_t address)
{
	struct mapping none = {.path = NULL};
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && next_line(fd)) {
		struct mapping mapping = parse(line);
		if (address >= mapping.start && address < mapping.end)
			return mapping;
	}
	return none;
}

static void say(const char *text)
{
	ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
	(void)ignored;
}

/* What else the kernel has this signal for is an error of the disk. */
static bool is_shorter(const struct mapping *mapping, uint64_t address)
{
	struct stat status;
	uint64_t at = mapping->offset + (address - mapping->start);
	return stat(mapping->path, &status) || (uint64_t)status.st_size <= at;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	static volatile sig_atomic_t is_said;
	if (is_said) /* by another thread, which is about to exit */
		for (;;)
			pause();
	is_said = 1;
	uint64_t address = (uintptr_t)info->si_addr;
	struct mapping mapping = find(address);
	if (info->si_code <= 0 || !mapping.path) {
		signal(number, SIG_DFL);
		raise(number);
		return;
	}
	sn_output_tidy();
	sn_progress_erase();
	sn_screen_leave();
	say("sonde: cannot read '");
	say(mapping.path);
	say(is_shorter(&mapping, address) ? "': it became shorter while it was read\n"
					  : "': an error of its disk\n");
	_exit(SN_EXIT_FAILED);
}

void sn_bus_error_init(void)
{
	struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
	sigaction(SIGBUS, &action, NULL);
}
