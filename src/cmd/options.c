/* SPDX-License-Identifier: Apache-2.0 */
/* Options and failures, for all commands; see command.h. */
#include "command.h"

#include "base/error.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file's name or a foreign text may hold anything; a message is one line of visible characters.
 */
static void print_line(const char *hint, const char *format, va_list arguments)
{
	char text[2048];
	vsnprintf(text, sizeof(text), format, arguments);
	sn_one_line(text);
	fflush(stdout);
	flockfile(stderr);
	sn_progress_erase();
	fprintf(stderr, "sonde: %s%s\n", text, hint);
	funlockfile(stderr);
}

int sn_command_fail(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	print_line("", format, arguments);
	va_end(arguments);
	return SN_EXIT_FAILED;
}

int sn_command_misuse(const struct sn_command *command, const char *format, ...)
{
	char hint[80];
	snprintf(hint, sizeof(hint), " (see 'sonde %s%s-h')", command ? command->name : "",
		 command ? " " : "");
	va_list arguments;
	va_start(arguments, format);
	print_line(hint, format, arguments);
	va_end(arguments);
	return SN_EXIT_USAGE;
}

void sn_command_help(const struct sn_command *command, FILE *out)
{
	struct sn_style style = sn_terminal_style(out);
	fprintf(out, "%ssonde %s%s - %s\n\n", style.bold, command->name, style.plain,
		command->summary);
	for (const char *line = command->usage; *line;) {
		size_t length = strcspn(line, "\n");
		bool is_heading = isupper((unsigned char)*line);
		fprintf(out, "%s%.*s%s\n", is_heading ? style.bold : "", (int)length, line,
			is_heading ? style.plain : "");
		line += length + (line[length] == '\n');
	}
}

static size_t smallest(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;
	return least < c ? least : c;
}

/* Levenshtein's distance; words here are short. */
static size_t distance_between(const char *a, const char *b)
{
	size_t row[65], length = strlen(b);
	if (length > 64 || strlen(a) > 64)
		return SIZE_MAX;
	for (size_t j = 0; j <= length; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t diagonal = row[0];
		row[0] = i + 1;
		for (size_t j = 0; j < length; j++) {
			size_t above = row[j + 1];
			row[j + 1] = smallest(above + 1, row[j] + 1, diagonal + (a[i] != b[j]));
			diagonal = above;
		}
	}
	return row[length];
}

const char *sn_options_nearest(const char *word, const char *const *candidates)
{
	const char *nearest = NULL;
	size_t length = strlen(word), least = length < 3 ? 1 : length / 3 + 1;
	for (; *candidates; candidates++) {
		size_t distance = distance_between(word, *candidates);
		if (length >= 3 && strncmp(word, *candidates, length) == 0)
			distance = 0;
		if (distance < least || (distance == least && !nearest)) {
			least = distance;
			nearest = *candidates;
		}
	}
	return nearest;
}

int sn_options_unknown(const struct sn_command *command, const char *what, const char *word,
		       const char *const *names)
{
	const char *nearest = sn_options_nearest(word, names);
	if (!nearest)
		return sn_command_misuse(command, "unknown %s%s'", what, word);
	return sn_command_misuse(command, "unknown %s%s'; did you mean '%s%s'?", what, word,
				 strchr(what, '\'') + 1, nearest);
}

static int misuse_unknown_long(const struct sn_options *options, const struct option *known,
			       const char *word)
{
	const char *names[64] = {NULL};
	char name[65];
	size_t length = strcspn(word + 2, "="), matches = 0;
	snprintf(name, sizeof(name), "%.*s", (int)(length < 64 ? length : 64), word + 2);
	for (size_t count = 0; known->name && count < 63; known++) {
		names[count++] = known->name;
		matches += length > 0 && strncmp(known->name, name, length) == 0;
	}
	if (matches > 1)
		return sn_command_misuse(options->command, "option '--%s' is ambiguous", name);
	return sn_options_unknown(options->command, "option '--", name, names);
}

