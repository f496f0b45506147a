/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An output folder that appears under its name whole or not at all: filled under a temporary name,
 * then renamed.
 */
#pragma once

#include "error.h"
#include "safe_path.h"

struct sn_folder {
	char *path;		   /* the requested path */
	struct sn_path place;	   /* the same, with links followed */
	int fd;			   /* the folder itself */
	char beside[NAME_MAX + 1]; /* its name until then, in place.folder */
	/* The path by which files are written into it: that of its descriptor, which is not
	 * affected by changes of names. Not for messages. */
	char temporary[PATH_MAX];
};

/*
 * Creates an empty folder beside `path`. An existing folder at `path` is replaced at the end, but
 * only if it is empty or of the same kind: it has an entry `own[0]`, and no entry that is not in
 * `own`, which ends with NULL. 0, or a negative enum sn_err; then there is nothing to close.
 */
int sn_folder_open(struct sn_folder *folder, const char *path, const char *const *own,
		   struct sn_error *error);
/* Names the folder in a message as the user did. */
void sn_folder_explain(const struct sn_folder *folder, struct sn_error *error);
/* Gives it its name; on failure removes it. Closes in any case. */
int sn_folder_commit(struct sn_folder *folder, struct sn_error *error);
/* Removes it with its contents, and closes. */
void sn_folder_abandon(struct sn_folder *folder);
