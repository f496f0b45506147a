/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of a subcommand of `sonde`, and functions that all of them share: option parsing
 * with helpful messages, one-line failures, exit statuses, and properties of the terminal.
 *
 * To add the command `sonde NAME`:
 *   1. src/cmd/NAME.c defines sn_command_NAME_run and is listed in meson.build, as is
 *      usage/NAME.txt, what `sonde NAME -h` prints;
 *   2. commands.def gets a line SN_COMMAND(NAME, SUMMARY);
 *   3. docs/man/sonde-NAME.1 is its page, and tests/cli/ gets its golden case.
 * A test fails until all three are there.
 *
 * Only src/cmd prints or exits. Everything here is single-threaded.
 */
#pragma once

#include <getopt.h> /* optind */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sn_error;
struct sn_import_files;
struct sn_import_notes;
struct sn_options;
struct sn_source_roots;
struct sonde_db;

enum sn_exit {
	SN_EXIT_DONE = 0,
	SN_EXIT_FINDING = 1, /* of a command that answers a question: a finding, or "no" */
	SN_EXIT_FAILED = 128,
	SN_EXIT_USAGE = 129,
};

struct sn_command {
	const char *name;
	const char *summary; /* for `sonde -h`; one line, no full stop */
	/* The text of -h below the line "sonde NAME - summary", laid out like a man page: headings
	 * at the margin in capitals (printed bold on a terminal), the text indented by four spaces.
	 */
	const char *usage;
	/* argv[0] is the command's name. Returns the exit status of the process. */
	int (*run)(int argc, char **argv);
};

/* sn_usage_NAME is usage/NAME.txt, converted to a C array by export/html/embed.py. */
#define SN_COMMAND(name, its_summary)                                                              \
	extern const struct sn_command sn_command_##name;                                          \
	extern const char sn_usage_##name[];                                                       \
	int sn_command_##name##_run(int argc, char **argv);
#include "commands.def"
#undef SN_COMMAND

/* All commands, in the order of commands.def; ends with NULL. */
extern const struct sn_command *const sn_commands[];

/* The text of -h. */
void sn_command_help(const struct sn_command *command, FILE *out);

/* Prints "sonde: ..." on stderr, always one line, and returns SN_EXIT_FAILED.
 */
