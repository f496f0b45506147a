/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several loops on one source line, and one that compilers make several of. Calls of first() and
 * second() tell which is which. Built with MORE it has other addresses; run, its line "work" takes
 * three quarters of the time in the second loop.
 */
#define KEEP __attribute__((noinline))

volatile int sink;

#ifdef MORE
KEEP void more(int n)
{
	for (int i = 0; i < n; i++)
		sink += i * n;
}
#endif

KEEP void first(void)
{
	sink++;
}

KEEP void second(void)
{
	sink--;
}

/* clang-format off */
#define TWICE(n) for (int i = 0; i < n; i++) first(); for (int j = n; j > 0; j--) second();
#define WITHIN(n) for (int i = 0; i < n; i++) { first(); for (int j = n; j > 0; j--) second(); }

KEEP void beside(int n)
{
	for (int i = 0; i < n; i++) first(); while (n > sink) second();
}

KEEP void by_macro(int n)
{
	TWICE(n)
}

KEEP void inside(int n)
{
	for (int i = 0; i < n; i++) { first(); for (int j = n; j > 0; j--) second(); }
}

KEEP void inside_by_macro(int n)
{
	WITHIN(n)
}

KEEP void vectors(int *a, int n)
{
	for (int i = 0; i < n; i++) a[i] *= 3; for (int j = 0; j < n; j++) a[j] += a[j] >> 2;
}

/* One loop, whatever becomes of it. */
KEEP int one(const int *a, int n)
{
	int s = 0; for (int i = 0; i < n && s < 1000; i++) { if (a[i] == 7) continue; s += a[i] > 3 ? a[i] * 7 : 2; } return s;
}

KEEP int vector(int *restrict a, const int *restrict b, int n)
{
	int s = 0; for (int i = 0; i < n; i++) { a[i] = b[i] * 3; s += a[i]; } return s;
}

KEEP void work(int n)
{
	for (int i = 0; i < n; i++) sink += i; for (int i = 0; i < 3 * n; i++) sink -= i;
}
/* clang-format on */

int main(void)
{
	static int a[1000], b[1000];
	beside(3);
	by_macro(3);
	inside(3);
	inside_by_macro(3);
	vectors(a, 1000);
	sink = one(a, 999) + vector(a, b, 1000);
#ifdef MORE
	more(10);
#endif
	for (int i = 0; i < 1000; i++) /* in turns, however busy the machine */
		work(100000);
	return 0;
}
