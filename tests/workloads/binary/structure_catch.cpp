// SPDX-License-Identifier: Apache-2.0
/*
 * Loops in and around handlers of exceptions. Lines marked "in NAME" lie in that loop, wherever the
 * compiler put them; tests/cli/binary/test_structure.py.
 */
#include <stdexcept>
#include <string>

#define KEEP __attribute__((noinline))

volatile int sink, limit = 5;

KEEP void may_throw(int i)
{
	sink = sink + 1;
	if (i % 7 == 3)
		throw std::runtime_error("seven");
}

KEEP void note(const char *)
{
	sink = sink + 1;
}

KEEP int around(int n)
{
	int bad = 0;
	for (int i = 0; i < n; i++) { /* loop around */
		try {
			may_throw(i); /* in around */
		} catch (const std::exception &e) {
			note(e.what()); /* in around */
			bad++;
		}
	}
	return bad;
}

KEEP int within(int n)
{
	try {
		may_throw(n);
	} catch (...) {
		for (int j = 0; j < limit; j++) /* loop within */
			note("j");		/* in within */
		return 1;
	}
	return 0;
}

/* Goes round only by exceptions. */
KEEP int retry(int n)
{
	while (n < limit + 100) { /* loop retry */
		try {
			std::string s(n, 'x');
			may_throw(n); /* in retry */
			return (int)s.size();
		} catch (const std::runtime_error &) {
			for (int k = 0; k < limit; k++) /* loop again */
				note("k");		/* in again */
			n++;
		}
	}
	return 0;
}

/* The handler leaves the loop: it is none of it. */
KEEP int leaves(int n)
{
	try {
		for (int i = 0; i < n; i++) /* loop leaves */
			may_throw(i);	    /* in leaves */
	} catch (...) {
		note("left"); /* outside */
	}
	return n;
}

int main()
{
	return around(10) + within(3) + retry(3) + leaves(9) == 0;
}
