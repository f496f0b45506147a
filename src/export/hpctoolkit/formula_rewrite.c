/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A formula's text in other names: copied, but for names, which are replaced, and accessors, which
 * move to the metric they are of: count(total(m)) is total(count(m)). What was rewritten once stays
 * as it is when it is rewritten again.
 */
#include "formula_rewrite.h"

#include "lib/db/formula_code.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { BRACKETS_MAX = 200, FORMULAS_MAX = 100 };

/* What holds inside a bracket. */
struct bracket {
	const char *accessor; /* "count" of the metric that follows, or "" */
	bool is_across;	      /* of the profiles' sums, which stay what they are */
	bool is_accessor;     /* the bracket itself is not copied */
};

struct rewriting {
	struct sn_formula_parser parser;
	const struct sn_formula_rename *renames;
	struct bracket brackets[BRACKETS_MAX];
	unsigned depth, formulas;
	char *out;
	size_t size, used;
	struct sn_error *error;
};

static int refuse(struct rewriting *rewriting, const char *why)
{
	return sn_fail(rewriting->error, SN_ERR_UNSUPPORTED, "%s", why);
}

static int put(struct rewriting *rewriting, const char *text, size_t length)
{
	if (length >= rewriting->size - rewriting->used)
		return refuse(rewriting, "it would be too long");
	memcpy(rewriting->out + rewriting->used, text, length);
	rewriting->used += length;
	rewriting->out[rewriting->used] = '\0';
	return 0;
}

static int put_text(struct rewriting *rewriting, const char *text)
{
	return put(rewriting, text, strlen(text));
}

static int put_metric(struct rewriting *rewriting, uint32_t metric)
{
	const struct sn_formula_rename *rename = rewriting->renames + metric;
	const struct bracket *in = rewriting->brackets + rewriting->depth;
	char sum[2 * SN_FORMULA_NAME_BYTES], count[2 * SN_FORMULA_NAME_BYTES],
	    text[5 * SN_FORMULA_NAME_BYTES];
	if (!rename->sum)
		return refuse(rewriting, "it needs a metric that is left out");
	sn_formula_quote(rename->sum, sum, sizeof(sum));
	bool is_plain = in->is_across || !rename->count || !*in->accessor;
	if (is_plain && *in->accessor) {
		snprintf(text, sizeof(text), "%s(%s)", in->accessor, sum);
	} else if (is_plain) {
		snprintf(text, sizeof(text), "%s", sum);
	} else {
		sn_formula_quote(rename->count, count, sizeof(count));
		if (strcmp(in->accessor, "count") == 0)
			snprintf(text, sizeof(text), "%s", count);
		else if (strcmp(in->accessor, "mean") == 0)
			snprintf(text, sizeof(text), "(%s/%s)", sum, count);
		else
			return refuse(rewriting, "single values are added up, and their least, "
						 "greatest and deviation with them");
	}
	return put_text(rewriting, text);
}

/* min(a, b) compares numbers, min(a) is of a metric's values. */
static bool has_comma(const char *at)
{
	int open = 1;
	char quote = 0;
	for (; *at && open > 0; at++) {
		if (quote)
			quote = *at == quote ? 0 : quote;
		else if (*at == '"' || *at == '\'')
			quote = *at;
		else if (*at == ',' && open == 1)
			return true;
		else
			open += (*at == '(') - (*at == ')');
	}
	return false;
}

/* The accessor that a function is of the metric in its bracket; NULL: it is none. */
static const char *accessor_of(const char *function, const char *arguments)
{
	static const char *const accessors[][2] = {
	    {"sum", ""},    {"count", "count"}, {"mean", "mean"}, {"avg", "mean"},
	    {"dev", "dev"}, {"stddev", "dev"},	{"min", "min"},	  {"max", "max"}};
	for (size_t i = 0; i < sizeof(accessors) / sizeof(*accessors); i++) {
		bool is_extreme = i >= 6;
		if (strcasecmp(accessors[i][0], function) == 0)
			return is_extreme && has_comma(arguments) ? NULL : accessors[i][1];
	}
	return NULL;
}

static bool is_one_of(const char *name, const char *const *names)
{
	while (*names && strcasecmp(*names, name) != 0)
		names++;
	return *names;
}