int sn_command_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for failures that do not end the command. */
#define sn_command_warn(...) ((void)sn_command_fail(__VA_ARGS__))
/* The same with a pointer to -h at the end of the line; returns SN_EXIT_USAGE. */
int sn_command_misuse(const struct sn_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Opens a database. 0, or SN_EXIT_FAILED after printing the reason. */
int sn_command_open(const char *path, struct sonde_db **db);
/* Opens the one operand, which messages call `what`, passes it to `read`, and closes it. Returns
 * the exit status, which is that of `read` unless another step fails. */
int sn_command_read(const struct sn_options *options, const char *what,
		    int (*read)(void *context, struct sonde_db *db, const char *path),
		    void *context);
/* Closes it and returns `status`; if values that were read are damaged, prints that and returns
 * SN_EXIT_FAILED. */
int sn_command_close(struct sonde_db *db, int status);
/* Writes a file, which appears under its name only when it is whole (base/output.h). 0 or a
 * negative enum sn_err, as returned by `write`. */
int sn_command_write_file(const char *path,
			  int (*write)(void *context, FILE *out, struct sn_error *error),
			  void *context, struct sn_error *error);
/*
 * Analyses the events of a database and stores the findings in it; no other process may have it
 * open. Messages call it `name`. Unless they are `wanted`, findings are only stored for a trace so
 * short that the analysis takes no noticeable time (docs/design/findings.md). If events cannot be
 * analysed, prints a line and leaves the database unchanged. 0, or SN_EXIT_FAILED after printing
 * why it cannot be written.
 */
int sn_command_store_findings(const char *path, const char *name, bool wanted);
/* The folders from which commands read source files that a database names
 * (show/source/source_roots.h): parsing --source DIR, for a struct sn_option, where `roots` is a
 * struct sn_source_roots; adding the working tree and the folders of SONDE_SOURCE; and a line about
 * files that are not shown because they lie elsewhere, if there are any. */
int sn_sources_parse(void *roots, const struct sn_options *options, const char *folder);
void sn_sources_add_usual(struct sn_source_roots *roots);
void sn_sources_tell_outside(const struct sn_source_roots *roots);
/* Opens the trace of a command: a database, or files of other tools, or a folder of them, which are
 * imported into a temporary database. 0, then close the database with sn_command_close; or
 * SN_EXIT_FAILED after printing the reason. */
int sn_command_open_trace(const char *const *paths, size_t count, struct sonde_db **db);
/* Opens a database that `make` writes to a path of its own; nothing is left of it whatever happens, as the file has no name any more once it is open.
 * 0 or a negative enum sn_err. */
int sn_command_open_hidden(int (*make)(void *context, const char *path, struct sn_error *error),
			   void *context, struct sonde_db **db, struct sn_error *error);
/* Warns about data that an importer left out. */
void sn_command_import_notes(const struct sn_import_notes *notes);
/* Warns about folders that were skipped. */
void sn_command_import_skipped(const struct sn_import_files *inputs);
/* After a database was written to `output`: if that is the pipe that is stdout, redirects further
 * output to stderr, because it must not mix with the database. */
void sn_command_speak_beside(const char *output);

/*
 * Options, as a table of where their values go:
 *
 *	const struct sn_option table[] = {
 *	    {"output", 'o', .text = &output},
 *	    {"format", SN_OPTION_CHOICE(form, "text", "json")},
 *	    {"limit", SN_OPTION_WHOLE(limit, 0, 1e9)},
 *	    {"quiet", 'q', .flag = &is_quiet},
 *	    {"event", 'e', .parse = parse_event, .context = &run},
 *	    {0}};
 *	struct sn_options options = {&sn_command_NAME, argc, argv};
 *	if (!sn_options_read(&options, table))
 *		return options.status;
 *
 * Handles -h and explains mistakes. Options and operands may be mixed unless `is_ordered`; operands
 * begin at optind afterwards.
 */
struct sn_options {
	const struct sn_command *command;
	int argc;
	char **argv;
	bool is_ordered; /* the first operand ends the options */
	int status;	 /* of the process, after sn_options_read has returned false */
};

/* The values of an option that may be repeated. */
struct sn_texts {
	const char *items[64];
	size_t count;
};

struct sn_option {
	const char *name;
	char letter; /* 0: none */
	/* One of these says what its value is and where it goes. */
	bool *flag;		/* no value */
	const char **text;	/* with `choices`, one of them */
	int *choice;		/* its position in `choices`, which end with NULL */
	double *number;		/* from `least` to `most` */
	void *whole;		/* the same in an unsigned integer; see below */
	uint64_t *memory;	/* bytes of "800M" and the like, at least `least` */
	struct sn_texts *texts; /* may be given `most` times */
	/* `choices` with commas between them, `implied` if none is given; `wrong` describes invalid
	 * ones */
	const char **list;
	const char *implied, *wrong;
	/* Beside these or alone: 0, or the exit status after having explained the mistake. */
	int (*parse)(void *context, const struct sn_options *options, const char *text);
	void *context;
	bool is_optional; /* the text is NULL if none is given, as in --os[=LIST] */
	bool is_path;	  /* of a file or folder, for shells that complete it */
	/* Words that shells offer if `parse` takes more than a list of choices; end with NULL. */
	const char *const *hints;
	const char *const *choices;
	double least, most;
	size_t whole_bytes;
	double unit; /* of the written number: 1 << 20 for a size in MiB; 0: 1 */
};
#define SN_OPTION_WHOLE(variable, from, to)                                                        \
	.whole = &(variable), .whole_bytes = sizeof(variable), .least = (from), .most = (to)
#define SN_OPTION_CHOICE(variable, ...)                                                            \
	.choice = &(variable), .choices = (const char *const[])                                    \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}

