/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorting by an expression: SN_SORT_BY defines a function that sorts an array of one type. The
 * expression is below, equal to or above 0 if *a comes before, is equal to or comes after *b:
 *
 *	SN_SORT_BY(sort_rows, struct row, const void *,
 *		   SN_ORDER(b->time_ns, a->time_ns) ?: SN_ORDER(a->number, b->number))
 *
 *	sort_rows(rows, count, NULL);
 *
 * To sort indices of items, `of` is the array of the items:
 *
 *	SN_SORT_BY(sort_numbers, uint32_t, const struct row *, SN_ORDER(of[*a].name, of[*b].name))
 *
 * Items may be NULL if there are none. Costs as much as qsort. The order itself, for a binary
 * search: sort_rows_order(row, &wanted, NULL) < 0.
 *
 * For what is nearly sorted SN_MERGE_SORT defines a natural merge sort of an array of one
 * type. It is stable, and costs `count` comparisons for each time that the number of ascending runs
 * has to be halved, so one pass where all ascends. The expression is true if *b, which comes later,
 * belongs before *a; it may use `of`, the last argument of the function:
 *
 *	SN_MERGE_SORT(sort_calls, struct call, const void *, b->start_ns < a->start_ns)
 *
 *	result = sort_calls(&calls, count, NULL);
 *
 * The function replaces the array by another of `count` items and frees the old one. 0, or
 * SN_ERR_MEMORY, and then the array is as it was. sort_calls_with(&calls, &room, count, NULL) is
 * for whoever keeps a second array of `count` items: it may exchange the two, and cannot fail.
 */
#pragma once

#include "error.h"
#include "sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* `order` may use `of`, the last argument of the function. */
#define SN_SORT_BY(name, type, of_type, order)                                                     \
	static int name##_order(const void *left, const void *right, void *sorted_by)              \
	{                                                                                          \
		const __typeof__(type) *a = left, *b = right;                                      \
		of_type of = sorted_by;                                                            \
		(void)of;                                                                          \
		return order;                                                                      \
	}                                                                                          \
	static inline void name(type *items, size_t count, of_type of)                             \
	{                                                                                          \
		if (count > 1)                                                                     \
			qsort_r(items, count, sizeof(*items), name##_order, (void *)of);           \
	}                                                                                          \
	_Static_assert(sizeof(type) > 0, "takes the semicolon")

#define SN_MERGE_SORT(name, type, of_type, is_before)                                              \
	static inline bool name##_is_before(const __typeof__(type) *b, const __typeof__(type) *a,  \
					    of_type of)                                            \
	{                                                                                          \
		(void)of;                                                                          \
		return is_before;                                                                  \
	}                                                                                          \
	/* one past the ascending run that begins at `first` */                                    \
	static size_t name##_run_end(const __typeof__(type) *items, size_t first, size_t count,    \
				     of_type of)                                                   \
	{                                                                                          \
		size_t i = first + 1;                                                              \
		while (i < count && !name##_is_before(items + i, items + i - 1, of))               \
			i++;                                                                       \
		return i < count ? i : count;                                                      \
	}                                                                                          \
	static void name##_merge(const __typeof__(type) *from, size_t first, size_t middle,        \
				 size_t end, __typeof__(type) *to, of_type of)                     \
	{                                                                                          \
		size_t left = first, right = middle, i = first;                                    \
		while (left < middle && right < end)                                               \
			to[i++] = name##_is_before(from + right, from + left, of) ? from[right++]  \
										  : from[left++];  \
		memcpy(to + i, from + left, (middle - left) * sizeof(*to));                        \
		memcpy(to + i + middle - left, from + right, (end - right) * sizeof(*to));         \
	}                                                                                          \
	static void name##_with(__typeof__(type) **items, __typeof__(type) **room, size_t count,   \
				of_type of)                                                        \
	{                                                                                          \
		for (size_t runs = count; runs > 1;) {                                             \
			__typeof__(type) *from = *items, *to = *room;                              \
			runs = 0;                                                                  \
			for (size_t first = 0, end; first < count; first = end, runs++) {          \
				size_t middle = name##_run_end(from, first, count, of);            \
				end = name##_run_end(from, middle, count, of);                     \
				name##_merge(from, first, middle, end, to, of);                    \
			}                                                                          \
			*items = to;                                                               \
			*room = from;                                                              \
		}                                                                                  \
	}                                                                                          \
	__attribute__((unused)) static int name(__typeof__(type) **items, size_t count,            \
						of_type of)                                        \
	{                                                                                          \
		__typeof__(type) *room = count ? malloc(count * sizeof(*room)) : NULL;             \
		if (count && !room)                                                                \
			return SN_ERR_MEMORY;                                                      \
		name##_with(items, &room, count, of);                                              \
		free(room);                                                                        \
		return 0;                                                                          \
	}                                                                                          \
	_Static_assert(sizeof(type) > 0, "takes the semicolon")
