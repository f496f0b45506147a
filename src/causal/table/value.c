/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of tables; see value.h. Most are short, and computed here from two that a double holds; strtod does the rest. */
#include "value.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MOST 19	/* that 64 bits hold */
#define TENS_MOST   22	/* the power of ten that a double holds */
#define LENGTH_MOST 128 /* of a number with commas */

const char *sn_value_trim(const char *field)
{
	while (*field == ' ')
		field++;
	char *end = (char *)field + strlen(field);
	while (end > field && end[-1] == ' ')
		*--end = 0;
	return field;
}

bool sn_value_is_missing(const char *text)
{
	static const char *const words[] = {"NA",   "N/A",  "n/a",  "nan",  "NaN", "NAN",
					    "null", "NULL", "none", "None", "-"};
	if (!*text)
		return true;
	for (size_t word = 0; *text != '-' || !text[1]; word++)
		if (word == sizeof(words) / sizeof(*words))
			break;
		else if (!strcmp(text, words[word]))
			return true;
	return false;
}

/* ---- the short way: digits, a point, an exponent ---- */

struct digits {
	uint64_t value;
	int count, tens; /* value * 10^tens */
};

static const char *read_digits(const char *at, struct digits *digits, int tens)
{
	for (; (unsigned)(*at - '0') < 10; at++) {
		digits->value = digits->value * 10 + (uint64_t)(*at - '0');
		digits->count += digits->value > 0;
		digits->tens += tens;
		if (digits->count > DIGITS_MOST - 1)
			return NULL;
	}
	return at;
}

static const char *read_exponent(const char *at, struct digits *digits)
{
	int sign = at[1] == '-' ? -1 : 1, tens = 0, count = 0;
	at += 1 + (at[1] == '-' || at[1] == '+');
	for (; (unsigned)(*at - '0') < 10 && count < 4; at++, count++)
		tens = tens * 10 + (*at - '0');
	digits->tens += sign * tens;
	return count ? at : NULL;
}

/* The product or quotient of two numbers that a double holds is rounded once, so as strtod does it (Clinger 1990). */
static bool read_short(const char *text, double *value)
{
	static const double tens[TENS_MOST + 1] = {1e0,	 1e1,  1e2,  1e3,  1e4,	 1e5,  1e6,  1e7,
						   1e8,	 1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
						   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	struct digits digits = {0};
	const char *begin = text + (*text == '-'), *at = read_digits(begin, &digits, 0);
	bool has_digits = at > begin;
	if (at && *at == '.') {
		begin = at + 1;
		at = read_digits(begin, &digits, -1);
		has_digits |= at > begin;
	}
	if (at && has_digits && (*at == 'e' || *at == 'E'))
		at = read_exponent(at, &digits);
	if (!at || *at || !has_digits || digits.value >> 53 || abs(digits.tens) > TENS_MOST)
		return false;
	double whole = (double)digits.value;
	*value = digits.tens < 0 ? whole / tens[-digits.tens] : whole * tens[digits.tens];
	*value = *text == '-' ? -*value : *value;
	return true;
}

/* ---- the long way ---- */

/* Without the commas, where there is one after each third digit of the whole part. */
static bool drop_commas(const char *text, char without[LENGTH_MOST])
{
	size_t sign = *text == '-' || *text == '+', length = strlen(text), count = 0;
	size_t whole = sign + strspn(text + sign, "0123456789,");
	const char *first = memchr(text, ',', whole);
	if (!first || first == text + sign || first > text + sign + 3 || length >= LENGTH_MOST)
		return false;
	for (size_t at = 0; at <= length; at++) {
		bool is_due = at > sign && at < whole && (whole - at) % 4 == 0;
		if (at < whole && (text[at] == ',') != is_due)
			return false;
		if (!is_due)
			without[count++] = text[at];
	}
	return true;
}

bool sn_value_number(const char *text, double *value)
{
	char *end, without[LENGTH_MOST];
	if (read_short(text, value))
		return true;
	unsigned char first = (unsigned char)*text;
	if (first > '9' && !strchr("iInN", first)) /* most names */
		return false;
	if (strchr(text, ',')) {
		if (!drop_commas(text, without))
			return false;
		text = without;
	}
	*value = strtod(text, &end);
	if (end == text || *end)
		return false;
	if (!isfinite(*value))
		*value = NAN;
	return true;
}

bool sn_value_whole(const char *text, int64_t *value)
{
	char *end;
	errno = 0;
	*value = strtoll(text, &end, 10);
	return end > text && !*end && !errno;
}

bool sn_value_triple(const char *text, double values[3])
{
	static const char marks[] = "(,,)";
	for (int i = 0; i < 3; i++) {
		char *end;
		if (*text++ != marks[i])
			return false;
		values[i] = (double)strtoull(text, &end, 10);
		if (end == text)
			return false;
		text = end;
	}
	return !strcmp(text, ")");
}
