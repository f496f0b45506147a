/* SPDX-License-Identifier: Apache-2.0 */
/* Opens tracefs and reads tracepoint formats from it. */
#include "tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_fsopen
#define SYS_fsopen   430
#define SYS_fsconfig 431
#define SYS_fsmount  432
#endif

/* By number, because the names in libc exist since 2.36 only and collide with <sys/mount.h>. */
enum { CLOSE_ON_EXEC = 1, CONFIG_CREATE = 6 };

static int mount_for_us(void)
{
	int context = (int)syscall(SYS_fsopen, "tracefs", CLOSE_ON_EXEC), folder = -1;
	if (context < 0)
		return -1;
	if (!syscall(SYS_fsconfig, context, CONFIG_CREATE, NULL, NULL, 0))
		folder = (int)syscall(SYS_fsmount, context, CLOSE_ON_EXEC, 0);
	close(context);
	return folder;
}

int sn_tracefs_open(struct sn_error *error)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	bool is_forbidden = false;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		int folder = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (folder >= 0 && !faccessat(folder, "events", X_OK, 0))
			return folder;
		is_forbidden |= errno == EACCES || errno == EPERM;
		if (folder >= 0)
			close(folder);
	}
	int folder = mount_for_us();
	if (folder >= 0 && !faccessat(folder, "events", X_OK, 0))
		return folder;
	if (folder >= 0)
		close(folder);
	if (is_forbidden)
		return sn_fail(error, SN_ERR_IO, "tracefs may not be read by this user");
	return sn_fail(error, SN_ERR_MISSING, "tracefs is not mounted");
}

int sn_tracefs_tracepoint(int tracefs, const char *path, struct sn_tracepoint *tracepoint,
			  struct sn_error *error)
{
	char name[128], text[16384];
	size_t length = 0;
	snprintf(name, sizeof(name), "events/%s/format", path);
	int file = openat(tracefs, name, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return sn_fail(error, errno == ENOENT ? SN_ERR_MISSING : SN_ERR_IO, "'%s': %s",
			       path, strerror(errno));
	for (ssize_t got;
	     length < sizeof(text) && (got = read(file, text + length, sizeof(text) - length)) > 0;)
		length += (size_t)got;
	close(file);
	return sn_tracepoint_parse(text, length, tracepoint, error);
}
