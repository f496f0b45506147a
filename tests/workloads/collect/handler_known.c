// SPDX-License-Identifier: Apache-2.0
/*
 * What a program must not notice of being sampled.
 *
 *   errno     spins in code that has no unwind information and no frame, so that looking for its
 *             caller reads where nothing is, and sees that errno stays as it is
 *   timer     uses timers of its own with the signal that sampling uses, with both kinds of
 * handlers
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __x86_64__
/* No directives for unwinding: nothing tells where the caller is. */
__asm__(".text\n"
	".type spin_without_frame, @function\n"
	"spin_without_frame:\n"
	"	push %rbp\n"
	"	mov $0x1234560, %rbp\n"
	"1:	dec %rdi\n"
	"	jnz 1b\n"
	"	pop %rbp\n"
	"	ret\n"
	".size spin_without_frame, . - spin_without_frame\n");
void spin_without_frame(unsigned long rounds);
#else
static void spin_without_frame(unsigned long rounds)
{
	for (volatile unsigned long i = rounds; i; i--)
		;
}
#endif

static double cpu_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int check_errno(void)
{
	double end = cpu_seconds() + 0.5;
	while (cpu_seconds() < end) {
		errno = 77;
		spin_without_frame(2000000);
		if (errno != 77) {
			printf("errno became %d\n", errno);
			return 1;
		}
	}
	return 0;
}

static atomic_int plain, with_information;

static void on_plain(int signal)
{
	plain++;
}

static void on_information(int signal, siginfo_t *info, void *context)
{
	with_information += info->si_code == SI_TIMER && info->si_value.sival_int == 4711;
}

/* Waits until the timer has ended 20 times, or 3 s of CPU are gone. */
static void wait_for(atomic_int *count, struct sigaction *action)
{
	struct sigevent event = {
	    .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGURG, .sigev_value.sival_int = 4711};
	struct itimerspec period = {{0, 5000000}, {0, 5000000}};
	timer_t timer;
	sigaction(SIGURG, action, NULL);
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	timer_settime(timer, 0, &period, NULL);
	for (double end = cpu_seconds() + 3; *count < 20 && cpu_seconds() < end;)
		spin_without_frame(100000);
	timer_delete(timer);
}

static int check_timer(void)
{
	raise(SIGURG); /* which nobody wants */
	signal(SIGURG, SIG_IGN);
	raise(SIGURG);
	wait_for(&plain, &(struct sigaction){.sa_handler = on_plain});
	wait_for(&with_information,
		 &(struct sigaction){.sa_sigaction = on_information, .sa_flags = SA_SIGINFO});
	printf("%s\n", plain >= 20 && with_information >= 20 ? "all came" : "some did not come");
	return 0;
}

int main(int argc, char **argv)
{
	return argc > 1 && !strcmp(argv[1], "timer") ? check_timer() : check_errno();
}
