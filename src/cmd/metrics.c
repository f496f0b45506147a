/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics and formulas that a user asks for; see metrics.h. */
#include "metrics.h"

#include "command.h"
#include "format/database/database.h"
#include "format/database/database_append.h"
#include "format/database/database_formulas.h"

#include <string.h>

enum { MAX_NAMES = 256, MAX_ITEM = 1024 };

int sn_choice_init(struct sn_metric_choice *choice, const struct sonde_db *db)
{
	*choice = (struct sn_metric_choice){.db = db};
	return sn_formulas_init(&choice->known, db) == 0 ? 0 : sn_command_fail("out of memory");
}

void sn_choice_release(struct sn_metric_choice *choice)
{
	sn_formulas_release(&choice->known);
}

/* A byte that is not the first of its character (UTF-8). */
static bool is_rest(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* The text around a place, and below it a mark. Of a long text what is near is enough. */
static void print_mark(const char *text, size_t position)
{
	enum { BEFORE = 48, AFTER = 24 };
	size_t length = strlen(text), first = position > BEFORE + 3 ? position - BEFORE : 0;
	size_t end = length > position + AFTER + 3 ? position + AFTER : length;
	while (first && is_rest(text[first]))
		first++;
	while (end < length && is_rest(text[end]))
		end++;
	fputs(first ? "    ..." : "    ", stderr);
	for (size_t i = first; i < end; i++)
		fputc((unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i], stderr);
	fprintf(stderr, "%s\n    %s", end < length ? "..." : "", first ? "   " : "");
	for (size_t i = first; i < position && text[i]; i++)
		if (!is_rest(text[i]))
			fputc(' ', stderr);
	fputs("^\n", stderr);
}

/* A word as a message repeats it. */
struct shown {
	char text[80];
};
static struct shown show(const char *word)
{
	enum { MOST = 60 };
	struct shown shown;
	size_t length = strlen(word), end = length > MOST ? MOST - 3 : length;
	while (end < length && is_rest(word[end]))
		end--;
	snprintf(shown.text, sizeof(shown.text), "%.*s%s", (int)end, word,
		 end < length ? "..." : "");
	return shown;
}

/* Prints an error in a formula, below it the text around the place, with a mark. Returns
 * SN_EXIT_FAILED. */
static int fail_formula(const char *name, const char *text, size_t position, const char *why)
{
	sn_command_fail("formula '%s': %s", show(name).text, why);
	print_mark(text, position);
	return SN_EXIT_FAILED;
}

/* NAME=..., where the name cannot be one. "a<=b" has no name. */
static bool has_bad_name(const char *text)
{
	size_t length = strcspn(text, "=()*/^+<>!\"'");
	return text[length] == '=' && text[length + 1] != '=';
}

int sn_command_fail_definition(const char *text)
{
	size_t bad = 0;
	if (!has_bad_name(text))
		return sn_command_fail("'%s' is a formula without a name: say NAME=%s",
				       show(text).text, show(text).text);
	while (sn_formula_is_name(text, bad + 1))
		bad++;
	sn_command_fail(*text == '=' ? "a formula's name is missing before '='"
				     : "a formula's name is made of letters a-z, digits and "
				       "_ . : -, and begins with a letter");
	print_mark(text, bad);
	return SN_EXIT_FAILED;
}

/* Whether it is one that was given no name, and not a metric that does not exist. */
static bool is_formula(const struct sn_metric_choice *choice, const char *text)
{
	struct sn_formula *formula;
	struct sn_error error;
	if (sn_formula_parse(choice->db, &choice->known, "", text, &formula, NULL, &error))
		return false;
	sn_formula_free(formula);
	return true;
}

static int fail_unknown(const struct sn_metric_choice *choice, const char *word)
{
	const struct sonde_db *db = choice->db;
	const char *names[MAX_NAMES + 1] = {NULL}, *nearest;
	uint32_t count = 0, metrics = sonde_db_metric_count(db);
	char list[512] = "";
	if (has_bad_name(word) || is_formula(choice, word))
		return sn_command_fail_definition(word);
	for (uint32_t i = 0; i < metrics + choice->known.count && count < MAX_NAMES; i++)
		names[count++] = i < metrics ? sonde_db_string(db, sonde_db_metric(db, i)->name)
					     : choice->known.items[i - metrics]->name;
	nearest = sn_options_nearest(word, names);
	if (nearest)
		return sn_command_fail("metric '%s' was not measured; did you mean '%s'?",
				       show(word).text, nearest);
	for (uint32_t i = 0; i < metrics && i < count && strlen(list) < 400; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%.60s", i ? ", " : "",
			 names[i]);
	return sn_command_fail("metric '%s' was not measured; there are: %s", show(word).text,
			       list);
}

static bool has_metric(const struct sn_metric_choice *choice, uint32_t metric, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (choice->metrics[i] == metric)
			return true;
	return false;
}

static int fail_too_many(void)
{
	return sn_command_fail("more than %d metrics at once", SN_COLUMNS_MAX);
}

static int show_metric(struct sn_metric_choice *choice, uint32_t metric)
{
	if (has_metric(choice, metric, choice->metric_count))
		return 0;
	if (choice->metric_count == SN_COLUMNS_MAX)
		return fail_too_many();
	choice->metrics[choice->metric_count++] = metric;
	return 0;
}

static int show_formula(struct sn_metric_choice *choice, const struct sn_formula *formula)
{
	for (uint32_t i = 0; i < choice->formula_count; i++)
		if (choice->formulas[i] == formula)
			return 0;
	if (choice->formula_count == SN_FORMULAS_SHOWN_MAX)
		return sn_command_fail("more than %d formulas at once", SN_FORMULAS_SHOWN_MAX);
	choice->formulas[choice->formula_count++] = formula;
	return 0;
}

/* Adds NAME=FORMULA to the known formulas. */
static int define(struct sn_metric_choice *choice, const char *item, size_t name_length)
{
	char name[MAX_ITEM];
	struct sn_formula_problem problem = {0};
	struct sn_error error = {""};
	snprintf(name, sizeof(name), "%.*s", (int)name_length, item);
	const char *text = item + name_length + strspn(item + name_length, " \t") + 1;
	text += strspn(text, " \t");
	if (sonde_db_metric_by_name(choice->db, name) != SONDE_NONE)
		return sn_command_fail("formula '%s': there is a metric of that name", name);
	int code = sn_formulas_add(&choice->known, name, text, &problem, &error);
	if (code == SN_ERR_ARGUMENT)
		return fail_formula(name, text, problem.position, error.text);
	return code ? sn_command_fail("%s", error.text) : 0;
}

static int add_item(struct sn_metric_choice *choice, const char *item)
{
	size_t name_length;
	uint32_t metric = sonde_db_metric_by_name(choice->db, item);
	if (metric != SONDE_NONE)
		return show_metric(choice, metric);
	const struct sn_formula *formula = NULL;
	if (sn_formula_is_definition(item, &name_length)) {
		int code = define(choice, item, name_length);
		if (code)
			return code;
		formula = choice->known.items[choice->known.count - 1];
	} else {
		formula = sn_formulas_find(&choice->known, item);
	}
	return formula ? show_formula(choice, formula) : fail_unknown(choice, item);
}

/* The end of an item: a comma that is in no brackets and no quotes. */
static size_t item_length(const char *list)
{
	size_t length = 0;
	int open = 0;
	char quote = 0;
	for (; list[length]; length++) {
		char c = list[length];
		if (quote)
			quote = c == quote ? 0 : quote;
		else if (c == '"' || c == '\'')
			quote = c;
		else if (c == ',' && open <= 0)
			break;
		else
			open += (c == '(') - (c == ')');
	}
	return length;
}

int sn_choice_add(struct sn_metric_choice *choice, const char *list)
{
	/* a metric of another tool may have any name */
	uint32_t metric = sonde_db_metric_by_name(choice->db, list);
	if (metric != SONDE_NONE)
		return show_metric(choice, metric);
	for (const char *at = list; at;) {
		char item[MAX_ITEM];
		size_t length = item_length(at);
		if (length >= sizeof(item))
			return sn_command_fail("'--metric': longer than %d bytes", MAX_ITEM - 1);
		snprintf(item, sizeof(item), "%.*s", (int)length, at);
		int code = add_item(choice, item);
		if (code)
			return code;
		at = at[length] ? at + length + 1 : NULL;
	}
	return 0;
}

void sn_choice_add_all(struct sn_metric_choice *choice)
{
	choice->metric_count = sn_view_default_metrics(choice->db, choice->metrics, SN_COLUMNS_MAX);
	for (uint32_t i = 0; i < sonde_db_metric_count(choice->db); i++)
		if (choice->metric_count < SN_COLUMNS_MAX)
			show_metric(choice, i);
}

int sn_choice_finish(struct sn_metric_choice *choice)
{
	const struct sn_formula *first = choice->formula_count ? choice->formulas[0] : NULL;
	if (choice->metric_count == 0 && first && first->input_count > 0)
		choice->metrics[choice->metric_count++] = first->inputs[0];
	else if (choice->metric_count == 0 && first)
		choice->metric_count = sn_view_default_metrics(choice->db, choice->metrics, 1);
	uint32_t count = choice->metric_count;
	for (uint32_t f = 0; f < choice->formula_count; f++) {
		for (uint32_t i = 0; i < choice->formulas[f]->input_count; i++) {
			uint32_t metric = choice->formulas[f]->inputs[i];
			if (has_metric(choice, metric, count))
				continue;
			if (count == SN_COLUMNS_MAX)
				return fail_too_many();
			choice->metrics[count++] = metric;
		}
	}
	choice->hidden_count = count - choice->metric_count;
	return 0;
}

static int store(const struct sn_metric_choice *choice, uint32_t first, const char *path,
		 const char *name)
{
	struct sn_database_formula formulas[SN_CHOICE_LISTS_MAX];
	struct sn_buffer section = {0};
	struct sn_error error = {""};
	uint32_t count = 0;
	for (uint32_t i = first; i < choice->known.count; i++, count++)
		formulas[count] = (struct sn_database_formula){choice->known.items[i]->name,
							       choice->known.items[i]->text};
	sn_db_lay_formulas(formulas, count, &section);
	int result = sn_db_append(path, SN_DATABASE_FORMULAS, &section, &error);
	sn_buffer_release(&section);
	sn_error_rename(&error, path, name);
	return result ? sn_command_fail("%s", error.text) : 0;
}

int sn_command_store_formulas(const char *path, const char *name, const char *const *definitions,
			      size_t count)
{
	struct sonde_db *db;
	struct sn_metric_choice choice;
	int status = sn_command_open(path, &db);
	if (status)
		return status;
	status = sn_choice_init(&choice, db);
	uint32_t first = choice.known.count;
	for (size_t i = 0; i < count && status == 0; i++) {
		size_t name_length;
		if (sn_formula_is_definition(definitions[i], &name_length))
			status = define(&choice, definitions[i], name_length);
	}
	status = sn_command_close(db, status);
	if (status == 0)
		status = store(&choice, first, path, name);
	sn_choice_release(&choice);
	return status;
}
