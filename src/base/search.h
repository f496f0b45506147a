/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binary search by a condition instead of a comparison function. The condition holds for the first
 * items and for none after them; the result is the index of the first item for which it does not
 * hold. `i` is the name of the index in the condition, and the result has count's type.
 *
 *	first item that starts at 10 or later:	sn_search(i, count, items[i].start < 10)
 *	first item that starts later than 10:	sn_search(i, count, items[i].start <= 10)
 *	the item that contains 10:	the latter minus one, if it is not 0
 *
 * Costs log2(count) + 1 evaluations of the condition and no calls.
 */
#pragma once

/* Among the indices from `first` up to `end`, which is the result if the condition holds for all.
 * (The type is that of `end` without its const.) */
#define sn_search_from(i, first, end, condition)                                                   \
	({                                                                                         \
		__typeof__((end) + 0) sn_high = (end), sn_low = (first);                           \
		while (sn_low < sn_high) {                                                         \
			__typeof__((end) + 0) i = sn_low + (sn_high - sn_low) / 2;                 \
			if (condition)                                                             \
				sn_low = i + 1;                                                    \
			else                                                                       \
				sn_high = i;                                                       \
		}                                                                                  \
		sn_low;                                                                            \
	})
#define sn_search(i, count, condition) sn_search_from(i, 0, count, condition)
