/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A descriptor of ours on a file of ours, in a program that may close it, give its number to
 * another file, or have few to spare.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: one at a time for each file.
 */
#ifndef SN_COLLECT_OWN_FILE_H
#define SN_COLLECT_OWN_FILE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

struct sn_own_file {
	int fd; /* -1: none */
	dev_t device;
	ino_t inode;	/* 0: never made */
	char name[192]; /* in the measurement folder */
};

/* The measurement folder is opened anew for each file that is made or opened again, for the
 * program may close descriptors, change its root or its user; and each time it must be the folder
 * that it was: ours, not for others to write, of the device and inode that `sonde run` told or
 * that it had at first. Reads SONDE_FOLDER; 0 or negative errno: nothing may be written.
 * AS-safe: no. MT: once. */
int sn_own_folder_init(void);

/* Makes the new file HOST-PID-NOW and a suffix in the measurement folder, opens it, and keeps it
 * as ours. 0 or negative errno. */
int sn_own_file_create(struct sn_own_file *file, unsigned long long now_ns, const char *suffix);
/* Closes it and removes its name. */
void sn_own_file_remove(struct sn_own_file *file);
/* Whether file->fd is that file still. MT: yes. */
bool sn_own_file_is_open(const struct sn_own_file *file);
/* The same, and what is known of the file where it is. MT: yes. */
bool sn_own_file_status(const struct sn_own_file *file, struct stat *status);
/* The same, and opens it again where it is not, if its name leads to it still; false where that
 * fails. */
bool sn_own_file_ready(struct sn_own_file *file);
/* Closes it, if it is that file still. */
void sn_own_file_close(struct sn_own_file *file);
/* Closes it where the program may have few. */
void sn_own_file_let_go_if_scarce(struct sn_own_file *file);
/* Writing beyond the program's limit of a file's size would end it by SIGXFSZ. MT: yes. */
bool sn_own_file_is_allowed(unsigned long long file_bytes);

#endif
