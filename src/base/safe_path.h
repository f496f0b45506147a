/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening what a name leads to where other users can change names: in a folder of theirs, or in one
 * that all may write to. docs/design/privilege.md says what is trusted and why.
 *
 * A path is walked one component at a time. A symbolic link is followed only if it is ours or
 * root's and lies in a folder in which nobody else can put it under another name. What comes out is
 * a descriptor of the folder and a name in it: names that change later lead nowhere else.
 */
#ifndef SN_BASE_SAFE_PATH_H
#define SN_BASE_SAFE_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/* Beside errno's: a link on the way is another user's, or could have been put there by one. */
#define SN_PATH_PLANTED 5000

/* A name in a folder. The name may be there or not; it is no symbolic link when it is looked at. */
struct sn_path {
	int folder; /* O_PATH, close-on-exec; -1: not open */
	char name[NAME_MAX + 1];
};

/* 0 or a negative errno, or -SN_PATH_PLANTED; then there is nothing to close. -EISDIR where the
 * path ends in no name ("/", "a/.."). A trailing slash is -ENOTDIR where there is no folder. */
int sn_path_open(struct sn_path *path, const char *text);
void sn_path_close(struct sn_path *path);
/* The folder of that name, readable. A descriptor or what sn_path_open returns. */
int sn_path_open_folder(const char *text);
/* The text of a negative result of this file. Static, or strerror's. */
const char *sn_path_explain(int result);

/* Whether it is ours or root's. */
bool sn_path_is_own(const struct stat *status);
/* Whether users other than its owner and root can give the folder entries, or take some away: a
 * sticky one keeps from them what is not theirs. */
bool sn_path_is_others_to_write(const struct stat *status);
/* Whether nobody but us, our group and root can change what the path of the folder leads to, or put
 * something there where it is missing. */
bool sn_path_is_guarded(const char *folder);

/* A name for a temporary file: PREFIX and eight characters that nobody can foresee. False where it
 * would be too long. */
bool sn_path_make_name(char name[NAME_MAX + 1], const char *prefix);
/* Removes the folder with all in it, never following a link. Goes at most 64 levels deep. */
void sn_path_remove_tree(int folder, const char *name);

#endif