bool sn_options_read(struct sn_options *options, const struct sn_option *table);

/* `sonde --complete WORD...`: what a shell may offer for the last word; the format is described in
 * complete.c. It runs the command, whose sn_options_read then calls sn_complete_options with its
 * table and returns false; so a command does nothing before it reads its options. */
int sn_complete(int count, char **words);
bool sn_is_completing(void);
void sn_complete_options(const struct sn_options *options, const struct sn_option *table);

/* Explains why the text of an option is invalid; returns SN_EXIT_USAGE. */
#define sn_options_refuse(options, option, text, is_what, ...)                                     \
	sn_command_misuse((options)->command, "option '%s': '%s' is " is_what, option, text,       \
			  ##__VA_ARGS__)
/* A number from min to max; 0, or SN_EXIT_USAGE after having explained the mistake. */
int sn_options_number(const struct sn_options *options, const char *option, const char *text,
		      double min, double max, double *value);
/* The bytes of "800M", "2G" or a plain number, or -1 if the text is no size. */
double sn_options_bytes(const char *text);
/* The one operand (optind must be past the options), or NULL after having explained the mistake. */
const char *sn_options_operand(const struct sn_options *options, const char *what);

/* Explains that `what` ("option '--") and the word together are none of the names, which end with
 * NULL; returns SN_EXIT_USAGE. */
int sn_options_unknown(const struct sn_command *command, const char *what, const char *word,
		       const char *const *names);
/* The candidate (the list ends with NULL) most similar to `word`, or NULL if none is similar. */
const char *sn_options_nearest(const char *word, const char *const *candidates);

/* From now on SIGBUS, caused by a mapped file that another process truncates, ends the command as
 * any other bad input does: "sonde: ..." on stderr, unfinished outputs removed, SN_EXIT_FAILED. A
 * SIGBUS without a mapped file ends it as before. */
void sn_bus_error_init(void);
/* For a child that executes another program: restores the dispositions of signals at sonde's start.
 * */
void sn_command_signals_restore(void);

/*
 * What a command that takes long is doing (base/progress/progress.h), as one line of stderr:
 *	sonde: reading, 45%, 3 s
 * It begins after a second, erases itself, and is for a terminal only. A command that
 * `prints_meanwhile` has it only where what it prints goes to a file. Messages go before the line;
 * whatever else is printed comes after sn_progress_end, which main calls where a command has not.
 */
void sn_progress_show(bool prints_meanwhile);
void sn_progress_end(void);
/* Erases the line, which may come again. AS-safe: yes. */
void sn_progress_erase(void);

/* Columns: COLUMNS, else the terminal's, else 100. */
int sn_terminal_width(void);
/* Whether `stream` is a terminal that obeys control sequences: not "dumb", and not that of a rank of mpirun, which may lead to a file. */
bool sn_terminal_obeys(FILE *stream);
/* Whether to use bold and colours on `stream`: such a terminal, or CLICOLOR_FORCE set; NO_COLOR not set. */
bool sn_terminal_has_color(FILE *stream);
/* Whether letters and signs beyond ASCII can be written, by the locale. */
bool sn_terminal_is_unicode(void);
/* For a terminal where they cannot: what is drawn and what is left out become "~", other letters "?". */
void sn_terminal_write_ascii(const char *text, FILE *out);
/* Has `print` write a page to stdout, by way of the former where that is needed. Its result, or SN_ERR_MEMORY. */
struct sn_terminal;
int sn_terminal_print(int (*print)(void *context, const struct sn_terminal *page), void *context);
/* The sequences that begin and end such text; "" without colours. */
struct sn_style {
	const char *bold, *dim, *plain;
};
struct sn_style sn_terminal_style(FILE *stream);
