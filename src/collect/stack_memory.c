/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a stack in /proc/self/maps with plain system calls; see stack_memory.h. */
#include "stack_memory.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Reads "START-END rw" of each line, one byte at a time through a small buffer. */
struct reader {
	int fd;
	char buffer[4096];
	long held, place;
};

static int next_byte(struct reader *reader)
{
	if (reader->place == reader->held) {
		reader->held =
		    syscall(SYS_read, reader->fd, reader->buffer, sizeof(reader->buffer));
		reader->place = 0;
		if (reader->held <= 0)
			return -1;
	}
	return reader->buffer[reader->place++];
}

/* The hexadecimal number before the next other character, which is returned; -1 at the end. */
static int next_number(struct reader *reader, uintptr_t *number)
{
	*number = 0;
	for (;;) {
		int byte = next_byte(reader);
		if (byte >= '0' && byte <= '9')
			*number = *number << 4 | (uintptr_t)(byte - '0');
		else if (byte >= 'a' && byte <= 'f')
			*number = *number << 4 | (uintptr_t)(byte - 'a' + 10);
		else
			return byte;
	}
}

bool sn_stack_bounds_find(uintptr_t address, struct sn_stack_bounds *bounds)
{
	struct reader reader = {.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
	bool found = false;
	while (reader.fd >= 0 && !found) {
		uintptr_t start, end;
		if (next_number(&reader, &start) < 0 || next_number(&reader, &end) < 0)
			break;
		int can_read = next_byte(&reader), can_write = next_byte(&reader), byte;
		if (address >= start && address + 8 <= end && can_read == 'r' && can_write == 'w') {
			*bounds = (struct sn_stack_bounds){start, end};
			found = true;
		}
		do
			byte = next_byte(&reader);
		while (byte >= 0 && byte != '\n');
		if (byte < 0)
			break;
	}
	if (reader.fd >= 0)
		syscall(SYS_close, reader.fd);
	return found;
}
