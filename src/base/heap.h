/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binary heaps in an array and a count of the caller's; item 0 goes before all others. The order is
 * an expression, which is compiled into the functions that SN_HEAP defines:
 *
 *	SN_HEAP(ends, struct interval, const void *, a->end_ns < b->end_ns)
 *
 *	sn_vec_reserve(&heap, &capacity, count + 1);
 *	ends_push(heap, &count, interval, NULL);
 *	while (count && heap[0].end_ns <= now)
 *		ends_pop(heap, &count, NULL);
 *
 * To merge feeds: items are the feeds' numbers, `of` is the struct that holds them,
 *
 *	SN_HEAP(feeds, uint32_t, const struct merge *, of->heads[*a] < of->heads[*b])
 *
 * feeds_sink(heap, count, 0, of) when the first feed has advanced to its next head, and feeds_pop
 * when it has none. Items that are equal in the order come in any order.
 *
 * Push, pop and sink take time logarithmic in the count, build (from any order) linear time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* `is_before`: whether *a goes before *b; may use `of`, the last argument of each function. */
#define SN_HEAP(name, type, of_type, is_before)                                                    \
	static inline bool name##_is_before(const type *a, const type *b, of_type of)              \
	{                                                                                          \
		(void)of;                                                                          \
		return is_before;                                                                  \
	}                                                                                          \
	/* Restores the order after item `place` has moved back in it. */                          \
	__attribute__((unused)) static inline void name##_sink(type *heap, size_t count,           \
							       size_t place, of_type of)           \
	{                                                                                          \
		if (place >= count)                                                                \
			return;                                                                    \
		type moved = heap[place];                                                          \
		for (size_t child; (child = 2 * place + 1) < count; place = child) {               \
			if (child + 1 < count &&                                                   \
			    name##_is_before(heap + child + 1, heap + child, of))                  \
				child++;                                                           \
			if (!name##_is_before(heap + child, &moved, of))                           \
				break;                                                             \
			heap[place] = heap[child];                                                 \
		}                                                                                  \
		heap[place] = moved;                                                               \
	}                                                                                          \
	/* Makes a heap of items in any order. */                                                  \
	__attribute__((unused)) static inline void name##_build(type *heap, size_t count,          \
								of_type of)                        \
	{                                                                                          \
		for (size_t place = count / 2; place--;)                                           \
			name##_sink(heap, count, place, of);                                       \
	}                                                                                          \
	/* There must be room for it. */                                                           \
	__attribute__((unused)) static inline void name##_push(type *heap, size_t *count,          \
							       type item, of_type of)              \
	{                                                                                          \
		size_t place = (*count)++;                                                         \
		for (size_t above; place; place = above) {                                         \
			above = (place - 1) / 2;                                                   \
			if (!name##_is_before(&item, heap + above, of))                            \
				break;                                                             \
			heap[place] = heap[above];                                                 \
		}                                                                                  \
		heap[place] = item;                                                                \
	}                                                                                          \
	/* Removes the first item, of which there must be one. */                                  \
	__attribute__((unused)) static inline void name##_pop(type *heap, size_t *count,           \
							      of_type of)                          \
	{                                                                                          \
		heap[0] = heap[--*count];                                                          \
		name##_sink(heap, *count, 0, of);                                                  \
	}                                                                                          \
	_Static_assert(sizeof(type) > 0, "takes the semicolon")
