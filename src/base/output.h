/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An output file that appears under its name whole or not at all: written beside, then renamed.
 *
 * A name that is not a regular file (a pipe, a terminal, /dev/null) is written directly; a block
 * device is not, as its contents are nobody's to lose by a wrong name. The folder is opened once,
 * and all names are taken in it, so that nobody who changes them meanwhile leads us elsewhere;
 * links that others may have planted are refused (safe_path.h), those that are ours stay and what
 * they lead to is replaced.
 */
#ifndef SN_BASE_OUTPUT_H
#define SN_BASE_OUTPUT_H

#include "error.h"
#include "safe_path.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sn_output {
	char *path;	      /* where it is going, as it was asked for */
	struct sn_path place; /* the same, with links followed; not open when written directly */
	struct sn_output_named *temporary; /* until then; NULL when written directly */
	char *full_name;		   /* of that, once asked for */
	bool is_nameless; /* has not got that name yet: nothing is left if the program is killed */
	int fd;
	unsigned char *buffer;
	size_t buffered;
	uint64_t written; /* bytes given to sn_output_write so far */
	int failed;	  /* errno of the first write that failed; later ones do nothing */
};

/* 0, or a negative enum sn_err; then there is nothing to close. A pipe with a name is waited for
 * until somebody reads. */
int sn_output_open(struct sn_output *output, const char *path, struct sn_error *error);
/* The same for a database, which is for its owner alone, whatever the umask, unless `is_shared`. A
 * pipe with a name is refused: who reads a database needs a file, so nobody would ever read. */
int sn_output_open_database(struct sn_output *output, const char *path, bool is_shared,
			    struct sn_error *error);
/* What that says now, without opening anything: for a command that works long before it writes. */
int sn_output_check_database(const char *path, struct sn_error *error);
/* The name under which others can open the file until it is whole. A nameless file gets one by
 * this, and is left behind if the program is killed. NULL, with errno, where it cannot have any. */
const char *sn_output_name(struct sn_output *output);
/* Buffered. A failure is remembered and reported by sn_output_commit. */
void sn_output_write(struct sn_output *output, const void *bytes, size_t length);
/* A stream that writes there, to be closed before the output is; what goes wrong is told by
 * sn_output_commit. NULL without memory. */
FILE *sn_output_stream(struct sn_output *output);
/* Writes what is buffered and gives the file its name; on failure removes it. Closes in any case.
 */
int sn_output_commit(struct sn_output *output, struct sn_error *error);
/* Removes what has been written, and closes. */
void sn_output_abandon(struct sn_output *output);
/* Removes the temporary names of all outputs that are open, for a program that is about to end by a
 * signal. AS-safe: yes. MT: yes. */
void sn_output_tidy(void);

#endif
