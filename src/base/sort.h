/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorting numbers by their bytes (radix sort), without comparisons; and the parts of comparison
 * functions for qsort:
 *
 *	return SN_ORDER_BY(a, b, module, address);
 *	return sn_order_then(strcmp(a->name, b->name), SN_ORDER(a->address, b->address));
 *
 * A number may carry its origin in its lower 32 bits. Costs a pass over all numbers for each byte
 * in which any two differ; few numbers are sorted by qsort.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* -1, 0 or 1: a before, equal to, or after b. For numbers of any type. */
#define SN_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* The same for two structs, by up to 20 of their fields (part.field is one, too), the most
 * significant first.
 */
#define SN_ORDER_BY(a, b, ...)                                                                     \
	(SN_ORDER_SCAN4(                                                                           \
	    SN_ORDER_SCAN4(SN_ORDER_SCAN4(SN_ORDER_SCAN4(SN_ORDER_FIELDS(a, b, __VA_ARGS__))))))
/* One field, and the rest at the next scan, because a macro is not expanded within itself. */
#define SN_ORDER_FIELDS(a, b, field, ...)                                                          \
	SN_ORDER((a)->field, (b)->field)                                                           \
	__VA_OPT__(?: SN_ORDER_AGAIN SN_ORDER_PARENTHESES(a, b, __VA_ARGS__))
#define SN_ORDER_AGAIN()     SN_ORDER_FIELDS
#define SN_ORDER_PARENTHESES ()
#define SN_ORDER_SCAN4(...)  SN_ORDER_SCAN(SN_ORDER_SCAN(SN_ORDER_SCAN(SN_ORDER_SCAN(__VA_ARGS__))))
#define SN_ORDER_SCAN(...)   __VA_ARGS__

/* The first order, or if that is 0 the second. */
static inline int sn_order_then(int first, int second)
{
	return first ? first : second;
}

/* Ascending. Takes memory for a copy of the numbers, or without it more time. */
void sn_sort_u64(uint64_t *numbers, size_t count);
/* Ascending; none may be a NaN. */
void sn_sort_doubles(double *numbers, size_t count);
/* Sorts them; returns the middle one, or the mean of two. There must be at least one. */
double sn_sort_median(double *numbers, size_t count);
/* Stable sort by the upper 32 bits: among equal ones the lower 32 bits, which must ascend at first,
 * still ascend afterwards. `other` is as long as `keys`. */
void sn_sort_keys(uint64_t *keys, uint64_t *other, size_t count);
/* Moves one of each of the ascending numbers to the front. Returns how many these are. */
size_t sn_sort_unique(uint64_t *numbers, size_t count);
