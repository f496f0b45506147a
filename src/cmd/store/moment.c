/* SPDX-License-Identifier: Apache-2.0 */
/* Durations and dates; see moment.h. */
#include "moment.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND_NS UINT64_C(1000000000)

static uint64_t seconds_of(char unit)
{
	switch (unit) {
	case 's':
		return 1;
	case 'm':
		return 60;
	case 'h':
		return 3600;
	case 'd':
		return 86400;
	case 'w':
		return 7 * 86400;
	default:
		return 0;
	}
}

static bool read_duration(const char *text, uint64_t *duration_ns)
{
	*duration_ns = 0;
	if (!*text)
		return false;
	while (*text) {
		char *end;
		if (!isdigit((unsigned char)*text))
			return false;
		unsigned long long count = strtoull(text, &end, 10);
		uint64_t unit_ns = seconds_of(*end) * SECOND_NS;
		if (!unit_ns || count > INT64_MAX / unit_ns)
			return false;
		*duration_ns += count * unit_ns;
		if (*duration_ns > INT64_MAX)
			return false;
		text = end + 1;
	}
	return true;
}

static bool read_date(const char *text, uint64_t *time_ns)
{
	static const char *const forms[] = {"%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S",
					    "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"};
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct tm parts = {.tm_isdst = -1};
		const char *end = strptime(text, forms[i], &parts);
		bool is_utc = end && *end == 'Z';
		if (!end || end[is_utc])
			continue;
		int day = parts.tm_mday;
		time_t seconds = is_utc ? timegm(&parts) : mktime(&parts);
		/* mktime takes February 30 for March 2 */
		if (seconds < 0 || parts.tm_mday != day)
			return false;
		*time_ns = (uint64_t)seconds * SECOND_NS;
		return true;
	}
	return false;
}

bool sn_moment_read(const char *text, uint64_t now_ns, uint64_t *time_ns)
{
	uint64_t duration_ns;
	if (!read_duration(text, &duration_ns))
		return read_date(text, time_ns);
	*time_ns = duration_ns < now_ns ? now_ns - duration_ns : 0;
	return true;
}
