/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening paths in which other users can change names: in their folders, or in folders that all may
 * write to. docs/design/privilege.md says what is trusted and why.
 *
 * A path is walked one component at a time. A symbolic link is followed only if it belongs to the
 * user or root and is in a folder in which no other user can rename it. The result is a descriptor
 * of the folder and a name in it: later changes of names have no effect.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/* Beside errno values: a link in the path is another user's, or another user could have put it
 * there. */
#define SN_PATH_PLANTED 5000

/* A name in a folder. It may exist or not; when it was checked, it was no symbolic link. */
struct sn_path {
	int folder; /* O_PATH, close-on-exec; -1: not open */
	char name[NAME_MAX + 1];
};

/* 0 or a negative errno, or -SN_PATH_PLANTED; then there is nothing to close. -EISDIR if the path
 * does not end in a name ("/", "a/.."). A trailing slash gives -ENOTDIR if there is no folder. */
int sn_path_open(struct sn_path *path, const char *text);
void sn_path_close(struct sn_path *path);
/* Opens the folder of that name for reading. A descriptor, or an error as of sn_path_open. */
int sn_path_open_folder(const char *text);
/* The text of a negative result of this file. Static, or strerror's. */
const char *sn_path_explain(int result);

/* Whether it belongs to the user or root. */
bool sn_path_is_own(const struct stat *status);
/* Whether users other than its owner and root can add or remove entries of the folder; in a sticky
 * folder they can only change their own. */
bool sn_path_is_others_to_write(const struct stat *status);
/* Whether only the user, the user's group and root can change what the folder's path leads to, or
 * create it if it is missing. */
bool sn_path_is_guarded(const char *folder);

/* A name for a temporary file: PREFIX and eight unpredictable characters. False if it would be too
 * long. */
bool sn_path_make_name(char name[NAME_MAX + 1], const char *prefix);
/* Removes the folder with its contents, without following links, at most 64 levels deep. */
void sn_path_remove_tree(int folder, const char *name);
