/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program inherits and leaves to others: blocked and ignored signals over fork, exec and
 * posix_spawn, and what /proc says of its signals.
 */
#include "../behave.h"

#include <spawn.h>

extern char **environ;

static void nothing(int number)
{
	(void)number;
}

/* Lines of /proc/self/status, as numbers, for who looks there: shells, supervisors, debuggers. */
static void say_status(const char *when)
{
	char line[256];
	FILE *file = fopen("/proc/self/status", "re");
	say("%s:", when);
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, "Sig", 3) || !strncmp(line, "ShdPnd", 6)) {
			char *end = strchr(line, '\n');
			*end = 0;
			char *tab = strchr(line, '\t');
			*tab = ' ';
			if (strncmp(line, "SigQ", 4))
				say(" %s", line);
		}
	say("\n");
	if (file)
		fclose(file);
}

/* What a program finds at its start. */
PART(report)
{
	char blocked[65] = "", dispositions[65] = "", pending[65] = "";
	sigset_t mask, waiting;
	sigprocmask(SIG_SETMASK, NULL, &mask);
	sigpending(&waiting);
	for (int signal = 1; signal <= 64; signal++) {
		struct sigaction action = {.sa_handler = SIG_DFL};
		sigaction(signal, NULL, &action);
		blocked[signal - 1] = sigismember(&mask, signal) == 1 ? '1' : '.';
		pending[signal - 1] = sigismember(&waiting, signal) == 1 ? '1' : '.';
		dispositions[signal - 1] = action.sa_handler == SIG_DFL	  ? '.'
					   : action.sa_handler == SIG_IGN ? 'i'
									  : 'H';
	}
	say("  blocked %s\n  actions %s\n  pending %s\n", blocked, dispositions, pending);
	work(10);
	if (argc && !strcmp(argv[0], "status"))
		say_status("  status");
}

static void prepare(int kind)
{
	sigset_t some;
	sigfillset(&some);
	switch (kind) {
	case 0:
		return;
	case 1:
		sigprocmask(SIG_SETMASK, &some, NULL);
		return;
	case 2:
		EACH_SIGNAL(signal) set_handler(signal, SIG_IGN, 0);
		set_handler(SIGINT, SIG_IGN, 0);
		return;
	case 3:
		EACH_SIGNAL(signal) set_handler(signal, nothing, 0);
		some = set_of(SIGURG, SIGTERM, 37, 64, 0);
		sigprocmask(SIG_BLOCK, &some, NULL);
		return;
	default:
		sigprocmask(SIG_SETMASK, &some, NULL);
		EACH_SIGNAL(signal) sigqueue(getpid(), signal, (union sigval){0});
	}
}

#define KINDS 5

static void each_kind(void (*start)(void))
{
	for (int kind = 0; kind < KINDS; kind++) {
		say("kind %d\n", kind);
		pid_t child = MUST(fork());
		if (!child) {
			work(10);
			prepare(kind);
			work(5);
			start();
			_exit(0);
		}
		say("%s\n", ended(child));
	}
}

static void by_exec(void)
{
	become("report", NULL);
}

static void by_fork_and_exec(void)
{
	pid_t child = MUST(fork());
	if (!child)
		become("report", NULL);
	say("  %s\n", ended(child));
}

static void by_vfork_and_exec(void)
{
	const char *program = own_program();
	pid_t child = vfork();
	if (!child) {
		execl(program, "behave", "report", (char *)NULL);
		_exit(127);
	}
	say("  %s\n", ended(child));
}

static void spawn_with(posix_spawnattr_t *attributes)
{
	pid_t child;
	char *arguments[] = {"behave", "report", NULL};
	int error = posix_spawn(&child, own_program(), NULL, attributes, arguments, environ);
	say("  %s\n", error ? strerror(error) : ended(child));
}

static void by_spawn(void)
{
	spawn_with(NULL);
}

static void by_spawn_with_attributes(void)
{
	posix_spawnattr_t attributes;
	sigset_t mask = set_of(SIGURG, 34, 63, 0), defaults;
	sigfillset(&defaults);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &mask);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	spawn_with(&attributes);
}

static void by_system(void)
{
	char command[PATH_MAX + 20];
	snprintf(command, sizeof(command), "%s report", own_program());
	int status = system(command);
	say("  status %d\n", status);
}

static void by_popen(void)
{
	char command[PATH_MAX + 20], line[200];
	snprintf(command, sizeof(command), "exec %s report", own_program());
	FILE *stream = popen(command, "r");
	while (fgets(line, sizeof(line), stream))
		say("%s", line);
	say("  status %d\n", pclose(stream));
}

static void by_raw_exec(void)
{
	char *arguments[] = {"behave", "report", NULL};
	syscall(SYS_execve, own_program(), arguments, environ);
}

CASE(exec)
{
	each_kind(by_exec);
}
CASE(exec_raw)
{
	each_kind(by_raw_exec);
}
CASE(fork_and_exec)
{
	each_kind(by_fork_and_exec);
}
CASE(vfork_and_exec)
{
	each_kind(by_vfork_and_exec);
}
CASE(spawn)
{
	each_kind(by_spawn);
}
CASE(spawn_with_attributes)
{
	each_kind(by_spawn_with_attributes);
}
CASE(system)
{
	each_kind(by_system);
}
CASE(popen)
{
	each_kind(by_popen);
}

/* A thread other than the first one executes. */
static void *exec_in_thread(void *unused)
{
	work(5);
	become("report", NULL);
	return unused;
}

CASE(exec_from_thread)
{
	pthread_t thread;
	prepare(3);
	work(10);
	pthread_create(&thread, NULL, exec_in_thread, NULL);
	pthread_join(thread, NULL);
	say("not reached\n");
}

/* Many programs executed while samples are due: one that arrives late must not end the next
 * program. */
PART(chain)
{
	int left = argc ? atoi(argv[0]) : 0;
	char text[12];
	work(3);
	if (!left) {
		say("end of the chain\n");
		return;
	}
	snprintf(text, sizeof(text), "%d", left - 1);
	become("chain", text);
}

CASE(exec_chain)
{
	become("chain", "25");
}

CASE(failed_exec)
{
	for (int round = 0; round < 300; round++) {
		spin();
		execl("/nonexistent", "x", (char *)NULL);
	}
	say("%s\n", strerror(errno));
	char *arguments[] = {"x", NULL};
	SAY_RESULT(execve("/etc/passwd", arguments, environ));
	SAY_RESULT(execvp("no-such-program-anywhere", arguments));
	work(10);
	pid_t child;
	say("spawn: %s\n",
	    strerror(posix_spawn(&child, "/nonexistent", NULL, NULL, arguments, environ)));
	by_exec();
}

/* ---- /proc ---- */

CASE(status)
{
	say_status("at start");
	work(20);
	set_handler(SIGUSR1, nothing, 0);
	set_handler(SIGURG, SIG_IGN, 0);
	set_handler(50, nothing, 0);
	say_status("set");
	work(20);
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	say_status("blocked");
	EACH_SIGNAL(signal) raise(signal);
	work(20);
	say_status("raised");
}

CASE(status_of_child)
{
	work(20);
	pid_t child = MUST(fork());
	if (!child)
		become("report", "status");
	say("%s\n", ended(child));
}

/* As shells and service managers start programs: everything reset, from outside. */
CASE(reset_all)
{
	work(20);
	for (int signal = 1; signal <= 64; signal++)
		if (signal != SIGKILL && signal != SIGSTOP)
			sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	work(20);
	say_status("reset");
	by_exec();
}
