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
 */
#ifndef SN_BASE_SORT_BY_H
#define SN_BASE_SORT_BY_H

#include "sort.h"

#include <stdlib.h>

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

#endif
