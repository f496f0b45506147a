/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs until it is killed, for tests of what is sampled from outside: running [WHAT]. Three rounds of four are in `long_part`, one is in `short_part`, both
 * below `middle`. It says "ready" when it does so. A line of its input then makes it do WHAT: "thread": a thread of the name "later", in `of_thread`; "child": a
 * process that runs `of_child`; "load": `of_library` of a library that is loaded then; "end": it ends.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))
/* A caller that is still there when the callee runs. */
#define STAY  __asm__ volatile("" ::: "memory")

static volatile uint64_t sum;

static APART void spin(unsigned rounds)
{
	uint64_t state = sum | 1;
	for (unsigned round = 0; round < rounds * 1000u; round++)
		state = state * 6364136223846793005u + 1442695040888963407u;
	sum = state;
}

static APART void long_part(void)
{
	spin(30);
	STAY;
}

static APART void short_part(void)
{
	spin(10);
	STAY;
}

static APART void middle(void)
{
	long_part();
	short_part();
	STAY;
}

static APART void of_child(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		spin(10);
}

/* Another number than that of of_child: equal functions are made one. */
static APART void of_thread(void)
{
	for (;;)
		spin(9);
}

static void *later(void *nothing)
{
	pthread_setname_np(pthread_self(), "later");
	of_thread();
	return nothing;
}

static void *load(void *path)
{
	void *library = dlopen(path, RTLD_NOW);
	void (*of_library)(void) = library ? (void (*)(void))dlsym(library, "of_library") : NULL;
	if (of_library)
		of_library();
	_exit(1);
}

static void *listen(void *what)
{
	pthread_t thread;
	char line[4096];
	if (!fgets(line, sizeof(line), stdin))
		return NULL;
	line[strcspn(line, "\n")] = 0;
	if (!strcmp(what, "thread"))
		pthread_create(&thread, NULL, later, NULL);
	else if (!strcmp(what, "load"))
		load(line);
	else if (!strcmp(what, "child") && fork() == 0)
		of_child();
	else if (!strcmp(what, "end"))
		_exit(0);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t listener;
	if (argc > 1)
		pthread_create(&listener, NULL, listen, argv[1]);
	puts("ready");
	fflush(stdout);
	for (;;)
		middle();
}
