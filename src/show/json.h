/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON to a stream with commas and escapes; the caller nests correctly. Bytes that are not
 * UTF-8 become U+FFFD, or "?" where texts are shown (is_shown), so the output is always valid.
 */
#pragma once

#include "sonde/db.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sn_json {
	FILE *out;
	bool needs_comma;
	bool is_shown; /* texts in the form of sn_utf8_show */
};

void sn_json_begin(struct sn_json *json, char bracket); /* '{' or '[' */
void sn_json_end(struct sn_json *json, char bracket);	/* '}' or ']' */
void sn_json_key(struct sn_json *json, const char *key);
void sn_json_string(struct sn_json *json, const char *text); /* NULL: null */
void sn_json_number(struct sn_json *json, double value);
void sn_json_unsigned(struct sn_json *json, uint64_t value); /* exact: times since 1970 */
void sn_json_bool(struct sn_json *json, bool value);
void sn_json_null(struct sn_json *json);

/* Members of an object: the key and its value. */
void sn_json_put_text(struct sn_json *json, const char *key, const char *text); /* NULL: null */
void sn_json_put_number(struct sn_json *json, const char *key, double value);
void sn_json_put_known(struct sn_json *json, const char *key, double value); /* NAN: null */
void sn_json_put_id(struct sn_json *json, const char *key, uint32_t id);     /* SONDE_NONE: null */
void sn_json_put_unsigned(struct sn_json *json, const char *key, uint64_t value);
void sn_json_put_bool(struct sn_json *json, const char *key, bool value);
void sn_json_open(struct sn_json *json, const char *key, char bracket); /* as sn_json_begin */
/* Several texts, likewise NULL is null: sn_json_texts(json, {"host", host}, {"thread", NULL}). */
struct sn_json_keyed_text {
	const char *key, *text;
};
void sn_json_put_texts(struct sn_json *json, const struct sn_json_keyed_text *members,
		       size_t count);
#define sn_json_texts(json, ...)                                                                   \
	sn_json_put_texts(json, (const struct sn_json_keyed_text[]){__VA_ARGS__},                  \
			  sizeof((const struct sn_json_keyed_text[]){__VA_ARGS__}) /               \
			      sizeof(struct sn_json_keyed_text))
/* Several numbers: sn_json_numbers(json, {"pid", pid}, {"tid", tid}). */
struct sn_json_keyed_number {
	const char *key;
	double value;
};
void sn_json_put_numbers(struct sn_json *json, const struct sn_json_keyed_number *members,
			 size_t count);
#define sn_json_numbers(json, ...)                                                                 \
	sn_json_put_numbers(json, (const struct sn_json_keyed_number[]){__VA_ARGS__},              \
			    sizeof((const struct sn_json_keyed_number[]){__VA_ARGS__}) /           \
				sizeof(struct sn_json_keyed_number))
/* Count, sum, least, greatest, mean and deviation: a member each. */
void sn_json_put_stat(struct sn_json *json, const struct sonde_db_stat *stat);

/* The text with quotes and escapes, for writers that put commas themselves. */
void sn_json_quote(FILE *out, const char *text);
