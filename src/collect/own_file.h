/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A descriptor of ours on a file of ours, in a program that may close it, give its number to
 * another file, or have few to spare.
 */
#ifndef SN_COLLECT_OWN_FILE_H
#define SN_COLLECT_OWN_FILE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

struct sn_own_file {
	int fd; /* -1: none */
	dev_t device;
	ino_t inode;
	char path[4096];
};

/* The file at file->path, just made or opened as `fd`, is ours. 0 or negative errno. AS-safe: yes.
 */
int sn_own_file_adopt(struct sn_own_file *file, int fd);
/* Whether file->fd is that file still. AS-safe: yes. MT: yes. */
bool sn_own_file_is_open(const struct sn_own_file *file);
/* The same, and what is known of the file where it is. AS-safe: yes. MT: yes. */
bool sn_own_file_status(const struct sn_own_file *file, struct stat *status);
/* The same, and opens it again where it is not; false where that fails. AS-safe: yes. */
bool sn_own_file_ready(struct sn_own_file *file);
/* Closes it, if it is that file still. AS-safe: yes. */
void sn_own_file_close(struct sn_own_file *file);
/* Closes it where the program may have few. AS-safe: yes. */
void sn_own_file_let_go_if_scarce(struct sn_own_file *file);
/* HOST-PID-NOW and a suffix in the measurement folder, into file->path. 0 or negative errno.
 * AS-safe: yes. */
int sn_own_file_name(struct sn_own_file *file, unsigned long long now_ns, const char *suffix);
/* Writing beyond the program's limit of a file's size would end it by SIGXFSZ. AS-safe: yes. MT:
 * yes. */
bool sn_own_file_is_allowed(unsigned long long file_bytes);

#endif
