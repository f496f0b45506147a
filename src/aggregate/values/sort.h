/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting numbers that carry where they came from. */
#ifndef SN_AGGREGATE_SORT_H
#define SN_AGGREGATE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* By the upper 32 bits; where those are equal the lower ones, which must ascend at first, still
 * ascend afterwards. `other` is as long as `keys`. */
void sn_sort_keys(uint64_t *keys, uint64_t *other, size_t count);

#endif
