/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde`: finds the subcommand and runs it. What a command does is in its own file. */
#include "command.h"

#include "base/output.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define SN_COMMAND(name, its_summary)                                                              \
	const struct sn_command sn_command_##name = {#name, its_summary, sn_usage_##name,          \
						     sn_command_##name##_run};
#include "commands.def"
#undef SN_COMMAND
const struct sn_command *const sn_commands[] = {
#define SN_COMMAND(name, its_summary) &sn_command_##name,
#include "commands.def"
#undef SN_COMMAND
    NULL};

static void print_overview(void)
{
	struct sn_style style = sn_terminal_style(stdout);
	const char *bold = style.bold, *plain = style.plain;
	printf("%sSonde%s tells where a program spends its time, through every layer:\n"
	       "Python line, operator, C/C++ function, GPU call and kernel.\n\n"
	       "%sUSAGE%s\n    sonde COMMAND [OPTIONS]\n\n%sCOMMANDS%s\n",
	       bold, plain, bold, plain, bold, plain);
	for (const struct sn_command *const *command = sn_commands; *command; command++)
		printf("    %s%-10s%s %s\n", bold, (*command)->name, plain, (*command)->summary);
	printf("\n%sEXAMPLES%s\n"
	       "    sonde run -- python3 train.py        measure a program\n"
	       "    sonde report train.sdb               see where its time went\n"
	       "    sonde COMMAND -h                     all about one command\n\n"
	       "    sonde -h, --help, --version\n",
	       bold, plain);
}

static const struct sn_command *find_command(const char *name)
{
	for (const struct sn_command *const *command = sn_commands; *command; command++)
		if (strcmp((*command)->name, name) == 0)
			return *command;
	return NULL;
}

static int unknown_command(const char *name)
{
	static const char *const names[] = {
#define SN_COMMAND(name, its_summary) #name,
#include "commands.def"
#undef SN_COMMAND
	    NULL};
	return sn_options_unknown(NULL, "command '", name, names);
}

static int run_command(int argc, char **argv)
{
	if (argc < 2) {
		print_overview();
		return SN_EXIT_USAGE;
	}
	const char *word = argv[1];
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
		puts("sonde " SN_VERSION);
		return SN_EXIT_DONE;
	}
	if (strcmp(word, "--complete") == 0)
		return sn_complete(argc - 2, argv + 2);
	bool is_help = strcmp(word, "help") == 0;
	if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0 || (is_help && argc == 2)) {
		print_overview();
		return SN_EXIT_DONE;
	}
	if (word[0] == '-')
		return sn_command_misuse(NULL, "unknown option '%s'", word);
	const struct sn_command *command = find_command(is_help ? argv[2] : word);
	if (!command)
		return unknown_command(is_help ? argv[2] : word);
	if (is_help) {
		sn_command_help(command, stdout);
		return SN_EXIT_DONE;
	}
	return command->run(argc - 1, argv + 1);
}

static void (*file_limit_action)(int), (*child_action)(int);

void sn_command_signals_restore(void)
{
	signal(SIGXFSZ, file_limit_action);
	signal(SIGCHLD, child_action);
}

/* Outputs that have a name already are gone with the program, as they are after an error. */
static void end_tidily(int number)
{
	sn_output_tidy();
	sn_progress_erase();
	signal(number, SIG_DFL);
	raise(number);
}

static void guard_outputs(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXCPU};
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		struct sigaction action;
		/* what is ignored stays so, as after nohup; programs that we run inherit neither */
		if (sigaction(ends[i], NULL, &action) || action.sa_handler != SIG_DFL)
			continue;
		action = (struct sigaction){.sa_handler = end_tidily};
		sigaction(ends[i], &action, NULL);
	}
}

int main(int argc, char **argv)
{
	guard_outputs();
	sn_bus_error_init();
	/* a write beyond the limit of a file's size fails as on a full disk: said, and tidied up */
	file_limit_action = signal(SIGXFSZ, SIG_IGN);
	/* where it is ignored no process can wait for its children */
	child_action = signal(SIGCHLD, SIG_DFL);
	int status = run_command(argc, argv);
	sn_progress_end();
	errno = 0;
	if ((fflush(stdout) != 0 || ferror(stdout)) && status != SN_EXIT_FAILED) {
		/* A reader that has seen enough (| head) is no failure worth a message. */
		if (errno == EPIPE)
			return status;
		return sn_command_fail("cannot write the output: %s",
				       errno ? strerror(errno) : "an earlier write failed");
	}
	return status;
}
