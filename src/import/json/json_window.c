/* SPDX-License-Identifier: Apache-2.0 */
/* A window over a JSON file, and the parser of the values in it. */
#include "json_window.h"

#include "base/vec.h"
#include "import/core/packed_file.h"

#include <errno.h>
#include <string.h>

#define WINDOW_BYTES ((1u << 20) + SN_JSON_SLACK)
#define DEPTH_MAX    64u /* nested arrays and objects */

int64_t sn_json_file_read(void *file, const char *path, char *bytes, size_t length,
			  struct sn_error *error)
{
	const char *why = "";
	int64_t got = sn_packed_file_read(file, bytes, length, &why);
	/* the parser reports where the text was cut off */
	if (got >= 0 || got == SN_PACKED_FILE_CUT_OFF)
		return got > 0 ? got : 0;
	return sn_fail(error, SN_ERR_FORMAT, "cannot read '%s': %s", path, why);
}

int64_t sn_json_window_head(const char *path, char *head, size_t size)
{
	void *file = sn_packed_file_open(path);
	int64_t got = file ? sn_json_file_read(file, path, head, size - 1, NULL) : -1;
	sn_packed_file_close(file);
	head[got > 0 ? got : 0] = 0;
	return got;
}

int sn_json_window_open(struct sn_json_window *window, const char *path, struct sn_error *error)
{
	*window = (struct sn_json_window){.path = path, .file = sn_packed_file_open(path)};
	if (!window->file)
		return sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
	if (sn_vec_reserve_zeroed(&window->buffer, &window->capacity, WINDOW_BYTES) == 0)
		return 0;
	sn_json_window_close(window);
	return sn_fail_memory(error);
}

void sn_json_window_close(struct sn_json_window *window)
{
	sn_packed_file_close(window->file);
	free(window->buffer);
	free(window->scratch);
	*window = (struct sn_json_window){0};
}

int sn_json_too_large(const char *path, uint64_t at, struct sn_error *error)
{
	return sn_fail(error, SN_ERR_FORMAT,
		       "cannot read '%s': the value at byte %llu is larger than 64 MiB", path,
		       (unsigned long long)at);
}

/* The bytes of text for which the buffer has room. */
static size_t room(const struct sn_json_window *window)
{
	return window->capacity - SN_JSON_SLACK;
}

static int grow(struct sn_json_window *window, struct sn_error *error)
{
	if (window->end < room(window))
		return 0;
	if (room(window) >= SN_JSON_VALUE_BYTES_MAX)
		return sn_json_too_large(window->path, window->consumed, error);
	size_t wanted = 2 * room(window) + SN_JSON_SLACK;
	return sn_vec_reserve(&window->buffer, &window->capacity, wanted) < 0
		   ? sn_fail_memory(error)
		   : 0;
}

int sn_json_window_more(struct sn_json_window *window, struct sn_error *error)
{
	if (window->is_over)
		return 0;
	memmove(window->buffer, window->buffer + window->begin, window->end - window->begin);
	window->end -= window->begin;
	window->begin = 0;
	int result = grow(window, error);
	if (result)
		return result;
	int64_t got = sn_json_file_read(window->file, window->path, window->buffer + window->end,
					room(window) - window->end, error);
	if (got < 0)
		return (int)got;
	window->end += (size_t)got;
	memset(window->buffer + window->end, 0, SN_JSON_SLACK);
	window->is_over = got == 0;
	return got > 0;
}

void sn_json_window_forget(struct sn_json_window *window)
{
	window->scratch_count = 0;
}

struct sn_json_parse sn_json_parse_begin(struct sn_json_window *window)
{
	return (struct sn_json_parse){window, window->buffer + window->begin,
				      window->buffer + window->end};
}

void sn_json_parse_end(const struct sn_json_parse *parse)
{
	struct sn_json_window *window = parse->window;
	size_t taken = (size_t)(parse->at - window->buffer) - window->begin;
	window->begin += taken;
	window->consumed += taken;
}

static bool hexadecimal(const char *at, uint32_t *value)
{
	*value = 0;
	for (int i = 0; i < 4; i++) {
		char digit = at[i] | 0x20;
		if (at[i] >= '0' && at[i] <= '9')
			*value = *value << 4 | (uint32_t)(at[i] - '0');
		else if (digit >= 'a' && digit <= 'f')
			*value = *value << 4 | (uint32_t)(digit - 'a' + 10);
		else
			return false;
	}
	return true;
}

static char *put_utf8(char *to, uint32_t code)
{
	if (code < 0x80) {
		*to++ = (char)code;
	} else if (code < 0x800) {
		*to++ = (char)(0xc0 | code >> 6);
		*to++ = (char)(0x80 | (code & 0x3f));
	} else if (code < 0x10000) {
		*to++ = (char)(0xe0 | code >> 12);
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	} else {
		*to++ = (char)(0xf0 | code >> 18);
		*to++ = (char)(0x80 | (code >> 12 & 0x3f));
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
	}
	return to;
}

