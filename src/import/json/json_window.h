/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a JSON text of any size through a window of bounded memory, and parses its values.
 *
 * A value is parsed at the window's begin and is in it as a whole: if the window ends within one,
 * more of the file is read and the value parsed again, once in a megabyte. Escapes are resolved
 * into a scratch buffer that lasts until sn_json_window_forget. Parsing is strict in structure, so
 * that a damaged file is noticed, and lenient in what it skips.
 */
#pragma once

#include "json_scan.h"
#include "trace_json.h"

struct sn_json_window {
	const char *path; /* as opened; not owned */
	void *file;	  /* sn_packed_file_open's; NULL: all of the text is in memory */
	char *buffer; /* its bytes begin .. end - 1 are the window; SN_JSON_SLACK zeroes follow */
	size_t begin, end, capacity;
	uint64_t consumed; /* bytes of the text before the window */
	bool is_over;
	char *scratch;
	size_t scratch_count, scratch_capacity;
};

enum sn_json_result {
	SN_JSON_DONE = 0,
	SN_JSON_SHORT = 1, /* the window ends within the value */
	SN_JSON_WRONG = 2, /* not JSON */
	SN_JSON_MEMORY = 3,
};

/* Where parsing stands in the window; `end` is its end, where a NUL is. */
struct sn_json_parse {
	struct sn_json_window *window;
	const char *at, *end;
};

/* No value is larger in a sound file; an unclosed string must not fill the memory. */
#define SN_JSON_VALUE_BYTES_MAX (64u << 20)
/* Writes the error for a larger one; returns SN_ERR_FORMAT. */
int sn_json_too_large(const char *path, uint64_t at, struct sn_error *error);

/* As sn_packed_file_read, with a line for the user; a packed file that is cut off ends there. */
int64_t sn_json_file_read(void *file, const char *path, char *bytes, size_t length,
			  struct sn_error *error);
/* The first bytes of a file, unpacked, as a string. Their number, or a negative one. */
int64_t sn_json_window_head(const char *path, char *head, size_t size);

int sn_json_window_open(struct sn_json_window *window, const char *path, struct sn_error *error);
void sn_json_window_close(struct sn_json_window *window);
/* Reads more behind what is there. 1; 0 at the end of the file; or a negative enum sn_err. */
int sn_json_window_more(struct sn_json_window *window, struct sn_error *error);
/* Texts resolved so far are no longer needed. */
void sn_json_window_forget(struct sn_json_window *window);

struct sn_json_parse sn_json_parse_begin(struct sn_json_window *window);
/* Removes the parsed text from the window. */
void sn_json_parse_end(const struct sn_json_parse *parse);

/* The next character that is no white space, left where it is; 0 at the window's end. */
static inline char sn_json_peek(struct sn_json_parse *parse)
{
	if (*parse->at == '\n') /* what is indented is so by more than a character */
		for (parse->at++; !memcmp(parse->at, "    ", 4);)
			parse->at += 4;
	while (*parse->at == ' ' || *parse->at == '\n' || *parse->at == '\t' || *parse->at == '\r')
		parse->at++;
	return *parse->at;
}

/* What is not as expected is wrong, unless the window ends there. */
static inline enum sn_json_result sn_json_wrong(const struct sn_json_parse *parse)
{
	return parse->at >= parse->end ? SN_JSON_SHORT : SN_JSON_WRONG;
}

/* Takes that character. */
static inline enum sn_json_result sn_json_expect(struct sn_json_parse *parse, char character)
{
	if (sn_json_peek(parse) != character)
		return sn_json_wrong(parse);
	parse->at++;
	return SN_JSON_DONE;
}

enum sn_json_result sn_json_text(struct sn_json_parse *parse, struct sn_json_text *text);
/* A number that begins where parsing stands; of the value its kind is set as well. */
enum sn_json_result sn_json_number_value(struct sn_json_parse *parse, struct sn_json_value *value);
/* The same where it is written as digits that an integer can hold; false for all else, and where
 * the window ends behind it, and parsing stands where it stood. */
static inline bool sn_json_whole_number(struct sn_json_parse *parse, struct sn_json_value *value)
{
	const char *begin = parse->at, *at = begin + (*begin == '-');
	unsigned digit_count;
	uint64_t digits = sn_json_digits(&at, &digit_count);
	if (!digit_count || digit_count > 19 || at >= parse->end || *at == '.' || *at == 'e' ||
	    *at == 'E')
		return false;
	value->kind = SN_JSON_INTEGER;
	value->integer = (int64_t)(*begin == '-' ? 0 - digits : digits);
	value->text = (struct sn_json_text){begin, (size_t)(at - begin)};
	parse->at = at;
	return true;
}

enum sn_json_result sn_json_value(struct sn_json_parse *parse, struct sn_json_value *value);

/*
 * Goes through the members of an object: SN_JSON_DONE with a name, whose value the caller takes
 * next; at the end name->text is NULL. `is_first` is true before the first member.
 */
enum sn_json_result sn_json_member(struct sn_json_parse *parse, bool *is_first,
				   struct sn_json_text *name);