/* getopt_long has returned '?' or ':'; says what is wrong with argv[optind - 1]. */
static int misuse_option(const struct sn_options *options, const struct option *known, int code)
{
	const struct sn_command *command = options->command;
	const char *word = options->argv[optind - 1];
	bool is_long = strncmp(word, "--", 2) == 0;
	if (code == ':' && is_long)
		return sn_command_misuse(command, "option '%s' needs a value", word);
	if (code == ':')
		return sn_command_misuse(command, "option '-%c' needs a value", optopt);
	if (is_long && optopt != 0)
		return sn_command_misuse(command, "option '%.*s' takes no value",
					 (int)strcspn(word, "="), word);
	if (optopt != 0)
		return sn_command_misuse(command, "unknown option '-%c'", optopt);
	return misuse_unknown_long(options, known, word);
}

static void join(const char *const *words, char *list, size_t size)
{
	size_t used = 0;
	for (int i = 0; words[i] && used < size; i++)
		used += (size_t)snprintf(list + used, size - used, "%s%s", i ? ", " : "", words[i]);
}

/* What of the choices it is; -1 after having explained the mistake. */
static int choose(const struct sn_options *options, const char *option, const char *text,
		  const char *const *choices)
{
	char list[1024];
	for (int i = 0; choices[i]; i++)
		if (strcmp(choices[i], text) == 0)
			return i;
	join(choices, list, sizeof(list));
	sn_options_refuse(options, option, text, "none of %s", list);
	return -1;
}

/* A list with commas, all of whose words are choices. */
static int parse_list(const struct sn_options *options, const struct sn_option *wanted,
		      const char *text)
{
	char list[1024];
	*wanted->list = text ? text : wanted->implied;
	for (const char *item = text; item; item = *item ? item + 1 : NULL) {
		size_t length = strcspn(item, ",");
		const char *const *word = wanted->choices;
		while (*word && (strlen(*word) != length || strncmp(item, *word, length) != 0))
			word++;
		join(wanted->choices, list, sizeof(list));
		if (!*word)
			return sn_command_misuse(options->command, "'%.*s' is %s (%s)", (int)length,
						 item, wanted->wrong, list);
		item += length;
	}
	return 0;
}

int sn_options_number(const struct sn_options *options, const char *option, const char *text,
		      double min, double max, double *value)
{
	char *end;
	errno = 0;
	*value = strtod(text, &end);
	bool is_number = end != text && !*end && !errno && isfinite(*value);
	return is_number && *value >= min && *value <= max
		   ? 0
		   : sn_options_refuse(options, option, text, "not a number from %.10g to %.10g",
				       min, max);
}

double sn_options_bytes(const char *text)
{
	static const char suffixes[] = "KMGT";
	char *end;
	double number = strtod(text, &end);
	const char *suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
	for (const char *at = suffixes; suffix && at <= suffix; at++)
		number *= 1024;
	bool is_whole = suffix ? !end[1] : !*end;
	return end != text && is_whole && number >= 0 && number < 1e18 ? number : -1;
}

static int parse_memory(const struct sn_options *options, const char *option, const char *text,
			const struct sn_option *wanted)
{
	double bytes = sn_options_bytes(text), least = wanted->least;
	bool is_mib = least >= 1 << 20;
	*wanted->memory = (uint64_t)(bytes < 0 ? 0 : bytes);
	if (bytes >= least)
		return 0;
	if (bytes >= 1)
		return sn_options_refuse(options, option, text, "less than %u%c",
					 (unsigned)least >> (is_mib ? 20 : 10), is_mib ? 'M' : 'K');
	return sn_options_refuse(options, option, text, "no amount of memory, such as 800M or 2G");
}

static int parse_number(const struct sn_options *options, const char *option, const char *text,
			const struct sn_option *wanted)
{
	double number;
	if (sn_options_number(options, option, text, wanted->least, wanted->most, &number))
		return SN_EXIT_USAGE;
	/* little endian, as all we support */
	uint64_t whole = (uint64_t)(number * (wanted->unit > 0 ? wanted->unit : 1));
	if (wanted->number)
		*wanted->number = number;
	else
		memcpy(wanted->whole, &whole, wanted->whole_bytes);
	return 0;
}

