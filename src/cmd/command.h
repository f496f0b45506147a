/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a subcommand of `sonde` is, and the few things all of them share: option parsing with
 * helpful mistakes, one-line failures, exit statuses, and what is known about the terminal.
 *
 * To add the command `sonde NAME`:
 *   1. src/cmd/NAME.c defines `const struct sn_command sn_command_NAME` and is listed in
 * meson.build;
 *   2. commands.def gets a line SN_COMMAND(NAME);
 *   3. docs/man/sonde-NAME.1 is its page, and tests/cli/ gets its golden case.
 * A test fails until all three are there.
 *
 * Only src/cmd prints or exits. Everything here is single-threaded.
 */
#ifndef SN_CMD_COMMAND_H
#define SN_CMD_COMMAND_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sonde_db;

enum sn_exit {
	SN_EXIT_DONE = 0,
	SN_EXIT_FINDING = 1, /* the command asks a question, and this is a finding or "no" */
	SN_EXIT_FAILED = 128,
	SN_EXIT_USAGE = 129,
};

struct sn_command {
	const char *name;
	const char *summary; /* what it does, in the words of `sonde -h`; one line, no full stop */
	/* The text of -h below the line "sonde NAME - summary", laid out like a man page: headings
	 * at the margin in capitals (printed bold on a terminal), the text indented by four spaces.
	 */
	const char *usage;
	/* argv[0] is the command's name. Returns the exit status of the process. */
	int (*run)(int argc, char **argv);
};

#define SN_COMMAND(name) extern const struct sn_command sn_command_##name;
#include "commands.def"
#undef SN_COMMAND

/* All commands, in the order of commands.def; ends with NULL. */
extern const struct sn_command *const sn_commands[];

/* The text of -h. */
void sn_command_help(const struct sn_command *command, FILE *out);

/* Prints "sonde: ..." on stderr, one line whatever is in the arguments, and returns SN_EXIT_FAILED.
 */
int sn_command_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for things that do not end the command. */
void sn_command_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same with a pointer to -h at the end of the line; returns SN_EXIT_USAGE. */
int sn_command_misuse(const struct sn_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Opens a database; prints the reason and returns SN_EXIT_FAILED where it cannot, else 0. */
int sn_command_open(const char *path, struct sonde_db **db);
/* Closes it; where values that were read turned out to be damaged, prints that and returns
 * SN_EXIT_FAILED, else `status`. */
int sn_command_close(struct sonde_db *db, int status);
/* Once a database has gone to `output`: where that is the pipe that is stdout, what is printed from
 * here on goes to stderr, for it must not get between the bytes. */
void sn_command_speak_beside(const char *output);

/*
 * Options, by getopt_long. A command writes
 *
 *	struct sn_options options = {&sn_command_NAME, argc, argv, "o:", table};
 *	for (int option; (option = sn_options_next(&options)) != -1;) {
 *		switch (option) {
 *		case SN_OPTION_STOP:
 *			return options.status;
 *
 * where `table` contains SN_OPTION_HELP. -h is answered and mistakes are explained here. Options
 *and operands may be mixed unless `letters` starts with "+"; operands begin at optind afterwards.
 */
struct sn_options {
	const struct sn_command *command;
	int argc;
	char **argv;
	const char *letters; /* as for getopt; "h" and ":" are added */
	const struct option *table;
	int status; /* after SN_OPTION_STOP */
	bool started;
};
#define SN_OPTION_STOP (-2)
/* clang-format off */
#define SN_OPTION_HELP {"help", no_argument, NULL, 'h'}
/* clang-format on */
int sn_options_next(struct sn_options *options);

/* One of `choices` (ends with NULL) to its position, or -1 after having explained the mistake. */
int sn_options_choice(const struct sn_options *options, const char *option, const char *text,
		      const char *const *choices);
/* A number from min to max; 0, or -1 after having explained the mistake. */
int sn_options_number(const struct sn_options *options, const char *option, const char *text,
		      double min, double max, double *value);
/* An amount of memory such as "800M", in bytes; 0, or -1 after having explained the mistake. */
int sn_options_memory(const struct sn_options *options, const char *option, const char *text,
		      uint64_t least, uint64_t *bytes);
/* The one operand (optind must be past the options), or NULL after having explained the mistake. */
const char *sn_options_operand(const struct sn_options *options, const char *what);

/* The candidate most like `word` (ends with NULL) if one is like it, else NULL. */
const char *sn_options_nearest(const char *word, const char *const *candidates);

/* For a child that becomes another program: signals mean again what they meant when sonde began. */
void sn_command_signals_restore(void);

/* Columns: COLUMNS, else the terminal's, else 100. */
int sn_terminal_width(void);
/* Whether bold and colours belong on `stream`: a terminal, not "dumb", NO_COLOR not set. */
bool sn_terminal_has_color(FILE *stream);

#endif
