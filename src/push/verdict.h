/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a request, by how the server answered or failed to. */
#pragma once

#include "base/error.h"
#include "http.h"

enum sn_push_fate {
	SN_PUSH_DONE,	  /* the server has taken it */
	SN_PUSH_REJECTED, /* it never will: the next one may fare better */
	SN_PUSH_LATER,	  /* it has not, but may: try again */
	SN_PUSH_REFUSED, /* it takes none, until somebody changes an address or a token: try again, but seldom */
	SN_PUSH_UNSURE, /* the request may have arrived, or not */
};

struct sn_push_verdict {
	enum sn_push_fate fate;
	unsigned status;	/* of the answer; 0: none came */
	unsigned retry_seconds; /* what the server asked for; 0 nothing */
	struct sn_error why;	/* unless it is done */
};

/* `result` and `error` are those of sn_http_post. OpenTelemetry's rules for OTLP, which stores of pprof follow as well: 429, 502, 503
 * and 504 ask for another try, other 4xx rule it out; a 500 may be of the moment, too. */
struct sn_push_verdict sn_push_judge(int result, const struct sn_http_answer *answer,
				     const struct sn_error *error);
