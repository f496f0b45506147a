/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The language of query.h: parsed to a list of steps, each tried once on every frame; then one pass
 * over the contexts carries along how many steps the path above has matched. Taking each step at
 * its first match is enough, because steps only ask for order.
 */
#include "query.h"

#include "show/label.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum field { FIELD_ANY, FIELD_NAME, FIELD_KIND, FIELD_LAYER, FIELD_FILE, FIELD_MODULE, FIELD_LINE };
static const char *const field_names[] = {"", "name", "kind", "layer", "file", "module", "line"};

enum { MAX_STEPS = 16, MAX_TERMS = 64 };

struct term {
	enum field field;
	unsigned step;
	char *pattern;
	uint32_t line; /* file:NAME:LINE, line:N; 0 any */
};

struct sn_query {
	bool is_negated;
	unsigned step_count, term_count;
	struct term terms[MAX_TERMS];
};

void sn_query_free(struct sn_query *query)
{
	if (!query)
		return;
	for (unsigned i = 0; i < query->term_count; i++)
		free(query->terms[i].pattern);
	free(query);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

/* Copies one word without its quotes. Returns the character after it, or NULL: a quote is open. A > that
 * closes a < of the word is of the word: <lambda>, vector<int>. */
static const char *read_word(const char *text, char *word, size_t size)
{
	size_t length = 0;
	unsigned open = 0;
	char quote = 0;
	for (; *text && (quote || (!is_blank(*text) && (open || *text != '>'))); text++) {
		if (!quote && *text == '<')
			open++;
		else if (!quote && *text == '>')
			open--;
		if (quote && *text == quote)
			quote = 0;
		else if (!quote && (*text == '"' || *text == '\''))
			quote = *text;
		else if (length + 1 < size)
			word[length++] = *text;
	}
	word[length] = '\0';
	return quote ? NULL : text;
}

static bool split_line(char *pattern, uint32_t *line)
{
	char *colon = strrchr(pattern, ':');
	if (!colon || colon == pattern || colon[1] == '\0' ||
	    colon[1 + strspn(colon + 1, "0123456789")] != '\0')
		return false;
	*line = (uint32_t)strtoul(colon + 1, NULL, 10);
	*colon = '\0';
	return true;
}

static int add_term(struct sn_query *query, char *word, struct sn_error *error)
{
	if (query->term_count == MAX_TERMS)
		return sn_fail(error, SN_ERR_ARGUMENT, "too many terms");
	struct term *term = &query->terms[query->term_count];
	*term = (struct term){.step = query->step_count};
	char *pattern = word;
	size_t prefix = strcspn(word, ":");
	for (int i = FIELD_NAME; i <= FIELD_LINE; i++) {
		if (word[prefix] == ':' && strlen(field_names[i]) == prefix &&
		    strncmp(word, field_names[i], prefix) == 0) {
			term->field = (enum field)i;
			pattern = word + prefix + 1;
		}
	}
	if (*pattern == '\0')
		return sn_fail(error, SN_ERR_ARGUMENT, "'%s' has no pattern", word);
	if (term->field == FIELD_FILE)
		split_line(pattern, &term->line);
	if (term->field == FIELD_LINE) {
		char *end;
		term->line = (uint32_t)strtoul(pattern, &end, 10);
		if (*end || term->line == 0)
			return sn_fail(error, SN_ERR_ARGUMENT, "'%s' is not a line number",
				       pattern);
	}
	term->pattern = strdup(pattern);
	if (!term->pattern)
		return sn_fail_memory(error);
	query->term_count++;
	return 0;
}

static int end_step(struct sn_query *query, struct sn_error *error)
{
	bool is_empty =
	    query->term_count == 0 || query->terms[query->term_count - 1].step != query->step_count;
	if (is_empty)
		return sn_fail(error, SN_ERR_ARGUMENT, "a pattern is missing");
	if (++query->step_count > MAX_STEPS)
		return sn_fail(error, SN_ERR_ARGUMENT, "too many steps");
	return 0;
}

static int parse(const char *text, struct sn_query *query, struct sn_error *error)
{
	char word[1024];
	while (is_blank(*text))
		text++;
	query->is_negated = *text == '!';
	text += query->is_negated;
	for (;;) {
		while (is_blank(*text))
			text++;
		int code = 0;
		if (*text == '\0')
			return end_step(query, error);
		if (*text == '>') {
			text++;
			code = end_step(query, error);
		} else {
			text = read_word(text, word, sizeof(word));
			if (!text)
				return sn_fail(error, SN_ERR_ARGUMENT, "a quote is not closed");
			code = add_term(query, word, error);
		}
		if (code != 0)
			return code;
	}
}

int sn_query_parse(const char *text, struct sn_query **query, struct sn_error *error)
{
	struct sn_query *result = calloc(1, sizeof(*result));
	if (!result)
		return sn_fail_memory(error);
	int code = parse(text, result, error);
	if (code != 0) {
		sn_query_free(result);
		return code;
	}
	*query = result;
	return 0;
}

bool sn_pattern_matches(const char *pattern, const char *text, bool is_path)
{
	if (!strpbrk(pattern, "*?["))
		return strcasestr(text, pattern) != NULL;
	if (fnmatch(pattern, text, FNM_CASEFOLD) == 0)
		return true;
	const char *slash = is_path ? strrchr(text, '/') : NULL;
	return slash && fnmatch(pattern, slash + 1, FNM_CASEFOLD) == 0;
}

static bool matches_any(const struct term *term, const struct sonde_db *db,
			const struct sonde_db_frame *frame)
{
	if (sn_pattern_matches(term->pattern, sonde_db_string(db, frame->name), false))
		return true;
	if (frame->file == SONDE_NONE)
		return false;
	char place[4200];
	const char *file = sonde_db_string(db, frame->file);
	snprintf(place, sizeof(place), "%.4096s:%u", file, frame->line);
	/* A line's number must not match as the beginning of a longer one. */
	size_t length = strlen(place), wanted = strlen(term->pattern);
	const char *colon = strrchr(term->pattern, ':');
	if (colon && colon[1] >= '0' && colon[1] <= '9')
		return length >= wanted && strcasecmp(place + length - wanted, term->pattern) == 0;
	return sn_pattern_matches(term->pattern, file, true);
}

static bool term_matches(const struct term *term, const struct sonde_db *db,
			 const struct sonde_db_frame *frame)
{
	switch (term->field) {
	case FIELD_ANY:
		return matches_any(term, db, frame);
	case FIELD_NAME:
		return sn_pattern_matches(term->pattern, sonde_db_string(db, frame->name), false);
	case FIELD_KIND:
		return fnmatch(term->pattern, sonde_frame_kind_name(frame->kind), 0) == 0;
	case FIELD_LAYER:
		return fnmatch(term->pattern, sonde_frame_kind_layer(frame->kind), 0) == 0;
	case FIELD_FILE:
		return frame->file != SONDE_NONE &&
		       (term->line == 0 || term->line == frame->line) &&
		       sn_pattern_matches(term->pattern, sonde_db_string(db, frame->file), true);
	case FIELD_MODULE:
		return frame->module != SONDE_NONE &&
		       sn_pattern_matches(term->pattern, sn_label_module(db, frame), true);
	case FIELD_LINE:
		return frame->line == term->line;
	}
	return false;
}

/* A bit for every step that the frame satisfies. */
static uint32_t steps_of_frame(const struct sn_query *query, const struct sonde_db *db,
			       const struct sonde_db_frame *frame)
{
	uint32_t failed = 0;
	for (unsigned i = 0; i < query->term_count; i++) {
		const struct term *term = &query->terms[i];
		if (!(failed & 1u << term->step) && !term_matches(term, db, frame))
			failed |= 1u << term->step;
	}
	return ~failed;
}

int sn_query_restrict(const struct sn_query *query, const struct sonde_db *db, bool *keep,
		      struct sn_error *error)
{
	uint32_t frame_count = sonde_db_frame_count(db), count = sonde_db_context_count(db);
	uint32_t *steps = malloc((frame_count + 1ull) * sizeof(*steps));
	uint8_t *progress = malloc(count + 1ull);
	int code = steps && progress ? 0 : sn_fail_memory(error);
	for (uint32_t i = 0; i < frame_count && code == 0; i++)
		steps[i] = steps_of_frame(query, db, sonde_db_frame(db, i));
	for (uint32_t i = 0; i < count && code == 0; i++) {
		const struct sonde_db_context *context = sonde_db_context(db, i);
		uint8_t above = i == 0 ? 0 : progress[context->parent];
		bool advances =
		    above < query->step_count && (steps[context->frame] & 1u << above) != 0;
		progress[i] = above + advances;
		if ((progress[i] == query->step_count) == query->is_negated)
			keep[i] = false;
	}
	free(steps);
	free(progress);
	return code;
}

int sn_query_select(const struct sn_query *const *queries, size_t count, const struct sonde_db *db,
		    bool **keep, struct sn_error *error)
{
	uint32_t contexts = sonde_db_context_count(db);
	int code = 0;
	*keep = count ? malloc(contexts + 1ull) : NULL;
	if (count && !*keep)
		return sn_fail_memory(error);
	if (count)
		memset(*keep, 1, contexts + 1ull);
	for (size_t i = 0; i < count && code == 0; i++)
		code = sn_query_restrict(queries[i], db, *keep, error);
	return code;
}
