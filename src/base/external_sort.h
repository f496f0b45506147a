/* SPDX-License-Identifier: Apache-2.0 */
/*
 * External sort of any number of records. Records that do not fit into memory are sorted in runs,
 * which are stored in an unnamed file and merged when they are read.
 *
 * Records consist of 64-bit words; the first ones are the key. Records with equal keys come in any
 * order. Input that is in order already is not sorted.
 *
 *	sn_external_sort_init(&sort, 3, 2, 64 << 20);
 *	result = sn_external_sort_add(&sort, (uint64_t[]){major, minor, value}, error);	... for each
 *	result = sn_external_sort_finish(&sort, error);
 *	while ((result = sn_external_sort_next(&sort, record, error)) > 0) ...
 *	sn_external_sort_release(&sort);
 *
 * A record costs its part of sorting a run and, with several runs, the logarithm of their number.
 */
#pragma once

#include "error.h"
#include "spill.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_sorted_run; /* a run in the file that is being read */

struct sn_external_sort {
	size_t words, key_words; /* of a record */
	size_t memory_bytes;	 /* approximate use, sorting included */
	uint64_t *items;	 /* the last run, in memory */
	size_t count, capacity;
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
/* Ends adding. 0 or a negative enum sn_err. */
int sn_external_sort_finish(struct sn_external_sort *sort, struct sn_error *error);
/* The next record, in ascending order. 1, 0 at the end, or a negative enum sn_err. */
int sn_external_sort_next(struct sn_external_sort *sort, uint64_t *record, struct sn_error *error);
