/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completions of an unfinished command line: `sonde --complete WORD...`, called by the scripts in
 * share/completions. Commands come from commands.def, options from the tables that parse them,
 * descriptions from the text of -h: no list exists twice.
 *
 * Each candidate is a line, WORD and what it means with a tab between them. A last line that begins
 * with a colon says what the shell should add itself: `:files`, `:programs`, or `:command N`, where
 * word N, counted from 0, begins a command line of its own.
 */
#include "command.h"

#include "base/text.h"

#include <ctype.h>
#include <string.h>

enum { SAID_MAX = 72 }; /* columns of what a candidate means */

/* The words after "sonde"; the last one, which may be empty, is to be completed. */
static struct {
	char **words;
	int count;
	const struct sn_command *command; /* whose usage says what words mean */
} line;

bool sn_is_completing(void)
{
	return line.words != NULL;
}

/* ---- what a word means ---- */

/* Where the description of `word` begins if this line of a usage has it at its margin, as
 * "    -o, --output NAME   what it is" and "    folded       what it is" do; else NULL. */
static const char *described(const char *at, const char *word)
{
	const char *end = at + strcspn(at, "\n"), *name = at + strspn(at, " ");
	if (name - at != 4 && name - at != 2)
		return NULL;
	if (name[0] == '-' && name[1] != '-' && name[2] == ',')
		name += 4;
	if (!sn_text_begins(name, word) || isalnum((unsigned char)name[strlen(word)]) ||
	    name[strlen(word)] == '-')
		return NULL;
	const char *gap = strstr(name, "  ");
	return gap && gap < end ? gap + strspn(gap, " ") : end + strspn(end, "\n ");
}

/* Its first clause, with the lines that it goes on for. */
static void print_meaning(const char *text)
{
	char said[SAID_MAX + 1];
	size_t used = 0;
	for (; *text && used < SAID_MAX; text++) {
		bool ends = strchr(".;", *text) && strchr(" \n", text[1]);
		if (ends || (*text == '\n' && strncmp(text + 1, "     ", 5) != 0))
			break;
		if (!strchr(" \n", *text))
			said[used++] = *text;
		else if (used > 0 && said[used - 1] != ' ')
			said[used++] = ' ';
	}
	bool is_cut = used == SAID_MAX;
	while (used > 0 && (is_cut ? said[used - 1] != ' ' : said[used - 1] == ' '))
		used--;
	printf("\t%.*s%s", (int)used, said, is_cut ? "..." : "");
}

static void offer(const char *before, const char *word, const char *begun)
{
	if (!sn_text_begins(word, begun))
		return;
	printf("%s%s", before, word);
	for (const char *at = line.command ? line.command->usage : ""; *at;) {
		const char *text = described(at, word);
		if (text) {
			print_meaning(text);
			break;
		}
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	putchar('\n');
}

/* ---- values of options ---- */

/* Words of a list with commas: the last item is completed, those before it stay. */
static void offer_items(const char *before, const char *const *words, const char *text)
{
	const char *comma = strrchr(text, ',');
	size_t kept = comma ? (size_t)(comma + 1 - text) : 0;
	char whole[512];
	snprintf(whole, sizeof(whole), "%s%.*s", before, (int)kept, text);
	for (; *words; words++)
		offer(whole, *words, text + kept);
}

/* `before` is what of the word is no value: "--view=", or nothing. */
static void offer_values(const struct sn_option *option, const char *before, const char *text)
{
	if (option->hints || option->list) {
		offer_items(before, option->hints ? option->hints : option->choices, text);
		return;
	}
	for (const char *const *choice = option->choices; choice && *choice; choice++)
		offer(before, *choice, text);
	if (option->is_path)
		puts(":files");
}

/* ---- options and operands ---- */

static const struct sn_option *find_option(const struct sn_option *table, const char *word)
{
	bool is_long = sn_text_begins(word, "--");
	size_t length = strcspn(word, "=");
	for (; table->name; table++) {
		if (is_long && strlen(table->name) == length - 2 &&
		    strncmp(word + 2, table->name, length - 2) == 0)
			return table;
		if (!is_long && word[0] == '-' && word[1] && word[1] == table->letter)
			return table;
	}
	return NULL;
}

/* Whether the value of this option, which is a whole word of the line, is the next word. */
static bool wants_next_word(const struct sn_option *option, const char *word)
{
	if (!option || option->flag || option->is_optional)
		return false;
	return sn_text_begins(word, "--") ? !strchr(word, '=') : word[2] == '\0';
}

static void offer_options(const struct sn_option *table, const char *begun)
{
	char name[80];
	for (; table->name; table++) {
		snprintf(name, sizeof(name), "--%s", table->name);
		offer("", name, begun);
	}
	offer("", "--help", begun);
}

/* The position of the first operand before the last word, -1 where there is none; `pending` is then
 * the option whose value the last word is, if it is one. */
static int first_operand(const struct sn_option *table, const struct sn_option **pending,
			 bool *has_ended)
{
	int first = -1;
	*pending = NULL;
	for (int i = 1; i < line.count - 1; i++) {
		const char *word = line.words[i];
		const struct sn_option *option = find_option(table, word);
		if (!*has_ended && strcmp(word, "--") == 0)
			*has_ended = true;
		else if (!*has_ended && wants_next_word(option, word) && i + 1 == line.count - 1)
			*pending = option;
		else if (!*has_ended && wants_next_word(option, word))
			i++;
		else if ((*has_ended || word[0] != '-') && first < 0)
			first = i;
	}
	return first;
}

void sn_complete_options(const struct sn_options *options, const struct sn_option *table)
{
	const char *word = line.words[line.count - 1], *value = strchr(word, '=');
	const struct sn_option *pending, *option = find_option(table, word);
	bool has_ended = false;
	char before[80];
	int operand = first_operand(table, &pending, &has_ended);
	if (options->is_ordered && operand >= 0) {
		printf(":command %d\n", operand);
	} else if (pending) {
		offer_values(pending, "", word);
	} else if (!has_ended && value && option && word[1] == '-') {
		snprintf(before, sizeof(before), "%.*s", (int)(value + 1 - word), word);
		offer_values(option, before, value + 1);
	} else if (!has_ended && word[0] == '-') {
		offer_options(table, word);
	} else {
		puts(options->is_ordered ? ":programs" : ":files");
	}
}

/* ---- commands ---- */

static void offer_commands(const char *begun)
{
	for (const struct sn_command *const *command = sn_commands; *command; command++)
		if (sn_text_begins((*command)->name, begun))
			printf("%s\t%s\n", (*command)->name, (*command)->summary);
}

int sn_complete(int count, char **words)
{
	if (count < 1)
		return sn_command_misuse(NULL, "--complete needs the words of a command line");
	if (count == 1 && words[0][0] == '-')
		fputs("--help\twhat commands there are\n--version\tthe version\n", stdout);
	else if (count == 1 || (count == 2 && strcmp(words[0], "help") == 0))
		offer_commands(words[count - 1]);
	for (const struct sn_command *const *command = sn_commands; *command && count > 1;
	     command++) {
		if (strcmp((*command)->name, words[0]) != 0)
			continue;
		line.words = words;
		line.count = count;
		line.command = *command;
		(*command)->run(1, words);
	}
	return SN_EXIT_DONE;
}
