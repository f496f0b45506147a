/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of a store: who may use it, and the names of the files in it.
 *
 *	current                            the epoch that is appended to
 *	20261130T232812Z-0000000042.epoch  sealed: when it began (UTC), and its id
 *	merging, starting                  files that are not yet one of these
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SN_EPOCH_CURRENT    "current"
#define SN_EPOCH_MERGING    "merging"
#define SN_EPOCH_STARTING   "starting"
#define SN_EPOCH_NAME_BYTES 64

/* Creates it if it is missing, checks that it is the user's and that no other can change names in
 * it, and locks it for the one writer. 0 and its descriptor, or a negative enum sn_err. */
int sn_epoch_folder_open_to_write(const char *path, bool group_reads, int *folder,
				  struct sn_error *error);
/* 0 and its descriptor, or a negative enum sn_err. */
int sn_epoch_folder_open_to_read(const char *path, int *folder, struct sn_error *error);

/* The name of a sealed epoch. */
void sn_epoch_name_make(char name[SN_EPOCH_NAME_BYTES], uint64_t begin_ns, uint64_t id);
/* Whether a file of that name is a sealed epoch, and its id. */
bool sn_epoch_name_read(const char *name, uint64_t *id);

struct sn_epoch_entry {
	char name[SN_EPOCH_NAME_BYTES];
	uint64_t id; /* 0 of the current one */
	ino_t inode;
};
/* All epochs, ordered by name, with the current one last. *entries is from malloc. */
int sn_epoch_folder_list(int folder, struct sn_epoch_entry **entries, size_t *count,
			 struct sn_error *error);
/* A descriptor for reading, or a negative errno. A symbolic link is not followed. */
int sn_epoch_folder_open_file(int folder, const char *name);
/* Creates a file in place of one of that name; for writing. A descriptor, or a negative errno. */
int sn_epoch_folder_create(int folder, const char *name, bool group_reads);
