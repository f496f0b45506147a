/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenMP tasks whose dependences are known, in TURNS parallel regions: one makes `a`; two read it,
 * one of them makes `b`, the other changes `c`; the last one overwrites `a` after both.
 */
#include <stdio.h>

enum { TURNS = 6 };

static double work(double value)
{
	for (volatile int i = 0; i < 20000; i++)
		;
	return value + 1;
}

int main(void)
{
	double a = 0, b = 0, c = 0;
	for (int turn = 0; turn < TURNS; turn++) {
#pragma omp parallel num_threads(2)
#pragma omp single
		{
#pragma omp task depend(out : a) shared(a) /* here: make */
			a = work(turn);
#pragma omp task depend(in : a) depend(out : b) shared(a, b) /* here: use */
			b = work(a);
#pragma omp task depend(in : a) depend(inout : c) shared(a, c) /* here: change */
			c = work(c + a);
#pragma omp task depend(out : a) shared(a) /* here: overwrite */
			a = work(0);
#pragma omp task depend(in : b, c) shared(b, c) /* here: join */
			work(b + c);
		}
	}
	printf("%.1f %.1f %.1f\n", a, b, c);
	return 0;
}
