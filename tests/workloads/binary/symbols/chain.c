/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function with two inlined levels and a call at the innermost, for tests of symbols. The test
 * finds the expected lines by searching this text for the marks.
 */
#include <stdlib.h>

typedef int sink(int);

int sn_fixture_outer(sink *call, int x);
int sn_fixture_hidden(sink *call, int x);
int sn_fixture_number(const char *text);
volatile int sn_fixture_sum;

static inline __attribute__((always_inline)) int inner(sink *call, int x) /* declares inner */
{
	sn_fixture_sum += x;
	int y = call(x * 2); /* mark inner */
	return y + sn_fixture_sum;
}

static inline __attribute__((always_inline)) int middle(sink *call, int x) /* declares middle */
{
	int y = x > 3 ? x : 3;
	return y + inner(call, x + 1); /* mark middle */
}

int sn_fixture_outer(sink *call, int x) /* declares sn_fixture_outer */
{
	int z = 1;
	if (x > 0)
		z = middle(call, x); /* mark sn_fixture_outer */
	return z + sn_fixture_sum;
}

static __attribute__((noinline)) int hidden(sink *call, int x) /* declares hidden */
{
	int y = call(x); /* mark hidden */
	return y * 5 + sn_fixture_sum;
}

int sn_fixture_hidden(sink *call, int x)
{
	return hidden(call, x) + 1;
}

int sn_fixture_number(const char *text)
{
	return atoi(text) + (int)strtol(text, NULL, 16);
}
