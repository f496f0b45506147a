/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions whose loops are known. The line of each loop's controlling statement carries its name,
 * as in "loop a1"; tests/cli/binary/test_structure.py says how they nest, and in what each line
 * marked by "in NAME" must lie.
 */
#define KEEP __attribute__((noinline))

extern void abort(void);

volatile int sink;
int limit = 7;

KEEP void nested(int n)
{
	for (int i = 0; i < n; i++) {		      /* loop nested1 */
		for (int j = 0; j < i; j++) {	      /* loop nested2 */
			for (int k = 0; k < j; k++) { /* loop nested3 */
				sink += k;	      /* in nested3 */
			}
		}
		sink += i; /* in nested1 */
	}
}

KEEP void beside(int n)
{
	int i = 0;
	while (i < n) {				   /* loop beside1 */
		for (int j = 0; j < 3 + sink; j++) /* loop beside2 */
			sink += j;
		for (int j = n; j > sink; j--) /* loop beside3 */
			sink -= j;
		i++;
	}
	for (int j = 0; j < n; j++) /* loop beside4 */
		sink ^= j;
}

/* Entered at its test and at its body. */
KEEP void irreducible(int n, int where)
{
	if (where)
		goto body;
test:
	sink++;
	if (sink > n)
		return;
body:
	sink += 2;
	if (sink & 1)
		sink += where;
	goto test;
}

static inline __attribute__((always_inline)) int total(const int *values, int n)
{
	int all = 0;
	for (int i = 0; i < n; i++) { /* loop total */
		all += values[i];
		sink = all; /* in total */
	}
	return all;
}

KEEP int calls_inlined(const int *values, int n)
{
	int all = 0;
	for (int i = 0; i < n; i++) /* loop caller */
		all += total(values + i, n - i);
	return all;
}

KEEP void vectorised(float *restrict to, const float *restrict from, int n)
{
	for (int i = 0; i < n; i++) /* loop vectorised */
		to[i] = to[i] * 3 + from[i];
}

KEEP void unrolled(int n)
{
#pragma GCC unroll 4
	for (int i = 0; i < n; i++) /* loop unrolled */
		sink += i;
}

KEEP void one(int x)
{
	sink += x;
}

KEEP void two(int x)
{
	sink -= x;
}

KEEP void switches(const int *codes, int n)
{
	for (int i = 0; i < n; i++) { /* loop switches */
		switch (codes[i]) {
		case 0:
			one(1); /* in switches */
			break;
		case 1:
			two(sink); /* in switches */
			break;
		case 2:
			one(n); /* in switches */
			two(3); /* in switches */
			break;
		case 3:
			sink = 0; /* in switches */
			break;
		case 4:
			two(n); /* in switches */
			break;
		case 5:
			one(sink); /* in switches */
			break;
		case 6:
			sink ^= 5; /* in switches */
			break;
		case 9:
			two(9);	       /* in switches */
			one(sink + 3); /* in switches */
			break;
		default:
			sink += 100; /* in switches */
		}
	}
}

/* A threaded interpreter: one loop, around one dispatch. */
KEEP void interpret(const unsigned char *code)
{
	static const void *const labels[] = {&&stop, &&add, &&subtract, &&twice};
	goto *labels[*code];
add:
	sink++;
	goto *labels[*++code];
subtract:
	sink--;
	goto *labels[*++code];
twice:
	sink *= 2;
	goto *labels[*++code];
stop:
	return;
}

int is_odd(int n);

/* Tail calls at -O2: no loop. */
KEEP int is_even(int n)
{
	sink = n;
	return n == 0 ? 1 : is_odd(n - 1);
}

KEEP int is_odd(int n)
{
	sink = -n;
	return n == 0 ? 0 : is_even(n - 1);
}

__attribute__((cold)) KEEP int seldom(int x)
{
	return sink + x;
}

/* The part for what seldom happens is split off, and goes back into the loop. */
KEEP void splits(const int *values, int n)
{
	for (int i = 0; i < n; i++) { /* loop splits */
		if (values[i] < 0) {
			sink = seldom(values[i]); /* in splits */
			sink ^= seldom(i);	  /* in splits */
		}
		sink += i;
	}
}

/* Not said to be noreturn: that has to be found out. */
KEEP void gives_up(int why)
{
	sink = why;
	abort();
}

/* What follows the call that never returns is no part of the loop. */
KEEP int checks(const int *values, int n)
{
	for (int i = 0; i < n; i++) { /* loop checks */
		if (values[i] == limit)
			gives_up(i);
		sink += i;
	}
	return sink;
}

KEEP void until(int n)
{
	int i = 0;
	do { /* loop before until */
		one(i);
		if (sink > limit)
			two(i);
		i++;
		one(i);
	} while (i < n);
}

static inline __attribute__((always_inline)) int goes_on(int *i, int n)
{
	if (*i >= n)
		return 0;
	++*i;
	return 1;
}

/* The branch that leaves this loop is the inlined function's; the loop is not. */
KEEP void asks(int n)
{
	int i = 0;
	while (goes_on(&i, n)) { /* loop asks */
		one(i);		 /* in asks */
		if (sink > limit)
			two(i); /* in asks */
		one(n);		/* in asks */
	}
}

int main(int argc, char **argv)
{
	int values[] = {1, 2, 3, argc};
	float a[64] = {1}, b[64] = {2};
	unsigned char code[] = {1, 2, 3, 0};
	(void)argv;
	nested(argc);
	beside(argc);
	irreducible(argc, argc > 1);
	sink = calls_inlined(values, 4);
	vectorised(a, b, argc);
	sink = (int)a[3];
	unrolled(argc);
	switches(values, 4);
	interpret(code);
	sink = is_even(argc);
	splits(values, 4);
	sink = checks(values, 4);
	until(argc);
	asks(argc);
	return 0;
}