static int add_text(const struct sn_options *options, const char *option, const char *text,
		    const struct sn_option *wanted)
{
	struct sn_texts *texts = wanted->texts;
	if (texts->count >= wanted->most)
		return sn_command_misuse(options->command, "more than %.0f times '%s'",
					 wanted->most, option);
	texts->items[texts->count++] = text;
	return 0;
}

/* 0, or the status to exit with. */
static int parse_option(const struct sn_options *options, const struct sn_option *wanted,
			const char *text)
{
	char option[64];
	if (wanted->letter)
		snprintf(option, sizeof(option), "-%c", wanted->letter);
	else
		snprintf(option, sizeof(option), "--%s", wanted->name);
	int status = wanted->parse ? wanted->parse(wanted->context, options, text) : 0;
	if (status)
		return status;
	if (wanted->list)
		return parse_list(options, wanted, text);
	if (wanted->memory)
		return parse_memory(options, option, text, wanted);
	if (wanted->number || wanted->whole)
		return parse_number(options, option, text, wanted);
	if (wanted->texts)
		return add_text(options, option, text, wanted);
	int choice = wanted->choices ? choose(options, option, text, wanted->choices) : 0;
	if (wanted->flag)
		*wanted->flag = true;
	if (wanted->choice)
		*wanted->choice = choice;
	if (wanted->text)
		*wanted->text = text;
	return choice < 0 ? SN_EXIT_USAGE : 0;
}

/* What getopt_long knows of the table: long options by their position, letters as they are. */
enum { LONG = 256, MAX_OPTIONS = 40 };

static void prepare(const struct sn_options *options, const struct sn_option *table,
		    struct option known[MAX_OPTIONS], char letters[3 * MAX_OPTIONS])
{
	size_t count = 0;
	letters += sprintf(letters, "%s:h", options->is_ordered ? "+" : "");
	for (; table[count].name && count + 2 < MAX_OPTIONS; count++) {
		const struct sn_option *one = table + count;
		int has_text = one->flag	  ? no_argument
			       : one->is_optional ? optional_argument
						  : required_argument;
		known[count] = (struct option){one->name, has_text, NULL, LONG + (int)count};
		if (one->letter)
			letters += sprintf(letters, "%c%s", one->letter, one->flag ? "" : ":");
	}
	known[count] = (struct option){"help", no_argument, NULL, 'h'};
	known[count + 1] = (struct option){0};
}

bool sn_options_read(struct sn_options *options, const struct sn_option *table)
{
	struct option known[MAX_OPTIONS];
	char letters[3 * MAX_OPTIONS];
	if (sn_is_completing()) {
		sn_complete_options(options, table);
		options->status = SN_EXIT_DONE;
		return false;
	}
	prepare(options, table, known, letters);
	optind = 0;
	opterr = 0;
	for (int code;
	     (code = getopt_long(options->argc, options->argv, letters, known, NULL)) != -1;) {
		const struct sn_option *one = table + (code >= LONG ? code - LONG : 0);
		if (code == 'h') {
			sn_command_help(options->command, stdout);
			options->status = SN_EXIT_DONE;
			return false;
		}
		if (code == '?' || code == ':') {
			options->status = misuse_option(options, known, code);
			return false;
		}
		while (code < LONG && one->letter != code)
			one++;
		options->status = parse_option(options, one, optarg);
		if (options->status)
			return false;
	}
	return true;
}

const char *sn_options_operand(const struct sn_options *options, const char *what)
{
	if (optind >= options->argc) {
		sn_command_misuse(options->command, "missing %s", what);
		return NULL;
	}
	if (optind + 1 < options->argc) {
		sn_command_misuse(options->command, "one %s only: '%s' is too much", what,
				  options->argv[optind + 1]);
		return NULL;
	}
	return options->argv[optind];
}
