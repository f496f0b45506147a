/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of an accelerator that is nobody's: arguments in registers of both kinds, on the stack, and by value. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct acme_dim {
	uint32_t x, y, z;
};
struct acme_large {
	uint64_t words[5];
};

/* Each takes 1 ms of CPU time and returns a sum over all its arguments, which shows that all came through. */
double acmeLaunch(const char *kernel, struct acme_dim grid, struct acme_dim block, float scale,
		  int a, int b, int c, double d1, double d2, double d3, double d4, double d5,
		  double d6, double d7, double d8, void *stream);
int acmeCopy(void *to, const void *from, size_t bytes, void *stream);
struct acme_large acmeQuery(struct acme_large in, char tag, void *stream);
/* Calls the function back, which may call the interface again. */
int acmeWait(void *stream, int (*then)(void *), void *data);
int acmeUnlisted(void);
