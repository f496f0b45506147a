/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted in memory, written, and merged by a heap; see runs.h. */
#include "runs.h"

#include "heap.h"
#include "sort.h"
#include "vec.h"

#include <string.h>

/* Merging keeps BUFFER_BYTES of each run in memory. */
enum { BUFFER_BYTES = 16 << 10, WORDS_MAX = 8 };

struct sn_run {
	uint64_t offset, left; /* records that are not in the buffer */
	uint64_t *buffer;      /* of the run in memory its records themselves */
	size_t at, count;
};

void sn_runs_init(struct sn_runs *runs, size_t words, size_t key_words, size_t memory_bytes)
{
	*runs = (struct sn_runs){
	    .words = words,
	    .key_words = key_words,
	    .memory_bytes = memory_bytes,
	    .is_ordered = true,
	    .file = {.folder = sn_spill_folder(NULL), .fd = -1},
	};
}

void sn_runs_release(struct sn_runs *runs)
{
	for (size_t i = 0; i < runs->run_count; i++)
		if (runs->runs[i].buffer != runs->items)
			free(runs->runs[i].buffer);
	if (runs->file.folder)
		sn_spill_close(&runs->file);
	free(runs->runs);
	free(runs->items);
	free(runs->heap);
	*runs = (struct sn_runs){0};
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

static void sort(struct sn_runs *runs)
{
	size_t record_bytes = runs->words * sizeof(uint64_t);
	if (!runs->is_ordered && runs->words == 1)
		sn_sort_u64(runs->items, runs->count);
	else if (!runs->is_ordered)
		qsort_r(runs->items, runs->count, record_bytes, compare_records, &runs->key_words);
	runs->is_ordered = true;
}

static struct sn_run *new_run(struct sn_runs *runs)
{
	if (sn_vec_reserve(&runs->runs, &runs->run_capacity, runs->run_count + 1) < 0)
		return NULL;
	struct sn_run *run = runs->runs + runs->run_count++;
	*run = (struct sn_run){0};
	return run;
}

static int write_run(struct sn_runs *runs, struct sn_error *error)
{
	struct sn_run *run = new_run(runs);
	if (!run)
		return sn_fail_memory(error);
	sort(runs);
	run->offset = runs->file.length;
	run->left = runs->count;
	sn_spill_write(&runs->file, runs->items, runs->count * runs->words * sizeof(uint64_t));
	runs->count = 0;
	return runs->file.failed ? sn_spill_finish(&runs->file, error) : 0;
}

int sn_runs_add(struct sn_runs *runs, const uint64_t *record, struct sn_error *error)
{
	size_t words = runs->words;
	/* sorting takes as much memory again */
	if (runs->count && runs->count * words * sizeof(uint64_t) * 2 >= runs->memory_bytes) {
		int result = write_run(runs, error);
		if (result)
			return result;
	}
	if (sn_vec_reserve(&runs->items, &runs->capacity, (runs->count + 1) * words) < 0)
		return sn_fail_memory(error);
	uint64_t *item = runs->items + runs->count * words;
	memcpy(item, record, words * sizeof(uint64_t));
	if (runs->count && compare(item, item - words, runs->key_words) < 0)
		runs->is_ordered = false;
	runs->count++;
	runs->total++;
	return 0;
}

/* ---- reading ---- */

static const uint64_t *head_of(const struct sn_runs *runs, uint32_t number)
{
	const struct sn_run *run = runs->runs + number;
	return run->buffer + run->at * runs->words;
}

static bool goes_before(const struct sn_runs *runs, uint32_t left, uint32_t right)
{
	int order = compare(head_of(runs, left), head_of(runs, right), runs->key_words);
	return order ? order < 0 : left < right;
}

SN_HEAP(heads, uint32_t, const struct sn_runs *, goes_before(of, *a, *b));

/* The next records of a run; run->count is 0 where there are none. */
static int refill(struct sn_runs *runs, struct sn_run *run, struct sn_error *error)
{
	size_t record_bytes = runs->words * sizeof(uint64_t), most = BUFFER_BYTES / record_bytes;
	run->at = 0;
	run->count = run->left < most ? (size_t)run->left : most;
	if (!run->count)
		return 0;
	if (!run->buffer)
		run->buffer = malloc(BUFFER_BYTES);
	if (!run->buffer)
		return sn_fail_memory(error);
	int result =
	    sn_spill_read(&runs->file, run->buffer, run->count * record_bytes, run->offset, error);
	if (result)
		return result;
	run->offset += run->count * record_bytes;
	run->left -= run->count;
	return 0;
}

int sn_runs_finish(struct sn_runs *runs, struct sn_error *error)
{
	int result = sn_spill_finish(&runs->file, error);
	sort(runs);
	struct sn_run *last = result ? NULL : new_run(runs);
	runs->heap = calloc(runs->run_count + 1, sizeof(*runs->heap));
	if (!result && (!last || !runs->heap))
		return sn_fail_memory(error);
	for (size_t i = 0; i + 1 < runs->run_count && !result; i++)
		result = refill(runs, runs->runs + i, error);
	if (result)
		return result;
	*last = (struct sn_run){.buffer = runs->items, .count = runs->count};
	for (uint32_t i = 0; i < runs->run_count; i++)
		if (runs->runs[i].count)
			runs->heap[runs->heap_count++] = i;
	heads_build(runs->heap, runs->heap_count, runs);
	return 0;
}

int sn_runs_next(struct sn_runs *runs, uint64_t *record, struct sn_error *error)
{
	if (!runs->heap_count)
		return 0;
	struct sn_run *run = runs->runs + runs->heap[0];
	memcpy(record, run->buffer + run->at * runs->words, runs->words * sizeof(uint64_t));
	if (++run->at == run->count) {
		int result = refill(runs, run, error);
		if (result)
			return result;
		if (!run->count)
			runs->heap[0] = runs->heap[--runs->heap_count];
	}
	heads_sink(runs->heap, runs->heap_count, 0, runs);
	return 1;
}
