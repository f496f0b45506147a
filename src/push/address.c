/* SPDX-License-Identifier: Apache-2.0 */
/* What addresses http.h takes. */
#include "http.h"

#include <string.h>
#include <strings.h>

int sn_http_check(const char *url, struct sn_error *error)
{
	const char *behind = strstr(url, "://");
	if (!behind)
		return sn_fail(error, SN_ERR_ARGUMENT,
			       "'%s' is no address: it must begin with http:// or https://", url);
	size_t scheme = (size_t)(behind - url);
	bool is_http = (scheme == 4 && strncasecmp(url, "http", 4) == 0) ||
		       (scheme == 5 && strncasecmp(url, "https", 5) == 0);
	if (!is_http)
		return sn_fail(error, SN_ERR_ARGUMENT,
			       "'%.*s' is not known: an address begins with http:// or https://",
			       (int)scheme, url);
	const char *host = behind + 3;
	size_t length = strcspn(host, "/?#");
	if (memchr(host, '@', length))
		return sn_fail(error, SN_ERR_ARGUMENT,
			       "a name and a password in the address could be seen by all users: "
			       "put them in the file of --header-file");
	if (length == 0 || strpbrk(url, " \t\r\n"))
		return sn_fail(error, SN_ERR_ARGUMENT, "'%s' is no address", url);
	return 0;
}
