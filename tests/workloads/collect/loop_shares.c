/* SPDX-License-Identifier: Apache-2.0 */
/* A nest of loops with known shares: three quarters of the time in one inner loop, a quarter in the
 * other. */
#include <stdio.h>

volatile unsigned seed = 12345;

__attribute__((noinline)) unsigned work(int rounds)
{
	unsigned x = seed;
	for (int r = 0; r < rounds; r++) {	/* loop outer */
		for (int i = 0; i < 30000; i++) /* loop hot */
			x = x * 1664525u + seed;
		for (int i = 0; i < 10000; i++) /* loop cool */
			x = x * 1664525u + seed;
	}
	return x;
}

int main(void)
{
	printf("%u\n", work(8000));
	return 0;
}
