/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text; see number.h. */
#include "number.h"

#include "base/utf8.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Below it two decimals say nothing. */
#define PLAIN_LEAST 1e-3

static const char *three_digits(double value, const char *unit, char text[SN_NUMBER_CHARS])
{
	double size = fabs(value);
	int decimals = size >= 99.95 || value == 0 ? 0 : size >= 9.995 ? 1 : 2;
	snprintf(text, SN_NUMBER_CHARS, "%.*f%.12s", decimals, value, unit);
	return text;
}

static const char *format_time(double ns, char text[SN_NUMBER_CHARS])
{
	double size = fabs(ns);
	if (size < 999.5)
		return three_digits(ns, " ns", text);
	if (size < 999.5e3)
		return three_digits(ns / 1e3, " us", text);
	if (size < 999.5e6)
		return three_digits(ns / 1e6, " ms", text);
	if (size < 600e9)
		return three_digits(ns / 1e9, " s", text);
	if (size < 7200e9)
		return three_digits(ns / 60e9, " min", text);
	return three_digits(ns / 3600e9, " h", text);
}

static const char *format_scaled(double value, double base, const char *const *units,
				 char text[SN_NUMBER_CHARS])
{
	int i = 0;
	while (fabs(value) >= base - 0.5 && units[i + 1]) {
		value /= base;
		i++;
	}
	if (i == 0 && value == floor(value)) {
		snprintf(text, SN_NUMBER_CHARS, "%.0f%s", value, units[0]);
		return text;
	}
	return three_digits(value, units[i], text);
}

/* In percent up to 1000; more as a factor. */
static const char *format_ratio(double value, char text[SN_NUMBER_CHARS])
{
	if (fabs(value) < 1000)
		return sn_number_share(value, text);
	snprintf(text, SN_NUMBER_CHARS, "%.3gx", value);
	return text;
}

const char *sn_number_format(double value, const char *unit, char text[SN_NUMBER_CHARS])
{
	static const char *const bytes[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", NULL};
	static const char *const plain[] = {"", "k", "M", "G", "T", "P", NULL};
	char above[SN_NUMBER_CHARS];
	if (!isfinite(value)) {
		snprintf(text, SN_NUMBER_CHARS, "-");
		return text;
	}
	if (strcmp(unit, "ratio") == 0)
		return value == 0 ? sn_number_share(0, text) : format_ratio(value, text);
	size_t length = strlen(unit);
	if (length > 2 && length < sizeof(above) && strcmp(unit + length - 2, "/s") == 0) {
		/* "bytes/s": as bytes are, a second */
		snprintf(above, sizeof(above), "%.*s", (int)length - 2, unit);
		sn_number_format(value, above, text);
		strncat(text, "/s", SN_NUMBER_CHARS - strlen(text) - 1);
		return text;
	}
	if (strcmp(unit, "ns") == 0)
		return format_time(value, text);
	if (strcmp(unit, "s") == 0) /* of imported metrics */
		return format_time(value * 1e9, text);
	if (strcmp(unit, "bytes") == 0)
		return format_scaled(value, 1024, bytes, text);
	if (value != 0 && fabs(value) < PLAIN_LEAST)
		snprintf(text, SN_NUMBER_CHARS, "%.3g", value);
	else
		format_scaled(value, 1000, plain, text);
	if (strcmp(unit, "1") != 0 && *unit) {
		size_t used = strlen(text);
		char shown[15];
		sn_utf8_clean(unit, shown, sizeof(shown));
		snprintf(text + used, SN_NUMBER_CHARS - used, " %s", shown);
	}
	return text;
}

const char *sn_number_count(double value, char text[SN_NUMBER_CHARS])
{
	char digits[SN_NUMBER_CHARS];
	int length = snprintf(digits, sizeof(digits), "%.0f", fabs(value) < 1e18 ? value : 1e18);
	int used = 0;
	for (int i = 0; i < length && used < SN_NUMBER_CHARS - 2; i++) {
		if (i > 0 && digits[i - 1] != '-' && (length - i) % 3 == 0)
			text[used++] = ',';
		text[used++] = digits[i];
	}
	text[used] = '\0';
	return text;
}

const char *sn_number_share(double share, char text[SN_NUMBER_CHARS])
{
	double percent = 100 * share;
	if (!isfinite(percent))
		snprintf(text, SN_NUMBER_CHARS, "-");
	else if (percent > 0 && percent < 0.05)
		snprintf(text, SN_NUMBER_CHARS, "<0.1%%");
	else
		snprintf(text, SN_NUMBER_CHARS, "%.1f%%", percent);
	return text;
}

/* Reports of data are mostly such numbers: printf would take most of their time. */
static const char *whole_number(int64_t value, char text[SN_NUMBER_CHARS])
{
	char *at = text + SN_NUMBER_CHARS - 1;
	uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
	*at = '\0';
	do {
		*--at = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	if (value < 0)
		*--at = '-';
	return memmove(text, at, (size_t)(text + SN_NUMBER_CHARS - at));
}

const char *sn_number_exact(double value, char text[SN_NUMBER_CHARS])
{
	if (!isfinite(value))
		value = 0; /* JSON has no word for it, and no metric means it */
	if (fabs(value) < 9e15 && value == floor(value))
		return whole_number((int64_t)value, text);
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, SN_NUMBER_CHARS, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	return text;
}

struct sn_number sn_number_text(double value, const char *unit)
{
	struct sn_number number;
	sn_number_format(value, unit, number.text);
	return number;
}

struct sn_number sn_number_counted(double count)
{
	struct sn_number number;
	sn_number_count(count, number.text);
	return number;
}

struct sn_number sn_number_time(double ns)
{
	struct sn_number number;
	sn_number_format(ns, "ns", number.text);
	return number;
}

struct sn_number sn_number_part(double part, double whole)
{
	struct sn_number number;
	sn_number_share(whole > 0 ? part / whole : 0, number.text);
	return number;
}