/* Resolves the escape whose backslash is before `at`; returns where it ends, or NULL if it is not
 * an escape. Half of a surrogate pair becomes the replacement character. */
static const char *unescape(const char *at, const char *end, char **to)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	if (*at != 'u') {
		const char *found = *at ? strchr(from, *at) : NULL;
		if (!found)
			return NULL;
		*(*to)++ = into[found - from];
		return at + 1;
	}
	uint32_t code, low;
	if (end - at < 5 || !hexadecimal(at + 1, &code))
		return NULL;
	at += 5;
	if (code >= 0xd800 && code < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u' &&
	    hexadecimal(at + 2, &low) && low >= 0xdc00 && low < 0xe000) {
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		at += 6;
	} else if (code >= 0xd800 && code < 0xe000) {
		code = 0xfffd;
	}
	*to = put_utf8(*to, code);
	return at;
}

/* Resolves the escapes of [from, end), which makes the text shorter. */
static enum sn_json_result resolve(struct sn_json_window *window, const char *from, const char *end,
				   struct sn_json_text *text)
{
	size_t length = (size_t)(end - from);
	/* the buffer must not move while earlier texts in it are in use */
	if (window->scratch_count + length > window->scratch_capacity) {
		if (window->scratch_count)
			return SN_JSON_MEMORY;
		if (sn_vec_reserve(&window->scratch, &window->scratch_capacity, length) < 0)
			return SN_JSON_MEMORY;
	}
	char *begin = window->scratch + window->scratch_count, *to = begin;
	while (from < end) {
		if (*from != '\\') {
			*to++ = *from++;
			continue;
		}
		from = unescape(from + 1, end, &to);
		if (!from)
			return SN_JSON_WRONG;
	}
	window->scratch_count += (size_t)(to - begin);
	*text = (struct sn_json_text){begin, (size_t)(to - begin)};
	return SN_JSON_DONE;
}

/* Skips a string from behind its opening quote to behind its closing one. SN_JSON_SHORT without a
 * closing quote. */
static inline enum sn_json_result skip_text(struct sn_json_parse *parse, bool *has_escapes)
{
	const char *at = sn_json_special(parse->at, parse->end);
	*has_escapes = false;
	while (at < parse->end && *at == '\\') {
		*has_escapes = true;
		if (parse->end - at < 2)
			return SN_JSON_SHORT;
		at = sn_json_special(at + 2, parse->end);
	}
	if (at >= parse->end)
		return SN_JSON_SHORT;
	parse->at = at + 1;
	return SN_JSON_DONE;
}

enum sn_json_result sn_json_text(struct sn_json_parse *parse, struct sn_json_text *text)
{
	enum sn_json_result result = sn_json_expect(parse, '"');
	if (result)
		return result;
	bool has_escapes;
	const char *begin = parse->at;
	if (skip_text(parse, &has_escapes))
		return SN_JSON_SHORT;
	const char *quote = parse->at - 1;
	if (has_escapes)
		return resolve(parse->window, begin, quote, text);
	*text = (struct sn_json_text){begin, (size_t)(quote - begin)};
	return SN_JSON_DONE;
}

/* Skips to the end of an array or object, from `depth` levels inside it, one
 * character at a time. */
static enum sn_json_result skip_slowly(struct sn_json_parse *parse, unsigned depth)
{
	do {
		switch (*parse->at++) {
		case '"': {
			bool has_escapes;
			if (skip_text(parse, &has_escapes))
				return SN_JSON_SHORT;
			break;
		}
		case '[':
		case '{':
			if (++depth > DEPTH_MAX)
				return SN_JSON_WRONG;
			break;
		case ']':
		case '}':
			depth--;
			break;
		case 0:
			return parse->at > parse->end ? SN_JSON_SHORT : SN_JSON_WRONG;
		}
	} while (depth);
	return SN_JSON_DONE;
}

/*
 * The same from its begin, sixteen bytes at a time. Whether a bracket is inside a string follows
 * from the parity of the quotes before it, as in simdjson (Langdale and Lemire, Parsing Gigabytes
 * of JSON per Second, VLDB Journal 2019, section 3.1). At a backslash, or near the window's end,
 * skip_slowly does the rest.
 */
static enum sn_json_result skip(struct sn_json_parse *parse)
{
	unsigned depth = 0, carried = 0; /* all bits set while inside a string */
	bool has_escapes;
	for (;; parse->at += 16) {
		struct sn_json_bits bits = sn_json_bits(parse->at);
		if (bits.odd)
			break;
		unsigned inside = sn_json_inside(bits.quotes) ^ carried;
		unsigned brackets = (bits.opening | bits.closing) & ~inside;
		carried = inside >> 15 ? 0xffff : 0;
		for (; brackets; brackets &= brackets - 1) {
			unsigned place = (unsigned)__builtin_ctz(brackets);
			depth = bits.opening >> place & 1 ? depth + 1 : depth - 1;
			if (depth && depth <= DEPTH_MAX)
				continue;
			parse->at += place + 1;
			return depth ? SN_JSON_WRONG : SN_JSON_DONE;
		}
	}
	if (carried && skip_text(parse, &has_escapes))
		return SN_JSON_SHORT;
	return skip_slowly(parse, depth);
}

