/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that call one another to a depth, then the visitor. Compiled many times, with SN_NAME
 * and flags. */
#include <alloca.h>

#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)
#define FUNCTION(n) JOIN(SN_NAME, n)

typedef void (*visitor)(void);
int FUNCTION(_a)(int depth, visitor visit);
int FUNCTION(_b)(int depth, visitor visit, int x, int y);
int FUNCTION(_c)(int depth, visitor visit, const int *table);
int FUNCTION(_d)(int depth, visitor visit);

int __attribute__((noinline)) FUNCTION(_a)(int depth, visitor visit)
{
	int local[20] = {depth, 1, 2};
	if (!depth)
		visit();
	else
		local[depth % 20] += FUNCTION(_b)(depth - 1, visit, local[1], local[2]);
	return local[depth % 20] + local[3];
}

int __attribute__((noinline)) FUNCTION(_b)(int depth, visitor visit, int x, int y)
{
	int table[4] = {x, y, x + y, depth}, sum = 0;
	if (!depth)
		visit();
	else
		sum = FUNCTION(_c)(depth - 1, visit, table) * x + y;
	return sum + table[depth % 4];
}

int __attribute__((noinline)) FUNCTION(_c)(int depth, visitor visit, const int *table)
{
	if (!depth) {
		visit();
		return 1;
	}
	return FUNCTION(_d)(depth - 1, visit) + table[1] * table[2];
}

int __attribute__((noinline)) FUNCTION(_d)(int depth, visitor visit)
{
	volatile char buffer[200];
	buffer[depth] = 1;
	if (!depth)
		visit();
	else
		buffer[1] = (char)FUNCTION(_a)(depth - 1, visit);
	return buffer[1] + buffer[depth];
}
