/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose clock a trace file's times are; see trace_file.h. For libsonde.so as well: libc alone, and
 * nothing but system calls.
 */
#pragma once

#include "trace_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The calling process's. What cannot be told stays 0. AS-safe: yes. MT: yes. */
static inline void sn_trace_identify(struct sn_trace_identity *identity)
{
	char text[36];
	struct stat status;
	unsigned digits = 0;
	memset(identity->boot, 0, sizeof(identity->boot));
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t bytes = fd < 0 ? 0 : read(fd, text, sizeof(text));
	if (fd >= 0)
		syscall(SYS_close, fd);
	for (ssize_t i = 0; i < bytes && digits < 2 * sizeof(identity->boot); i++) {
		unsigned digit = (unsigned char)text[i];
		if (digit == '-')
			continue;
		digit = digit <= '9' ? digit - '0' : digit - 'a' + 10;
		identity->boot[digits / 2] = (uint8_t)(identity->boot[digits / 2] << 4 | digit);
		digits++;
	}
	identity->time_namespace = stat("/proc/self/ns/time", &status) ? 0 : status.st_ino;
}
