/* SPDX-License-Identifier: Apache-2.0 */
/* Makes, checks, reopens and closes the collector's files in the measurement folder. */
#include "own_file.h"

#include "collect/core/line.h"
#include "collect/unwind/own_stack.h"
#include "own_fd.h"
#include "collect/core/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

bool sn_own_file_is_allowed(unsigned long long file_bytes)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_FSIZE, &limit) || file_bytes <= limit.rlim_cur;
}

/* ---- the folder ---- */

/* What the measurement folder was at first. */
static struct {
	bool is_known, has_device;
	dev_t device;
	ino_t inode;
	uid_t owner;
} folder;

/* SONDE_FOLDER is DEVICE:INODE:OWNER:HOST: the same folder has another device on another host. */
static bool parse_identity(const char *text)
{
	struct utsname host;
	unsigned long long numbers[3];
	for (unsigned i = 0; i < 3; i++) {
		char *end;
		numbers[i] = strtoull(text, &end, 10);
		if (end == text || *end != ':')
			return false;
		text = end + 1;
	}
	folder.is_known = true;
	folder.has_device = !uname(&host) && !strcmp(host.nodename, text);
	folder.device = numbers[0];
	folder.inode = numbers[1];
	folder.owner = (uid_t)numbers[2];
	return true;
}

/* Whether others can make or remove names in it, and the user did not ask for that. */
static bool is_others_to_write(const struct stat *status)
{
	return !sn_config.file_mode && (status->st_mode & (S_IWGRP | S_IWOTH)) &&
	       !(status->st_mode & S_ISVTX);
}

static int check_folder(int fd)
{
	struct stat status;
	if (fstat(fd, &status))
		return -errno;
	if (is_others_to_write(&status))
		return -EPERM;
	if (folder.is_known)
		return status.st_ino == folder.inode && status.st_uid == folder.owner &&
			       (!folder.has_device || status.st_dev == folder.device)
			   ? 0
			   : -ESTALE;
	if (status.st_uid != (uid_t)syscall(SYS_geteuid) && status.st_uid)
		return -EPERM;
	folder.is_known = folder.has_device = true;
	folder.device = status.st_dev;
	folder.inode = status.st_ino;
	folder.owner = status.st_uid;
	return 0;
}

