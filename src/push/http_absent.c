/* SPDX-License-Identifier: Apache-2.0 */
/* http.h in a build without libcurl. */
#include "http.h"

int sn_http_is_available(struct sn_error *error)
{
	return sn_fail(error, SN_ERR_UNSUPPORTED, "this build of Sonde was made without libcurl");
}

int sn_http_post(const struct sn_http_request *request, struct sn_http_answer *answer,
		 struct sn_error *error)
{
	*answer = (struct sn_http_answer){0};
	return sn_http_is_available(error);
}
