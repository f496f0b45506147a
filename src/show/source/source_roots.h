/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folders from which source files may be read. The names of files come from a database, which
 * may be hostile. A file is read only if it is in the working tree or in a folder that the user
 * named, has the name of a source file, no link leads out of there, and no part of its path is
 * hidden. See docs/design/privilege.md.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sn_source_root {
	int fd;	    /* O_PATH */
	char *path; /* without links; ends with a slash */
};

/* All zeroes: none, nothing is read. */
struct sn_source_roots {
	struct sn_source_root *roots;
	size_t count, capacity;
	/* Existing files outside of all of these. */
	size_t outside_count;
	char *first_outside;
};

void sn_source_roots_release(struct sn_source_roots *roots);
/* A folder that the user named. 0, SN_ERR_IO or SN_ERR_MEMORY. */
int sn_source_roots_add(struct sn_source_roots *roots, const char *folder, struct sn_error *error);
/* Folders separated by colons; missing ones are skipped. NULL: none. */
void sn_source_roots_add_list(struct sn_source_roots *roots, const char *folders);
/* The current folder, unless it is /, and the top of its git tree, if the user owns that. Folders
 * that cannot be opened are skipped. */
void sn_source_roots_add_working_tree(struct sn_source_roots *roots);

/*
 * Opens a source file for reading; -1 if it is no source file, is not allowed or cannot be read.
 * `owner` is the database's: files that this user could not read are not opened. *bytes and
 * *changed_ns are set on success.
 */
int sn_source_roots_open(struct sn_source_roots *roots, const char *path, uid_t owner,
			 size_t *bytes, uint64_t *changed_ns);
