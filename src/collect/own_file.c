/* SPDX-License-Identifier: Apache-2.0 */
/* Files of ours in somebody else's process; see own_file.h. */
#include "own_file.h"

#include "line.h"
#include "own_fd.h"
#include "thread.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

bool sn_own_file_is_allowed(unsigned long long file_bytes)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_FSIZE, &limit) || file_bytes <= limit.rlim_cur;
}

int sn_own_file_name(struct sn_own_file *file, unsigned long long now_ns, const char *suffix)
{
	struct utsname host;
	if (uname(&host))
		return -errno;
	struct sn_line path = SN_LINE(file->path);
	sn_line_add(&path, sn_config.output);
	sn_line_add(&path, "/");
	sn_line_add(&path, host.nodename);
	sn_line_add(&path, "-");
	sn_line_add_number(&path, (uint64_t)getpid());
	sn_line_add(&path, "-");
	sn_line_add_in_base(&path, now_ns, 16);
	sn_line_add(&path, suffix);
	return 0;
}

int sn_own_file_adopt(struct sn_own_file *file, int fd)
{
	struct stat status;
	if (fd < 0 || fstat(fd, &status))
		return -errno;
	file->fd = sn_own_fd_adopt(fd);
	file->device = status.st_dev;
	file->inode = status.st_ino;
	return 0;
}

bool sn_own_file_status(const struct sn_own_file *file, struct stat *status)
{
	return file->fd >= 0 && !fstat(file->fd, status) && status->st_dev == file->device &&
	       status->st_ino == file->inode;
}

bool sn_own_file_is_open(const struct sn_own_file *file)
{
	struct stat status;
	return sn_own_file_status(file, &status);
}

void sn_own_file_close(struct sn_own_file *file)
{
	if (sn_own_file_is_open(file))
		sn_own_fd_close(file->fd);
	file->fd = -1;
}

bool sn_own_file_ready(struct sn_own_file *file)
{
	if (sn_own_file_is_open(file))
		return true;
	sn_own_fd_forget(file->fd);
	return sn_own_file_adopt(file, open(file->path, O_RDWR | O_CLOEXEC)) == 0;
}

void sn_own_file_let_go_if_scarce(struct sn_own_file *file)
{
	if (file->fd >= 0 && sn_own_fds_are_scarce())
		sn_own_file_close(file);
}
