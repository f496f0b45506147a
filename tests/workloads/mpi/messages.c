/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank of two that sends the other N messages of known sizes over a socket, and gets as many.
 *
 *	messages SOCKET RANK COUNT
 *
 * Rank 0 listens. It sends first, message i of 8 * (i + 1) bytes; rank 1 answers with twice as
 * many, every tenth time after 20 ms: rank 0 is who waits. Its calendar is wrong by WRONG_BY
 * seconds, if that is in the environment.
 */
#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "sonde/sonde.h"

static long wrong_by;

/*
 * The collector asks the kernel's own clock function, whatever clock_gettime() the program has. So
 * this program says that it is the object in which that is found, and has it.
 */
extern const char __ehdr_start[];
unsigned long getauxval(unsigned long kind)
{
	unsigned long (*real)(unsigned long) = dlsym(RTLD_NEXT, "getauxval");
	return kind == AT_SYSINFO_EHDR ? (unsigned long)__ehdr_start : real(kind);
}

int __vdso_clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = (int)syscall(SYS_clock_gettime, clock, now);
	if (!wrong_by) {
		const char *seconds = getenv("WRONG_BY");
		wrong_by = seconds ? atol(seconds) : 0;
	}
	if (!result && clock == CLOCK_REALTIME)
		now->tv_sec += wrong_by;
	return result;
}

static int connect_to(const char *path, int rank)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	if (rank) {
		while (connect(fd, (struct sockaddr *)&address, sizeof(address)))
			usleep(1000);
		return fd;
	}
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 1))
		exit(1);
	return accept(fd, NULL, NULL);
}

static char buffer[1 << 20];

static void send_to(int fd, uint32_t peer, uint64_t bytes)
{
	uint64_t begun = sonde_message_begin();
	for (uint64_t done = 0; done < bytes;) {
		ssize_t written = write(fd, buffer + done, bytes - done);
		if (written <= 0)
			exit(2);
		done += (uint64_t)written;
	}
	sonde_message_sent(begun, peer, 7, bytes);
}

static void receive_from(int fd, uint32_t peer, uint64_t bytes)
{
	uint64_t begun = sonde_message_begin();
	for (uint64_t done = 0; done < bytes;) {
		ssize_t got = read(fd, buffer + done, bytes - done);
		if (got <= 0)
			exit(3);
		done += (uint64_t)got;
	}
	sonde_message_received(begun, peer, 7, bytes);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 1;
	int rank = atoi(argv[2]), count = atoi(argv[3]), fd = connect_to(argv[1], rank);
	for (int i = 0; i < count; i++) {
		uint64_t bytes = 8u * ((uint64_t)i + 1);
		if (!rank)
			send_to(fd, 1, bytes);
		else
			receive_from(fd, 0, bytes);
		if (rank && i % 10 == 0)
			usleep(20000);
		if (rank)
			send_to(fd, 0, 2 * bytes);
		else
			receive_from(fd, 1, 2 * bytes);
	}
	close(fd);
	return 0;
}