/* Skips an array or object; *text is all of it, with its brackets. */
static enum sn_json_result skip_nested(struct sn_json_parse *parse, struct sn_json_text *text)
{
	const char *begin = parse->at;
	enum sn_json_result result = skip(parse);
	*text = (struct sn_json_text){begin, (size_t)(parse->at - begin)};
	return result;
}

static double power_of_ten(unsigned exponent)
{
	static const double powers[] = {1e0,  1e1,  1e2,  1e3,	1e4,  1e5,  1e6,  1e7,
					1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
					1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	return powers[exponent];
}

/* A number of up to 15 digits is exact after one division; others are converted by
 * the C library. */
double sn_json_real(struct sn_json_text text)
{
	const char *at = text.text, *end = at + text.length;
	uint64_t digits = 0;
	unsigned digit_count = 0, fraction_count = 0;
	at += at < end && *at == '-';
	for (; at < end && *at >= '0' && *at <= '9'; at++, digit_count++)
		digits = 10 * digits + (uint64_t)(*at - '0');
	if (at < end && *at == '.')
		for (at++; at < end && *at >= '0' && *at <= '9'; at++, digit_count++)
			digits = 10 * digits + (uint64_t)(*at - '0'), fraction_count++;
	if (at < end || digit_count > 15)
		return strtod(text.text, NULL); /* strtod stops where the number ends */
	double value = (double)digits / power_of_ten(fraction_count);
	return *text.text == '-' ? -value : value;
}

enum sn_json_result sn_json_number_value(struct sn_json_parse *parse, struct sn_json_value *value)
{
	const char *begin = parse->at, *at = begin;
	unsigned digit_count;
	bool is_whole = true;
	at += *at == '-';
	uint64_t digits = sn_json_digits(&at, &digit_count);
	if (*at == '.') {
		is_whole = false;
		for (at++; *at >= '0' && *at <= '9';)
			at++;
	}
	if (*at == 'e' || *at == 'E') {
		is_whole = false;
		at += at[1] == '+' || at[1] == '-' ? 2 : 1;
		while (*at >= '0' && *at <= '9')
			at++;
	}
	parse->at = at;
	if (at >= parse->end)
		return SN_JSON_SHORT;
	if (!digit_count)
		return SN_JSON_WRONG;
	value->text = (struct sn_json_text){begin, (size_t)(at - begin)};
	/* an integer of 19 digits may be exact */
	value->kind = is_whole && digit_count <= 19 ? SN_JSON_INTEGER : SN_JSON_REAL;
	value->integer = (int64_t)(*begin == '-' ? 0 - digits : digits);
	return SN_JSON_DONE;
}

/* true, false, null, and the words that Python's json writes for NaN and infinities. */
static enum sn_json_result word(struct sn_json_parse *parse, struct sn_json_value *value)
{
	static const struct {
		const char *text;
		enum sn_json_kind kind;
		int integer;
	} words[] = {{"true", SN_JSON_BOOL, 1},	    {"false", SN_JSON_BOOL, 0},
		     {"null", SN_JSON_NONE, 0},	    {"NaN", SN_JSON_NONE, 0},
		     {"Infinity", SN_JSON_NONE, 0}, {"-Infinity", SN_JSON_NONE, 0}};
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t length = strlen(words[i].text), left = (size_t)(parse->end - parse->at);
		if (left < length && !memcmp(parse->at, words[i].text, left))
			return SN_JSON_SHORT;
		if (left < length || memcmp(parse->at, words[i].text, length))
			continue;
		value->kind = words[i].kind;
		value->integer = words[i].integer;
		parse->at += length;
		return SN_JSON_DONE;
	}
	return SN_JSON_WRONG;
}

enum sn_json_result sn_json_value(struct sn_json_parse *parse, struct sn_json_value *value)
{
	char first = sn_json_peek(parse);
	value->kind = SN_JSON_NONE;
	value->text = (struct sn_json_text){NULL, 0};
	if (first == '"') {
		value->kind = SN_JSON_TEXT;
		return sn_json_text(parse, &value->text);
	}
	if (first == '[' || first == '{') {
		value->kind = SN_JSON_OTHER;
		return skip_nested(parse, &value->text);
	}
	if ((first >= '0' && first <= '9') || (first == '-' && parse->at[1] != 'I'))
		return sn_json_number_value(parse, value);
	return parse->at >= parse->end ? SN_JSON_SHORT : word(parse, value);
}

enum sn_json_result sn_json_member(struct sn_json_parse *parse, bool *is_first,
				   struct sn_json_text *name)
{
	enum sn_json_result result;
	name->text = NULL;
	if (sn_json_peek(parse) == '}') {
		parse->at++;
		return SN_JSON_DONE;
	}
	if (!*is_first && (result = sn_json_expect(parse, ',')))
		return result;
	*is_first = false;
	if ((result = sn_json_text(parse, name)))
		return result;
	return sn_json_expect(parse, ':');
}
