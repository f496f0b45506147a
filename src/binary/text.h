/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing text with a bound, for the demanglers: what exceeds the bound or memory sets `failed`
 * and is dropped, so that writers need no check of their own.
 */
#ifndef SN_BINARY_TEXT_H
#define SN_BINARY_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SN_TEXT_BYTES_MAX (1u << 20)

struct sn_text {
	char *data; /* ends with NUL once anything was added */
	size_t length;
	size_t capacity;
	bool failed;
};

static inline void sn_text_add(struct sn_text *text, const char *data, size_t length)
{
	if (text->failed)
		return;
	if (length >= SN_TEXT_BYTES_MAX - text->length) {
		text->failed = true;
		return;
	}
	if (text->length + length + 1 > text->capacity) {
		size_t capacity = (text->length + length + 1) * 2;
		char *grown = realloc(text->data, capacity);
		if (!grown) {
			text->failed = true;
			return;
		}
		text->data = grown;
		text->capacity = capacity;
	}
	if (length > 0)
		memcpy(text->data + text->length, data, length);
	text->length += length;
	text->data[text->length] = '\0';
}

static inline void sn_text_string(struct sn_text *text, const char *string)
{
	sn_text_add(text, string, strlen(string));
}

static inline void sn_text_char(struct sn_text *text, char c)
{
	sn_text_add(text, &c, 1);
}

static inline void sn_text_cut(struct sn_text *text, size_t length)
{
	if (length < text->length) {
		text->length = length;
		text->data[length] = '\0';
	}
}

/* The text, now the caller's to free; NULL if it failed or nothing was added. */
static inline char *sn_text_take(struct sn_text *text)
{
	char *data = text->data;
	if (text->failed || text->length == 0) {
		free(data);
		data = NULL;
	}
	*text = (struct sn_text){0};
	return data;
}

#endif
