/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of a request, which may hold tokens: from a file or the environment, as arguments are seen by all users. */
#pragma once

#include "base/arena.h"
#include "base/error.h"

struct sn_push_headers {
	const char *items[64]; /* "Name: value" */
	size_t count;
	struct sn_arena arena;
};

/* Adds the type and the coding of the body (NULL: none), the lines of `file` (NULL: none) that are neither empty nor begin with '#', and
 * SONDE_PUSH_TOKEN of the environment as a bearer's token. 0 or a negative enum sn_err; release in either case. */
int sn_push_headers_make(struct sn_push_headers *headers, const char *type, const char *coding,
			 const char *file, struct sn_error *error);
void sn_push_headers_release(struct sn_push_headers *headers);
