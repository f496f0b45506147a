/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the accelerator in each way that a program can: by the linker, by a pointer, by dlsym. main linked|opened [LIBRARY] */
#include "acme.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __typeof__(&acmeLaunch) launch;
static __typeof__(&acmeCopy) copy;
static __typeof__(&acmeQuery) query;
static __typeof__(&acmeWait) wait_for;
static __typeof__(&acmeUnlisted) unlisted;

static int again(void *data)
{
	char to[64];
	return copy(to, data, sizeof(to), (void *)7);
}

static jmp_buf out;

static int leave(void *unused)
{
	(void)unused;
	longjmp(out, 1);
}

/* A call that does not return, and one after it. */
static void use_after_leaving(void)
{
	char data[64] = {0}, to[64];
	if (!setjmp(out))
		wait_for(NULL, leave, NULL);
	copy(to, data, sizeof(to), NULL);
}

static void use(int times)
{
	char data[64] = {0}, to[64];
	struct acme_large in = {{1, 2, 3, 4, 5}};
	for (int i = 0; i < times; i++) {
		double sum =
		    launch("scale", (struct acme_dim){1, 2, 3}, (struct acme_dim){4, 5, 6}, 0.5f,
			   -7, 8, -9, 1, 2, 3, 4, 5, 6, 7, 8, (void *)16); /* launch */
		sum += launch(i % 2 ? "odd" : "even", (struct acme_dim){0}, (struct acme_dim){0}, 0,
			      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL);
		int copied = copy(to, data, sizeof(to), (void *)5); /* copy */
		struct acme_large out = query(in, 'q', (void *)3);
		int waited = wait_for((void *)2, again, data);
		if (i == 0)
			printf("%g %d %lu %lu %d %d\n", sum, copied, (unsigned long)out.words[0],
			       (unsigned long)out.words[4], waited, unlisted());
	}
}

int main(int count, char **arguments)
{
#ifdef LINKED
	(void)count, (void)arguments;
	launch = acmeLaunch, copy = acmeCopy, query = acmeQuery, wait_for = acmeWait,
	unlisted = acmeUnlisted;
	/* by the linker's own entries too */
	printf("%d\n", acmeCopy(NULL, NULL, 0, (void *)1));
#else
	void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
	if (!library)
		return 2;
	launch = dlsym(library, "acmeLaunch"), copy = dlsym(library, "acmeCopy"),
	query = dlsym(library, "acmeQuery");
	wait_for = dlsym(library, "acmeWait"), unlisted = dlsym(library, "acmeUnlisted");
	printf("%d\n", dlsym(library, "acmeNothing") || dlsym(RTLD_DEFAULT, "acmeNothing"));
#endif
	use(20);
	use_after_leaving();
	return 0;
}
