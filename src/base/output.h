/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An output file that appears under its name whole or not at all: written under a temporary name or
 * none, then renamed.
 *
 * A name that is not a regular file (a pipe, a terminal, /dev/null) is written directly; a block
 * device is refused, because a wrong name would destroy its contents. The folder is opened once and
 * all names are used relative to it, so that changes of names meanwhile have no effect; links that
 * other users may have planted are refused (safe_path.h). The user's own links stay, and their
 * targets are replaced.
 */
#pragma once

#include "error.h"
#include "safe_path.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sn_output {
	char *path;	      /* the requested path */
	struct sn_path place; /* the same, with links followed; not open when written directly */
	struct sn_output_named
	    *temporary;	  /* its name until it is whole; NULL when written directly */
	char *full_name;  /* the same as a path, after sn_output_name */
	bool is_nameless; /* has no name yet: no file is left if the program is killed */
	int fd;
	unsigned char *buffer;
	size_t buffered;
	uint64_t written; /* bytes given to sn_output_write so far */
	int failed;	  /* errno of the first write that failed; later ones do nothing */
};

/* 0, or a negative enum sn_err; then there is nothing to close. Opening a named pipe waits for a
 * reader. */
int sn_output_open(struct sn_output *output, const char *path, struct sn_error *error);
/* The same for a database, which only its owner may read, whatever the umask, unless `is_shared`. A
 * named pipe is refused: readers of a database need a file, so none would read from it. */
int sn_output_open_database(struct sn_output *output, const char *path, bool is_shared,
			    struct sn_error *error);
/* The result that sn_output_open_database would have now, without opening a file: for a command
 * that works long before it writes. */
int sn_output_check_database(const char *path, struct sn_error *error);
/* The name under which other processes can open the file until it is whole. Gives a nameless file a
 * name, so that it is left behind if the program is killed. NULL, with errno, if that is
 * impossible. */
const char *sn_output_name(struct sn_output *output);
/* Buffered. sn_output_commit reports a failure. */
void sn_output_write(struct sn_output *output, const void *bytes, size_t length);
/* A stream that writes to the output, to be closed before it; sn_output_commit reports failures.
 * NULL without memory. */
FILE *sn_output_stream(struct sn_output *output);
/* Writes the buffer and gives the file its name; on failure removes it. Closes in any case.
 */
int sn_output_commit(struct sn_output *output, struct sn_error *error);
/* Removes the file, and closes. */
void sn_output_abandon(struct sn_output *output);
/* Removes the temporary names of all outputs that are open, for a program that is about to end by a
 * signal. AS-safe: yes. MT: yes. */
void sn_output_tidy(void);
