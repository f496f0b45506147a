/* SPDX-License-Identifier: Apache-2.0 */
/* A radix sort, byte by byte from the lowest that differs; see sort.h. */
#include "sort.h"

#include <stdlib.h>
#include <string.h>

enum { FEW = 256 };

static int compare_numbers(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return SN_ORDER(a, b);
}

/* By the bits from `shift` on. */
static void sort_bytes(uint64_t *keys, uint64_t *other, size_t count, int shift)
{
	uint64_t differing = 0;
	for (size_t i = 1; i < count; i++)
		differing |= keys[i] ^ keys[0];
	uint64_t *from = keys, *to = other;
	for (; shift < 64; shift += 8) {
		size_t starts[256] = {0}, next = 0;
		if (!(differing >> shift & 255))
			continue;
		for (size_t i = 0; i < count; i++)
			starts[from[i] >> shift & 255]++;
		for (int b = 0; b < 256; b++) {
			size_t here = starts[b];
			starts[b] = next;
			next += here;
		}
		for (size_t i = 0; i < count; i++)
			to[starts[from[i] >> shift & 255]++] = from[i];
		uint64_t *swap = from;
		from = to;
		to = swap;
	}
	if (from != keys)
		memcpy(keys, from, count * sizeof(*keys));
}

void sn_sort_u64(uint64_t *numbers, size_t count)
{
	uint64_t *other = count < FEW ? NULL : malloc(count * sizeof(*other));
	if (other)
		sort_bytes(numbers, other, count, 0);
	else if (count)
		qsort(numbers, count, sizeof(*numbers), compare_numbers);
	free(other);
}

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return SN_ORDER(a, b);
}

void sn_sort_doubles(double *numbers, size_t count)
{
	if (count)
		qsort(numbers, count, sizeof(*numbers), compare_doubles);
}

double sn_sort_median(double *numbers, size_t count)
{
	sn_sort_doubles(numbers, count);
	double middle = numbers[count / 2];
	return count % 2 ? middle : (numbers[count / 2 - 1] + middle) / 2;
}

void sn_sort_keys(uint64_t *keys, uint64_t *other, size_t count)
{
	if (count >= FEW)
		sort_bytes(keys, other, count, 32);
	else if (count)
		qsort(keys, count, sizeof(*keys), compare_numbers);
}

size_t sn_sort_unique(uint64_t *numbers, size_t count)
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++)
		if (!kept || numbers[i] != numbers[kept - 1])
			numbers[kept++] = numbers[i];
	return kept;
}
