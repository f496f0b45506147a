/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An output folder that appears under its name whole or not at all: filled beside, then renamed.
 */
#ifndef SN_BASE_FOLDER_H
#define SN_BASE_FOLDER_H

#include "error.h"
#include "safe_path.h"

struct sn_folder {
	char *path;		   /* where it is going, as it was asked for */
	struct sn_path place;	   /* the same, with links followed */
	int fd;			   /* the folder itself */
	char beside[NAME_MAX + 1]; /* its name until then, in place.folder */
	/* A path to write into it by: that of its descriptor, which leads nowhere else whatever
	 * others do to names. It is not for messages. */
	char temporary[PATH_MAX];
};

/*
 * Makes an empty folder beside `path`. What is at `path` already is replaced at the end, but only
 * a folder that is empty or one of the same kind: it has an entry `own[0]`, and no entry that is
 * not in `own`, which ends with NULL. 0, or a negative enum sn_err; then there is nothing to close.
 */
int sn_folder_open(struct sn_folder *folder, const char *path, const char *const *own,
		   struct sn_error *error);
/* Names the folder in a message as the user did. */
void sn_folder_explain(const struct sn_folder *folder, struct sn_error *error);
/* Gives it its name; on failure removes it. Closes in any case. */
int sn_folder_commit(struct sn_folder *folder, struct sn_error *error);
/* Removes it with what is in it, and closes. */
void sn_folder_abandon(struct sn_folder *folder);

#endif