/* A descriptor to be closed by close_folder, or negative errno. */
static int open_folder(void)
{
	int fd = open(sn_config.output, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int status = fd < 0 ? -errno : check_folder(fd);
	if (status && fd >= 0)
		syscall(SYS_close, fd);
	return status ? status : fd;
}

int sn_own_folder_init(void)
{
	const char *told = getenv("SONDE_FOLDER");
	if (told && *told && !parse_identity(told))
		return -EINVAL;
	int fd = open_folder();
	if (fd < 0)
		return fd;
	syscall(SYS_close, fd);
	return 0;
}

/* ---- files in it ---- */

static int name_file(struct sn_own_file *file, unsigned long long now_ns, const char *suffix)
{
	struct utsname host;
	if (uname(&host))
		return -errno;
	struct sn_line name = SN_LINE(file->name);
	for (const char *at = host.nodename; *at; at++)
		sn_line_add(&name, *at == '/' ? "_" : (char[]){*at, 0});
	sn_line_add(&name, "-");
	sn_line_add_number(&name, (uint64_t)getpid());
	sn_line_add(&name, "-");
	sn_line_add_in_base(&name, now_ns, 16);
	sn_line_add(&name, suffix);
	return 0;
}

static int adopt(struct sn_own_file *file, int fd)
{
	struct stat status;
	if (fstat(fd, &status))
		return -errno;
	file->fd = sn_own_fd_adopt(fd);
	file->device = status.st_dev;
	file->inode = status.st_ino;
	return 0;
}

static int make(int at, const char *name)
{
	int fd = (int)syscall(SYS_openat, at, name,
			      O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600);
	/* the user's umask, not what the program's may be by now */
	if (fd >= 0 && sn_config.file_mode)
		syscall(SYS_fchmod, fd, sn_config.file_mode);
	return fd < 0 ? -errno : fd;
}

int sn_own_file_create(struct sn_own_file *file, unsigned long long now_ns, const char *suffix)
{
	file->fd = -1;
	file->inode = 0;
	int status = name_file(file, now_ns, suffix);
	int at = status ? status : open_folder();
	if (at < 0)
		return at;
	int fd = make(at, file->name);
	syscall(SYS_close, at);
	status = fd < 0 ? fd : adopt(file, fd);
	if (status && fd >= 0)
		syscall(SYS_close, fd);
	return status;
}

static bool is_file(const struct sn_own_file *file, const struct stat *status)
{
	return file->inode && status->st_dev == file->device && status->st_ino == file->inode;
}

void sn_own_file_remove(struct sn_own_file *file)
{
	struct stat status;
	int at = open_folder();
	sn_own_file_close(file);
	if (at < 0)
		return;
	if (!syscall(SYS_newfstatat, at, file->name, &status, AT_SYMLINK_NOFOLLOW) &&
	    is_file(file, &status))
		syscall(SYS_unlinkat, at, file->name, 0);
	syscall(SYS_close, at);
}

bool sn_own_file_status(const struct sn_own_file *file, struct stat *status)
{
	return file->fd >= 0 && !fstat(file->fd, status) && is_file(file, status);
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

/* The name may belong to another user's file by now: opening that has no effect, and it is closed.
 * */
static bool open_again(struct sn_own_file *file)
{
	struct stat status;
	int at = file->inode ? open_folder() : -1;
	if (at < 0)
		return false;
	int fd = (int)syscall(SYS_openat, at, file->name,
			      O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	syscall(SYS_close, at);
	if (fd < 0)
		return false;
	if (!fstat(fd, &status) && is_file(file, &status) && !adopt(file, fd))
		return true;
	syscall(SYS_close, fd);
	return false;
}

struct reopening {
	struct sn_own_file *file;
	bool is_open;
};

static void reopen(void *argument)
{
	struct reopening *it = argument;
	it->is_open = open_again(it->file);
}

bool sn_own_file_ready(struct sn_own_file *file)
{
	if (sn_own_file_is_open(file))
		return true;
	if (file->fd >= 0)
		sn_own_fd_forget(file->fd);
	file->fd = -1;
	struct reopening it = {file, false};
	sn_on_own_stack(reopen, &it);
	return it.is_open;
}

void sn_own_file_let_go_if_scarce(struct sn_own_file *file)
{
	if (file->fd >= 0 && sn_own_fd_is_scarce(file->fd))
		sn_own_file_close(file);
}

/* ---- texts ---- */

int sn_own_text_leave(const char *name, const char *text, size_t length)
{
	int at = open_folder(), fd = at < 0 ? at : make(at, name);
	int status = fd < 0 ? fd : 0;
	if (fd >= 0 && (!sn_own_file_is_allowed(length) ||
			syscall(SYS_pwrite64, fd, text, length, 0) != (long)length)) {
		syscall(SYS_unlinkat, at, name, 0);
		status = -EIO;
	}
	if (fd >= 0)
		syscall(SYS_close, fd);
	if (at >= 0)
		syscall(SYS_close, at);
	return status;
}

static bool read_text(int at, const char *name, char *text, size_t bytes)
{
	int fd = (int)syscall(SYS_openat, at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	long length = syscall(SYS_pread64, fd, text, bytes, 0);
	syscall(SYS_close, fd);
	if (length < 0 || (size_t)length >= bytes)
		return false;
	text[length] = 0;
	return true;
}

bool sn_own_text_take(const char *name, char *text, size_t bytes)
{
	int at = open_folder();
	if (at < 0)
		return false;
	bool is_there = read_text(at, name, text, bytes);
	if (is_there)
		syscall(SYS_unlinkat, at, name, 0);
	syscall(SYS_close, at);
	return is_there;
}
