/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masks secrets in command lines: the values of options, variables and parameters with names of
 * secrets (--password X, TOKEN=X, url?sig=X), passwords in URLs, words after "Bearer", and words in
 * the token formats of GitHub, AWS and others. Only the form decides: a secret without such a form
 * stays, and some harmless words are masked.
 *
 * Compiled into libsonde.so as well: it depends on nothing. docs/design/privilege.md lists the
 * rules.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What stands in place of a secret. */
#define SN_SECRET_MASK "***"

/* State from earlier arguments; zeroes before the first. */
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
