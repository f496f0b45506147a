/* SPDX-License-Identifier: Apache-2.0 */
/*
 * External sort: records in order, however many. What does not fit into memory is sorted in runs,
 * which lie in an unnamed file and are merged when they are read.
 *
 * Records consist of 64-bit words, of which the first ones are what they are sorted by; records
 * equal in those come in any order. What comes in order already is never sorted.
 *
 *	sn_external_sort_init(&sort, 3, 2, 64 << 20);
 *	result = sn_external_sort_add(&sort, (uint64_t[]){major, minor, value}, error);	... for each
 *	result = sn_external_sort_finish(&sort, error);
 *	while ((result = sn_external_sort_next(&sort, record, error)) > 0) ...
 *	sn_external_sort_release(&sort);
 *
 * A record costs the sorting of a run and, where there are several, the logarithm of their number.
 */
#ifndef SN_BASE_EXTERNAL_SORT_H
#define SN_BASE_EXTERNAL_SORT_H

#include "error.h"
#include "spill.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_sorted_run; /* in the file, and being read */

struct sn_external_sort {
	size_t words, key_words; /* of a record */
	size_t memory_bytes;	 /* about as much is used, sorting included */
	uint64_t *items;	 /* the last run, in memory */
	size_t count, capacity, at;
	uint64_t total; /* records */
	struct sn_spill file;
	struct sn_sorted_run *runs;
	size_t run_count, run_capacity;
	uint32_t *heap; /* of runs being read */
	size_t heap_count;
	bool is_ordered; /* of the last run */
};

void sn_external_sort_init(struct sn_external_sort *sort, size_t words, size_t key_words,
			   size_t memory_bytes);
void sn_external_sort_release(struct sn_external_sort *sort);

/* 0 or a negative enum sn_err. */
int sn_external_sort_add(struct sn_external_sort *sort, const uint64_t *record,
			 struct sn_error *error);
/* No more are added. 0 or a negative enum sn_err. */
int sn_external_sort_finish(struct sn_external_sort *sort, struct sn_error *error);
/* The next record, in ascending order. 1, 0 at the end, or a negative enum sn_err. */
int sn_external_sort_next(struct sn_external_sort *sort, uint64_t *record, struct sn_error *error);

#endif
