/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Terminals and job control: a session on a terminal of its own, what is typed there, who is
 * stopped, who is told.
 */
#include "../behave.h"

#include <sys/ioctl.h>
#include <termios.h>

static int master;

/* A child that leads a session on a new terminal. */
static pid_t on_terminal(void (*what)(void))
{
	master = MUST(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
	grantpt(master);
	unlockpt(master);
	char name[64];
	snprintf(name, sizeof(name), "%s", ptsname(master));
	work(5);
	pid_t child = MUST(fork());
	if (!child) {
		close(master); /* else nobody ever hangs up */
		setsid();
		int slave = MUST(open(name, O_RDWR));
		ioctl(slave, TIOCSCTTY, 0);
		MUST(dup2(slave, 0));
		MUST(dup2(slave, 1));
		if (slave > 1)
			close(slave);
		what();
		_exit(0);
	}
	return child;
}

static void type(const char *text)
{
	MUST(write(master, text, strlen(text)));
}

/* What the terminal shows until its last user is gone, or the text came; carriage returns left out.
 */
static void say_shown(const char *until)
{
	static char text[4000];
	size_t bytes = 0;
	text[0] = 0;
	for (ssize_t got; bytes < sizeof(text) - 2 && (!until || !strstr(text, until));) {
		struct pollfd one = {master, POLLIN, 0};
		if (poll(&one, 1, 5000) != 1 || (got = read(master, text + bytes, 1)) <= 0)
			break;
		if (text[bytes] != '\r')
			bytes++;
		text[bytes] = 0;
	}
	say("[%s]\n", text);
}

static volatile sig_atomic_t last_signal;

static void keep(int number)
{
	last_signal = number;
}

static void lines(void)
{
	char line[100];
	work(10);
	printf("terminal %d %d, group %d\n", isatty(0), isatty(1), tcgetpgrp(0) == getpgrp());
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		work(3);
		printf("line %s", line);
		fflush(stdout);
	}
	printf("end\n");
	fflush(stdout);
}

CASE(lines)
{
	pid_t child = on_terminal(lines);
	say_shown("ready\n");
	type("one\n");
	say_shown("line one\n");
	type("two\n");
	say_shown("line two\n");
	type("\004");
	say_shown("end\n");
	say("%s\n", ended(child));
	close(master);
}

static void interrupts(void)
{
	sigset_t set = set_of(SIGINT, SIGQUIT, SIGTSTP, SIGWINCH, SIGHUP, 0);
	sigprocmask(SIG_BLOCK, &set, NULL);
	printf("ready\n");
	fflush(stdout);
	for (int got; !sigwait(&set, &got);) {
		work(3);
		printf("got %d\n", got);
		fflush(stdout);
		if (got == SIGQUIT)
			_exit(4);
	}
}

CASE(interrupts)
{
	pid_t child = on_terminal(interrupts);
	say_shown("ready\n");
	type("\003");
	say_shown("got 2\n");
	type("\032");
	say_shown("got 20\n");
	ioctl(master, TIOCSWINSZ, &(struct winsize){30, 90, 0, 0});
	say_shown("got 28\n");
	type("\034");
	say_shown("got 3\n");
	say("%s\n", ended(child));
	close(master);
}

static void computes(void)
{
	printf("ready\n");
	fflush(stdout);
	for (;;)
		work(10);
}

CASE(interrupted)
{
	static const char *const typed[] = {"\003", "\034"};
	for (int index = 0; index < 2; index++) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
		pid_t child = on_terminal(computes);
		say_shown("ready\n");
		type(typed[index]);
		say("%s\n", ended(child));
		close(master);
	}
}

CASE(hung_up)
{
	pid_t child = on_terminal(computes);
	say_shown("ready\n");
	close(master);
	say("%s\n", ended(child));
}

/* A shell: jobs in groups of their own, in front and behind. */
static void shell(void)
{
	int status;
	signal(SIGTTOU, SIG_IGN);
	pid_t job = fork();
	if (!job) {
		setpgid(0, 0);
		tcsetpgrp(0, getpid());
		signal(SIGTTOU, SIG_DFL);
		printf("job ready\n");
		fflush(stdout);
		for (;;)
			work(5);
	}
	setpgid(job, job);
	tcsetpgrp(0, job);
	waitpid(job, &status, WUNTRACED);
	tcsetpgrp(0, getpgrp());
	printf("stopped %d by %d\n", WIFSTOPPED(status), WSTOPSIG(status));
	kill(-job, SIGCONT);
	waitpid(job, &status, WCONTINUED);
	printf("continued %d\n", WIFCONTINUED(status));
	kill(-job, SIGTERM);
	waitpid(job, &status, 0);
	printf("ended by %d\n", WTERMSIG(status));
	job = fork();
	if (!job) {
		char byte;
		setpgid(0, 0);
		work(3);
		_exit(read(0, &byte, 1) < 0 ? 1 : 2); /* from behind: SIGTTIN */
	}
	setpgid(job, job);
	waitpid(job, &status, WUNTRACED);
	printf("behind: stopped %d by %d\n", WIFSTOPPED(status), WSTOPSIG(status));
	kill(-job, SIGKILL);
	waitpid(job, &status, 0);
	printf("end\n");
	fflush(stdout);
}

CASE(jobs)
{
	pid_t child = on_terminal(shell);
	say_shown("job ready\n");
	type("\032");
	say_shown("end\n");
	say("%s\n", ended(child));
	close(master);
}

static void raw_mode(void)
{
	struct termios mode, now;
	tcgetattr(0, &mode);
	cfmakeraw(&mode);
	mode.c_cc[VMIN] = 0;
	mode.c_cc[VTIME] = 2; /* tenths of a second */
	tcsetattr(0, TCSADRAIN, &mode);
	work(10);
	tcgetattr(0, &now);
	char bytes[10];
	set_handler(SIGALRM, keep, SA_RESTART);
	printf("ready %d\n", mode.c_lflag == now.c_lflag && now.c_cc[VTIME] == 2);
	fflush(stdout);
	ssize_t first = 0;
	while (first <= 0)
		first = read(0, bytes, 1);
	spin();
	ssize_t second = read(0, bytes + 1, 9);
	printf("got %zd %d, then %zd\n", first, bytes[0], second);
	fflush(stdout);
}

CASE(raw_mode)
{
	pid_t child = on_terminal(raw_mode);
	say_shown("ready 1\n");
	type("\003");
	say_shown("then 0\n");
	say("%s\n", ended(child));
	close(master);
}

static void interactive(void)
{
	MUST(dup2(0, 2));
	setenv("PS1", "$ ", 1);
	setenv("HISTFILE", "/dev/null", 1);
	execl("/bin/sh", "sh", "-i", (char *)NULL);
}

CASE(real_shell)
{
	pid_t child = on_terminal(interactive);
	say_shown("$ ");
	type("sleep 100\n");
	say_shown("sleep 100\n");
	pause_ns(300000000);
	type("\003");
	say_shown("$ ");
	type("echo $? $((6*7))\n");
	say_shown("130 42\n");
	type("exit 7\n");
	say("%s\n", ended(child));
	close(master);
}
