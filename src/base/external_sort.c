/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted in memory, written, and merged by a heap; see external_sort.h. */
#include "external_sort.h"

#include "heap.h"
#include "sort.h"
#include "vec.h"

#include <string.h>

/* Merging keeps BUFFER_BYTES of each run in memory. */
enum { BUFFER_BYTES = 16 << 10 };

struct sn_sorted_run {
	uint64_t offset, left; /* records that are not in the buffer */
	uint64_t *buffer;      /* of the run in memory its records themselves */
	size_t at, count;
};

void sn_external_sort_init(struct sn_external_sort *sort, size_t words, size_t key_words,
			   size_t memory_bytes)
{
	*sort = (struct sn_external_sort){
	    .words = words,
	    .key_words = key_words,
	    .memory_bytes = memory_bytes,
	    .is_ordered = true,
	    .file = {.folder = sn_spill_folder(NULL), .fd = -1},
	};
}

void sn_external_sort_release(struct sn_external_sort *sort)
{
	for (size_t i = 0; i < sort->run_count; i++)
		if (sort->runs[i].buffer != sort->items)
			free(sort->runs[i].buffer);
	if (sort->file.folder)
		sn_spill_close(&sort->file);
	free(sort->runs);
	free(sort->items);
	free(sort->heap);
	*sort = (struct sn_external_sort){0};
}

static int compare(const uint64_t *left, const uint64_t *right, size_t key_words)
{
	for (size_t i = 0; i < key_words; i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

static int compare_records(const void *left, const void *right, void *key_words)
{
	return compare(left, right, *(size_t *)key_words);
}

static void sort_items(struct sn_external_sort *sort)
{
	size_t record_bytes = sort->words * sizeof(uint64_t);
	if (!sort->is_ordered && sort->words == 1)
		sn_sort_u64(sort->items, sort->count);
	else if (!sort->is_ordered)
		qsort_r(sort->items, sort->count, record_bytes, compare_records, &sort->key_words);
	sort->is_ordered = true;
}

static struct sn_sorted_run *new_run(struct sn_external_sort *sort)
{
	if (sn_vec_reserve(&sort->runs, &sort->run_capacity, sort->run_count + 1) < 0)
		return NULL;
	struct sn_sorted_run *run = sort->runs + sort->run_count++;
	*run = (struct sn_sorted_run){0};
	return run;
}

static int write_run(struct sn_external_sort *sort, struct sn_error *error)
{
	struct sn_sorted_run *run = new_run(sort);
	if (!run)
		return sn_fail_memory(error);
	sort_items(sort);
	run->offset = sort->file.length;
	run->left = sort->count;
	sn_spill_write(&sort->file, sort->items, sort->count * sort->words * sizeof(uint64_t));
	sort->count = 0;
	return sort->file.failed ? sn_spill_finish(&sort->file, error) : 0;
}

int sn_external_sort_add(struct sn_external_sort *sort, const uint64_t *record,
			 struct sn_error *error)
{
	size_t words = sort->words;
	/* sorting takes as much memory again */
	if (sort->count && sort->count * words * sizeof(uint64_t) * 2 >= sort->memory_bytes) {
		int result = write_run(sort, error);
		if (result)
			return result;
	}
	if (sn_vec_reserve(&sort->items, &sort->capacity, (sort->count + 1) * words) < 0)
		return sn_fail_memory(error);
	uint64_t *item = sort->items + sort->count * words;
	memcpy(item, record, words * sizeof(uint64_t));
	if (sort->count && compare(item, item - words, sort->key_words) < 0)
		sort->is_ordered = false;
	sort->count++;
	sort->total++;
	return 0;
}

/* ---- reading ---- */

static const uint64_t *head_of(const struct sn_external_sort *sort, uint32_t number)
{
	const struct sn_sorted_run *run = sort->runs + number;
	return run->buffer + run->at * sort->words;
}

static bool goes_before(const struct sn_external_sort *sort, uint32_t left, uint32_t right)
{
	int order = compare(head_of(sort, left), head_of(sort, right), sort->key_words);
	return order ? order < 0 : left < right;
}

SN_HEAP(heads, uint32_t, const struct sn_external_sort *, goes_before(of, *a, *b));

/* The next records of a run; run->count is 0 where there are none. */
static int refill(struct sn_external_sort *sort, struct sn_sorted_run *run, struct sn_error *error)
{
	size_t record_bytes = sort->words * sizeof(uint64_t), most = BUFFER_BYTES / record_bytes;
	run->at = 0;
	run->count = run->left < most ? (size_t)run->left : most;
	if (!run->count)
		return 0;
	if (!run->buffer)
		run->buffer = malloc(BUFFER_BYTES);
	if (!run->buffer)
		return sn_fail_memory(error);
	int result =
	    sn_spill_read(&sort->file, run->buffer, run->count * record_bytes, run->offset, error);
	if (result)
		return result;
	run->offset += run->count * record_bytes;
	run->left -= run->count;
	return 0;
}

int sn_external_sort_finish(struct sn_external_sort *sort, struct sn_error *error)
{
	int result = sn_spill_finish(&sort->file, error);
	sort_items(sort);
	struct sn_sorted_run *last = result ? NULL : new_run(sort);
	sort->heap = calloc(sort->run_count + 1, sizeof(*sort->heap));
	if (!result && (!last || !sort->heap))
		return sn_fail_memory(error);
	for (size_t i = 0; i + 1 < sort->run_count && !result; i++)
		result = refill(sort, sort->runs + i, error);
	if (result)
		return result;
	*last = (struct sn_sorted_run){.buffer = sort->items, .count = sort->count};
	for (uint32_t i = 0; i < sort->run_count; i++)
		if (sort->runs[i].count)
			sort->heap[sort->heap_count++] = i;
	heads_build(sort->heap, sort->heap_count, sort);
	return 0;
}

int sn_external_sort_next(struct sn_external_sort *sort, uint64_t *record, struct sn_error *error)
{
	if (!sort->heap_count)
		return 0;
	struct sn_sorted_run *run = sort->runs + sort->heap[0];
	memcpy(record, run->buffer + run->at * sort->words, sort->words * sizeof(uint64_t));
	if (++run->at == run->count) {
		int result = refill(sort, run, error);
		if (result)
			return result;
		if (!run->count)
			sort->heap[0] = sort->heap[--sort->heap_count];
	}
	heads_sink(sort->heap, sort->heap_count, 0, sort);
	return 1;
}
