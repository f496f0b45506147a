/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One POST over HTTP or HTTPS, by libcurl, which is loaded when it is first needed. Redirections are not followed: a header with a
 * token would go where nobody meant it to.
 *
 * Whether a request has arrived matters to whoever must not send it twice. The last byte of the body is held back until the
 * caller has noted that the request may arrive from then on: a server does not take a body that is not whole.
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"

#include <stdint.h>

struct sn_http_request {
	const char *url;
	const char *const *headers; /* "Name: value" */
	size_t header_count;
	const void *body;
	size_t bytes;	     /* at least 1 */
	unsigned seconds;    /* after which it is given up */
	const char *ca_file; /* authorities to trust, PEM; NULL: the system's */
	/* Called before the last byte leaves; not 0: it must not. May be NULL. */
	int (*before_end)(void *context);
	void *context;
	/* Whether to give up now; asked several times a second until the last byte leaves. May be NULL. */
	bool (*is_unwanted)(void *context);
};

struct sn_http_answer {
	unsigned status;	/* 0: none came */
	bool may_have_arrived;	/* the last byte had left */
	unsigned retry_seconds; /* what Retry-After asked for; 0 nothing */
	char location[512];	/* where it was redirected to; "" nowhere */
	struct sn_buffer body;	/* its begin, at most 64 KiB; to be released */
};

/* Whether it is "http://HOST..." or "https://HOST..." without a name and a password, which others would see. 0 or
 * SN_ERR_ARGUMENT. */
int sn_http_check(const char *url, struct sn_error *error);
/* 0 if there is a libcurl, or SN_ERR_UNSUPPORTED. */
int sn_http_is_available(struct sn_error *error);
/* 0 if the server has answered, whatever it said. SN_ERR_IO: the text says why it has not. SN_ERR_UNSUPPORTED: there is no
 * libcurl. The answer is to be released in any case. */
int sn_http_post(const struct sn_http_request *request, struct sn_http_answer *answer,
		 struct sn_error *error);
