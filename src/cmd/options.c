/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options, failures and the terminal, for all commands; see command.h.
 */
#include "command.h"

#include "base/error.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A file's name or a foreign text may hold anything; a message is one line of visible characters.
 */
static void print_line(const char *hint, const char *format, va_list arguments)
{
	char text[2048];
	vsnprintf(text, sizeof(text), format, arguments);
	sn_one_line(text);
	fflush(stdout);
	fprintf(stderr, "sonde: %s%s\n", text, hint);
}

int sn_command_fail(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	print_line("", format, arguments);
	va_end(arguments);
	return SN_EXIT_FAILED;
}

void sn_command_warn(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	print_line("", format, arguments);
	va_end(arguments);
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
	const char *bold = sn_terminal_has_color(out) ? "\033[1m" : "";
	const char *plain = *bold ? "\033[0m" : "";
	fprintf(out, "%ssonde %s%s - %s\n\n", bold, command->name, plain, command->summary);
	for (const char *line = command->usage; *line;) {
		size_t length = strcspn(line, "\n");
		bool is_heading = isupper((unsigned char)*line);
		fprintf(out, "%s%.*s%s\n", is_heading ? bold : "", (int)length, line,
			is_heading ? plain : "");
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

static int misuse_unknown_long(const struct sn_options *options, const struct option *known,
			       const char *word)
{
	const char *names[64];
	size_t count = 0;
	for (; known->name && count < 63; known++)
		names[count++] = known->name;
	names[count] = NULL;
	char name[65];
	size_t length = strcspn(word + 2, "=");
	snprintf(name, sizeof(name), "%.*s", (int)(length < 64 ? length : 64), word + 2);
	size_t matches = 0;
	for (size_t i = 0; i < count; i++)
		matches += length > 0 && strncmp(names[i], name, length) == 0;
	if (matches > 1)
		return sn_command_misuse(options->command, "option '--%s' is ambiguous", name);
	const char *nearest = sn_options_nearest(name, names);
	if (nearest)
		return sn_command_misuse(
		    options->command, "unknown option '--%s'; did you mean '--%s'?", name, nearest);
	return sn_command_misuse(options->command, "unknown option '--%s'", name);
}

/* getopt_long has returned '?' or ':'; says what is wrong with argv[optind - 1]. */
static int misuse_option(const struct sn_options *options, const struct option *known, int code)
{
	const char *word = options->argv[optind - 1];
	bool is_long = strncmp(word, "--", 2) == 0;
	if (code == ':') {
		if (is_long)
			return sn_command_misuse(options->command, "option '%s' needs a value",
						 word);
		return sn_command_misuse(options->command, "option '-%c' needs a value", optopt);
	}
	if (is_long && optopt != 0)
		return sn_command_misuse(options->command, "option '%.*s' takes no value",
					 (int)strcspn(word, "="), word);
	if (optopt != 0)
		return sn_command_misuse(options->command, "unknown option '-%c'", optopt);
	return misuse_unknown_long(options, known, word);
}

/* What of the choices it is; -1 after having explained the mistake. */
static int choose(const struct sn_options *options, const char *option, const char *text,
		  const char *const *choices)
{
	char list[1024] = "";
	for (int i = 0; choices[i]; i++) {
		if (strcmp(choices[i], text) == 0)
			return i;
		size_t used = strlen(list);
		snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", choices[i]);
	}
	sn_command_misuse(options->command, "option '%s': '%s' is none of %s", option, text, list);
	return -1;
}

int sn_options_number(const struct sn_options *options, const char *option, const char *text,
		      double min, double max, double *value)
{
	char *end;
	errno = 0;
	double number = strtod(text, &end);
	if (end == text || *end != '\0' || errno != 0 || !isfinite(number) || number < min ||
	    number > max) {
		sn_command_misuse(options->command,
				  "option '%s': '%s' is not a number from %.10g to %.10g", option,
				  text, min, max);
		return -1;
	}
	*value = number;
	return 0;
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

static int take_memory(const struct sn_options *options, const char *option, const char *text,
		       double least, uint64_t *memory)
{
	double bytes = sn_options_bytes(text);
	bool is_mib = least >= 1 << 20;
	if (bytes >= least) {
		*memory = (uint64_t)bytes;
		return 0;
	}
	if (bytes >= 1)
		sn_command_misuse(options->command, "option '%s': '%s' is less than %u%c", option,
				  text, (unsigned)least >> (is_mib ? 20 : 10), is_mib ? 'M' : 'K');
	else
		sn_command_misuse(options->command,
				  "option '%s': '%s' is no amount of memory, such as 800M or 2G",
				  option, text);
	return -1;
}

int sn_options_check_list(const char *list, const char *const *words, const char **wrong)
{
	for (const char *item = list;; item++) {
		size_t length = strcspn(item, ",");
		const char *const *word = words;
		while (*word && (strlen(*word) != length || strncmp(item, *word, length) != 0))
			word++;
		*wrong = item;
		if (!*word)
			return -1;
		item += length;
		if (!*item)
			return 0;
	}
}

static int take_number(const struct sn_options *options, const char *option, const char *text,
		       const struct sn_option *wanted)
{
	double number;
	if (sn_options_number(options, option, text, wanted->least, wanted->most, &number) < 0)
		return -1;
	if (wanted->number) {
		*wanted->number = number;
		return 0;
	}
	/* little endian, as all we support */
	uint64_t whole = (uint64_t)(number * (wanted->unit > 0 ? wanted->unit : 1));
	memcpy(wanted->whole, &whole, wanted->whole_bytes);
	return 0;
}

/* 0, or the status to exit with. */
static int take_option(const struct sn_options *options, const struct sn_option *wanted,
		       const char *text)
{
	char option[64];
	int result = 0;
	if (wanted->letter)
		snprintf(option, sizeof(option), "-%c", wanted->letter);
	else
		snprintf(option, sizeof(option), "--%s", wanted->name);
	if (wanted->take)
		return wanted->take(wanted->context, options, text);
	if (wanted->flag)
		*wanted->flag = true;
	else if (wanted->memory)
		result = take_memory(options, option, text, wanted->least, wanted->memory);
	else if (wanted->number || wanted->whole)
		result = take_number(options, option, text, wanted);
	else if (wanted->choices)
		result = choose(options, option, text, wanted->choices);
	if (wanted->choice)
		*wanted->choice = result;
	if (wanted->text)
		*wanted->text = text;
	if (wanted->texts && wanted->texts->count >= wanted->most)
		return sn_command_misuse(options->command, "more than %.0f times '%s'",
					 wanted->most, option);
	if (wanted->texts)
		wanted->texts->items[wanted->texts->count++] = text;
	return result < 0 ? SN_EXIT_USAGE : 0;
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
		options->status = take_option(options, one, optarg);
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

int sn_terminal_width(void)
{
	const char *columns = getenv("COLUMNS");
	int width = columns ? atoi(columns) : 0;
	struct winsize size;
	if (width <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	if (width <= 0)
		return 100;
	return width < 40 ? 40 : width > 1000 ? 1000 : width;
}

bool sn_terminal_has_color(FILE *stream)
{
	const char *no_color = getenv("NO_COLOR");
	const char *terminal = getenv("TERM");
	if ((no_color && *no_color) || (terminal && strcmp(terminal, "dumb") == 0))
		return false;
	return isatty(fileno(stream)) == 1;
}
