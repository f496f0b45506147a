/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines without what is secret in them: the values of options, variables and parameters
 * that are called like secrets (--password X, TOKEN=X, url?sig=X), passwords in URLs, what follows
 * "Bearer", and words of the forms that GitHub, AWS and others give their tokens. It is found by
 * its look alone: what has none stays, and some that is harmless goes.
 *
 * Compiled into libsonde.so as well: it depends on nothing. docs/design/privilege.md lists the
 * rules.
 */
#ifndef SN_FORMAT_SECRET_H
#define SN_FORMAT_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* What stands in place of a secret. */
#define SN_SECRET_MASK "***"

/* What arguments have said of those that follow; zeroes before the first. */
struct sn_secrets {
	bool is_next;	     /* the next one is a secret */
	const char *letters; /* the options of the program named last that take one; NULL: none */
};

/*
 * Writes `argument`, one of a command in their order, masked, into `masked`, cut where it is full
 * and always terminated. One with blanks in it may be a command line itself, as that of `sh -c`.
 * AS-safe: yes. MT: yes.
 */
void sn_secret_mask(struct sn_secrets *secrets, const char *argument, char *masked, size_t bytes);

/* The same of a whole command line as text, with quotes or without. */
void sn_secret_mask_line(const char *line, char *masked, size_t bytes);

#endif
