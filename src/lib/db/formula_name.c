/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in formulas: of metrics, formulas and functions; see formula.h.
 *
 * A name is read as the longest one that is known: "cpu-time-kernel-time" is a difference, if there
 * are no longer names.
 */
#include "formula_code.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int sn_formula_fail_at(struct sn_formula_parser *parser, const char *at, const char *format, ...)
{
	if (parser->code)
		return parser->code;
	char text[400];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (!parser->nested)
		parser->position = (size_t)(at - parser->text);
	return parser->code = sn_fail(parser->error, SN_ERR_ARGUMENT, "%s", text);
}

void sn_formula_skip_blanks(struct sn_formula_parser *parser)
{
	while (*parser->at == ' ' || *parser->at == '\t' || *parser->at == '\n')
		parser->at++;
}

bool sn_formula_is_name_start(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

bool sn_formula_is_name_part(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == ':';
}

/* Whether the names are one but for the case, and for dashes and underscores. */
static bool is_like(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		char x = *a == '-' ? '_' : (char)tolower((unsigned char)*a);
		char y = *b == '-' ? '_' : (char)tolower((unsigned char)*b);
		if (x != y)
			return false;
	}
	return *a == *b;
}

static const char *metric_name(const struct sn_formula_parser *parser, uint32_t metric)
{
	return sonde_db_string(parser->db, sonde_db_metric(parser->db, metric)->name);
}

static uint32_t find_metric(const struct sn_formula_parser *parser, const char *name)
{
	/* what the operations of devices are called in formulas that are older than the metrics */
	static const char *const others[][2] = {{"gpu_kernel", "kernel-time"},
						{"gpu_copy", "copy-time"},
						{"gpu_set", "fill-time"},
						{"gpu_sync", "sync-time"}};
	uint32_t metric = sonde_db_metric_by_name(parser->db, name);
	for (uint32_t i = 0; metric == SONDE_NONE && i < sonde_db_metric_count(parser->db); i++)
		if (is_like(metric_name(parser, i), name))
			metric = i;
	for (size_t i = 0; metric == SONDE_NONE && i < sizeof(others) / sizeof(*others); i++)
		if (is_like(others[i][0], name))
			metric = sonde_db_metric_by_name(parser->db, others[i][1]);
	return metric;
}

static uint32_t find_formula(const struct sn_formula_parser *parser, const char *name)
{
	for (uint32_t i = parser->known ? parser->known_count : 0; i-- > 0;)
		if (is_like(parser->known->items[i]->name, name))
			return i;
	return SONDE_NONE;
}

static void look_up(struct sn_formula_parser *parser, struct sn_formula_name *name)
{
	name->metric = find_metric(parser, name->text);
	name->formula = name->metric == SONDE_NONE ? find_formula(parser, name->text) : SONDE_NONE;
}

static bool is_known(const struct sn_formula_name *name)
{
	return name->metric != SONDE_NONE || name->formula != SONDE_NONE;
}

/* "cpu-time": a quote in it is doubled. */
static void read_quoted(struct sn_formula_parser *parser, struct sn_formula_name *name)
{
	char quote = *parser->at++;
	size_t length = 0;
	for (;; parser->at++) {
		if (!*parser->at) {
			sn_formula_fail_at(parser, name->start, "a quote is not closed");
			break;
		}
		if (*parser->at == quote && *++parser->at != quote)
			break;
		if (length + 1 < sizeof(name->text))
			name->text[length++] = *parser->at;
	}
	name->text[length] = '\0';
	name->is_quoted = true;
	look_up(parser, name);
}

static size_t run_length(const char *at)
{
	size_t length = 0;
	while (sn_formula_is_name_part(at[length]) ||
	       (at[length] == '-' && (sn_formula_is_name_part(at[length + 1]))))
		length++;
	return length < SN_FORMULA_NAME_BYTES ? length : SN_FORMULA_NAME_BYTES - 1;
}

static bool is_call(const struct sn_formula_parser *parser, const struct sn_formula_name *name,
		    size_t length)
{
	const char *after = parser->at + length;
	after += strspn(after, " \t\n");
	return *after == '(' && sn_formula_is_function(name->text);
}

/* The longest name that is known; else all that could be one. */
static void read_plain(struct sn_formula_parser *parser, struct sn_formula_name *name)
{
	size_t whole = run_length(parser->at);
	for (size_t length = whole; length > 0; length--) {
		if (length < whole && parser->at[length] != '-')
			continue;
		memcpy(name->text, parser->at, length);
		name->text[length] = '\0';
		look_up(parser, name);
		if (is_call(parser, name, length) || is_known(name)) {
			parser->at += length;
			return;
		}
	}
	memcpy(name->text, parser->at, whole);
	name->text[whole] = '\0';
	parser->at += whole;
}

void sn_formula_read_name(struct sn_formula_parser *parser, struct sn_formula_name *name)
{
	sn_formula_skip_blanks(parser);
	*name = (struct sn_formula_name){
	    .start = parser->at, .metric = SONDE_NONE, .formula = SONDE_NONE};
	if (*parser->at == '"' || *parser->at == '\'')
		read_quoted(parser, name);
	else if (sn_formula_is_name_start(*parser->at))
		read_plain(parser, name);
}

int sn_formula_fail_unknown(struct sn_formula_parser *parser, const struct sn_formula_name *name)
{
	char list[300] = "";
	uint32_t count = sonde_db_metric_count(parser->db);
	for (uint32_t i = 0; i < count && strlen(list) < 220; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%.40s", i ? ", " : "",
			 metric_name(parser, i));
	if (!name->text[0])
		return sn_formula_fail_at(parser, name->start, "a metric's name is missing");
	return sn_formula_fail_at(parser, name->start,
				  "'%.80s' is no metric of this database, which has %s", name->text,
				  *list ? list : "none");
}

void sn_formula_quote(const char *name, char *text, size_t size)
{
	size_t plain = sn_formula_is_name_start(*name) ? 1 : 0;
	while (plain && sn_formula_is_name_part(name[plain]))
		plain++;
	if (*name && !name[plain] && !sn_formula_is_function(name)) {
		snprintf(text, size, "%s", name);
		return;
	}
	size_t used = 0;
	for (const char *c = name; used + 4 < size && (used == 0 || *c); c++) {
		if (used == 0)
			text[used++] = '"';
		if (!*c)
			break;
		if (*c == '"')
			text[used++] = '"';
		text[used++] = *c;
	}
	text[used++] = '"';
	text[used] = '\0';
}

/* Puts the metric's own name into the plain text, instead of what stands from name->start to here.
 */
void sn_formula_copy_name(struct sn_formula_parser *parser, const struct sn_formula_name *name)
{
	if (!parser->plain)
		return;
	size_t used = strlen(parser->plain);
	snprintf(parser->plain + used, SN_FORMULA_TEXT_MAX - used, "%.*s",
		 (int)(name->start - parser->copied), parser->copied);
	used = strlen(parser->plain);
	sn_formula_quote(metric_name(parser, name->metric), parser->plain + used,
			 SN_FORMULA_TEXT_MAX - used);
	parser->copied = parser->at;
}