static int open_bracket(struct rewriting *rewriting, const char *function)
{
	static const char *const across[] = {"across",	  "ranks",    "cv",
					     "imbalance", "profiles", NULL};
	struct sn_formula_parser *parser = &rewriting->parser;
	sn_formula_skip_blanks(parser);
	parser->at++; /* the bracket */
	if (rewriting->depth + 1 == BRACKETS_MAX)
		return refuse(rewriting, "it has too many brackets");
	if (strcasecmp(function, "duration") == 0)
		return refuse(rewriting, "how long the program ran is not told");
	const struct bracket *outer = rewriting->brackets + rewriting->depth++;
	struct bracket *inner = rewriting->brackets + rewriting->depth;
	const char *accessor = accessor_of(function, parser->at);
	*inner = (struct bracket){accessor ? accessor : outer->accessor,
				  outer->is_across || is_one_of(function, across), accessor};
	if (accessor)
		return 0;
	int code = put_text(rewriting, function);
	return code ? code : put_text(rewriting, "(");
}

static int rewrite(struct rewriting *rewriting);

/* A formula's text in place of its name. */
static int put_formula(struct rewriting *rewriting, uint32_t number)
{
	struct sn_formula_parser saved = rewriting->parser;
	const char *text = rewriting->parser.known->items[number]->text;
	if (++rewriting->formulas > FORMULAS_MAX)
		return refuse(rewriting, "it is made of too many formulas");
	rewriting->parser.text = rewriting->parser.at = text;
	rewriting->parser.known_count = number;
	int code = put_text(rewriting, "(");
	if (!code)
		code = rewrite(rewriting);
	rewriting->parser = saved;
	return code ? code : put_text(rewriting, ")");
}

static int rewrite_name(struct rewriting *rewriting)
{
	struct sn_formula_parser *parser = &rewriting->parser;
	struct sn_formula_name name;
	sn_formula_read_name(parser, &name);
	const char *after = parser->at + strspn(parser->at, " \t\n");
	if (!name.is_quoted && *after == '(' && sn_formula_is_function(name.text))
		return open_bracket(rewriting, name.text);
	if (name.metric != SONDE_NONE)
		return put_metric(rewriting, name.metric);
	if (name.formula != SONDE_NONE)
		return put_formula(rewriting, name.formula);
	return refuse(rewriting, "it cannot be read");
}

/* Metrics may have other units there, which numbers with units would not follow. */
static int rewrite_number(struct rewriting *rewriting)
{
	struct sn_formula_parser *parser = &rewriting->parser;
	const char *start = parser->at;
	char *end;
	strtod(start, &end);
	if (*end && strchr("kMGT", *end) && !isalpha((unsigned char)end[1]))
		end++;
	if (isalpha((unsigned char)*end))
		return refuse(rewriting, "it has a number with a unit");
	parser->at = end;
	return put(rewriting, start, (size_t)(end - start));
}

static int rewrite(struct rewriting *rewriting)
{
	struct sn_formula_parser *parser = &rewriting->parser;
	unsigned outermost = rewriting->depth;
	int code = 0;
	while (*parser->at && !code) {
		char c = *parser->at;
		bool is_fraction = c == '.' && isdigit((unsigned char)parser->at[1]);
		if (sn_formula_is_name_start(c) || c == '"' || c == '\'') {
			code = rewrite_name(rewriting);
		} else if (isdigit((unsigned char)c) || is_fraction) {
			code = rewrite_number(rewriting);
		} else if (c == '(') {
			code = open_bracket(rewriting, "");
		} else {
			parser->at++;
			if (c == ')' && rewriting->depth == outermost)
				return refuse(rewriting, "it cannot be read");
			bool is_left_out =
			    c == ')' && rewriting->brackets[rewriting->depth--].is_accessor;
			if (!is_left_out)
				code = put(rewriting, c == '\n' ? " " : &c, 1);
		}
	}
	return code;
}

int sn_formula_rewrite(const struct sn_formulas *known, uint32_t number,
		       const struct sn_formula_rename *renames, char *text, size_t size,
		       struct sn_error *error)
{
	struct rewriting *rewriting = calloc(1, sizeof(*rewriting));
	if (!rewriting)
		return sn_fail_memory(error);
	const char *from = known->items[number]->text;
	*rewriting = (struct rewriting){.parser = {.db = known->db,
						   .known = known,
						   .known_count = number,
						   .text = from,
						   .at = from},
					.renames = renames,
					.brackets = {{.accessor = ""}},
					.out = text,
					.size = size,
					.error = error};
	*text = '\0';
	int code = rewrite(rewriting);
	free(rewriting);
	return code;
}
