/* SPDX-License-Identifier: Apache-2.0 */
/* See verdict.h. */
#include "verdict.h"

#include <stdio.h>
#include <string.h>

static enum sn_push_fate fate_of(unsigned status)
{
	switch (status) {
	case 401: /* who are you */
	case 403:
	case 404: /* there is nothing at that address */
	case 405:
	case 407:
		return SN_PUSH_REFUSED;
	case 408:
	case 429:
		return SN_PUSH_LATER;
	default:
		if (status >= 200 && status < 300)
			return SN_PUSH_DONE;
		if (status >= 300 && status < 400)
			return SN_PUSH_REFUSED;
		return status >= 500 ? SN_PUSH_LATER : SN_PUSH_REJECTED;
	}
}

/* The first line of an answer that is a text; OTLP's answers are messages of protobuf. */
static void put_said(const struct sn_http_answer *answer, char *text, size_t size)
{
	size_t length = 0;
	while (length < answer->body.count && length + 1 < size && length < 200 &&
	       answer->body.bytes[length] >= ' ' && answer->body.bytes[length] < 127)
		length++;
	bool is_text = length == answer->body.count ||
		       (length < answer->body.count && answer->body.bytes[length] == '\n');
	snprintf(text, size, "%s%.*s", is_text && length ? ": " : "", is_text ? (int)length : 0,
		 (const char *)answer->body.bytes);
}

struct sn_push_verdict sn_push_judge(int result, const struct sn_http_answer *answer,
				     const struct sn_error *error)
{
	char said[256] = "";
	struct sn_push_verdict verdict = {.status = answer->status,
					  .retry_seconds = answer->retry_seconds};
	if (result) {
		verdict.fate = answer->may_have_arrived ? SN_PUSH_UNSURE : SN_PUSH_LATER;
		verdict.why = *error;
		return verdict;
	}
	verdict.fate = fate_of(answer->status);
	if (answer->body.bytes)
		put_said(answer, said, sizeof(said));
	if (*answer->location)
		sn_fail(&verdict.why, SN_ERR_IO, "the server answers %u: it is at '%s' now",
			answer->status, answer->location);
	else if (verdict.fate != SN_PUSH_DONE)
		sn_fail(&verdict.why, SN_ERR_IO, "the server answers %u%s", answer->status, said);
	return verdict;
}
