/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values by context, out of core: every bucket's slices become rows; see writer.h.
 *
 * A bucket is as much as one thread may hold. Buckets are worked on in rounds, one for each thread
 * of each rank, because the place of a bucket's rows in the file depends on the sizes of those
 * before it: the ranks exchange slices, every thread forms the rows of its bucket, sizes are added
 * up, and all threads write.
 */
#include "writer.h"

#include "base/file_at.h"
#include "base/pool.h"
#include "base/sort.h"
#include "base/vec.h"
#include "format/database/database_plane.h"

#include <stdlib.h>
#include <string.h>

static uint32_t count_bits(const uint64_t *words, uint32_t count)
{
	uint32_t bits = 0;
	for (uint32_t i = 0; i < count; i++)
		bits += (uint32_t)__builtin_popcountll(words[i]);
	return bits;
}

/* Rows' sums, which rank 0 has until they are summaries, first beside the buckets, then beside the
 * summaries of as many metrics as there are threads. */
static int check_sums(struct sn_db_writer *writer, uint64_t rows)
{
	uint64_t contexts = writer->axes.context_count;
	uint64_t sums = contexts * sizeof(*writer->first_rows);
	uint64_t buckets = sn_db_writer_bucket_bytes(writer), summaries = 0;
	if (!writer->peers->rank()) {
		/* filled in, encoded, and their contexts */
		uint64_t summary = 2 * sizeof(struct sonde_db_summary) + 2 * sizeof(uint32_t);
		sums += rows * sizeof(*writer->rows) + contexts * sizeof(*writer->row_index);
		summaries = writer->threads * contexts * summary;
	}
	atomic_fetch_add_explicit(&writer->sum_bytes, sums, memory_order_relaxed);
	return sn_db_writer_check_memory(writer, buckets > summaries ? buckets : summaries);
}

int sn_rows_count(struct sn_db_writer *writer)
{
	struct sn_db_axes *axes = &writer->axes;
	size_t contexts = axes->context_count;
	writer->first_rows = malloc((contexts + 1) * sizeof(*writer->first_rows));
	writer->peers->merge_bits(axes->rows, contexts * axes->row_words);
	if (!writer->first_rows)
		return sn_db_writer_out_of_memory(writer);
	uint64_t rows = 0;
	for (size_t c = 0; c < contexts; c++) {
		writer->first_rows[c] = rows;
		rows += count_bits(axes->rows + c * axes->row_words, axes->row_words);
	}
	writer->first_rows[contexts] = rows;
	return check_sums(writer, rows);
}

/* A bucket and its rows. */
struct bucket {
	struct sn_db_writer *writer;
	uint32_t number, first_context, end_context;
	struct sn_buffer bytes;		/* slices */
	const struct sn_slice **slices; /* by profile */
	size_t slice_count, element_count;
	uint64_t *starts; /* [row]: while elements are placed, where the next one goes */
	uint32_t *profiles;
	double *numbers;
	/* the result */
	struct sn_major all;		 /* entries and data of all its contexts */
	struct sn_database_index *index; /* [context]: positions within the bucket */
	struct sn_row_sums *rows;
	uint64_t data_at; /* of its data among those of all buckets */
};

/* What is not needed once the rows are known. */
static void release_input(struct bucket *bucket)
{
	sn_buffer_release(&bucket->bytes);
	free(bucket->profiles);
	free(bucket->numbers);
	bucket->profiles = NULL;
	bucket->numbers = NULL;
}

static void release_bucket(struct bucket *bucket)
{
	release_input(bucket);
	free(bucket->slices);
	free(bucket->starts);
	free(bucket->index);
	free(bucket->rows);
	sn_major_release(&bucket->all);
}

/* The row of a metric at a context, counted from the bucket's first. */
static size_t row_of(const struct bucket *bucket, uint32_t context, uint32_t metric)
{
	const struct sn_db_writer *writer = bucket->writer;
	return writer->first_rows[context] - writer->first_rows[bucket->first_context] +
	       sn_db_axes_rows_before(&writer->axes, context, metric);
}

static const uint32_t *contexts_of(const struct sn_slice *slice)
{
	return (const uint32_t *)(slice + 1);
}

static size_t slice_bytes(const struct sn_slice *slice)
{
	return sizeof(*slice) + 4ull * slice->count + sn_plane_bytes(slice->forms, slice->count);
}

/* Slices by profile. They lie in the bytes without alignment; see struct sn_slice. */
static int list_slices(struct bucket *bucket)
{
	size_t capacity = 0;
	for (size_t at = 0; at < bucket->bytes.count;) {
		const struct sn_slice *slice = (const void *)(bucket->bytes.bytes + at);
		if (sn_vec_push(&bucket->slices, &capacity, &bucket->slice_count, slice))
			return SN_ERR_MEMORY;
		bucket->element_count += slice->count;
		at += (slice_bytes(slice) + 7) & ~(size_t)7;
	}
	size_t count = bucket->slice_count;
	uint64_t *keys = malloc((2 * count + 1) * sizeof(*keys));
	const struct sn_slice **sorted = malloc((count + 1) * sizeof(*sorted));
	if (!keys || !sorted || count >= SONDE_NONE) {
		free(keys);
		free(sorted);
		return SN_ERR_MEMORY;
	}
	for (size_t i = 0; i < count; i++)
		keys[i] = (uint64_t)bucket->slices[i]->profile << 32 | i;
	sn_sort_keys(keys, keys + count, count);
	for (size_t i = 0; i < count; i++)
		sorted[i] = bucket->slices[(uint32_t)keys[i]];
	free(keys);
	free(bucket->slices);
	bucket->slices = sorted;
	return 0;
}

static size_t row_count(const struct bucket *bucket)
{
	const uint64_t *first_rows = bucket->writer->first_rows;
	return first_rows[bucket->end_context] - first_rows[bucket->first_context];
}

/* Every element to its row, the rows one after the other: a counting sort that keeps the order of
 * profiles. */
static int place_elements(struct bucket *bucket)
{
	size_t rows = row_count(bucket);
	bucket->starts = calloc(rows + 2, sizeof(*bucket->starts));
	bucket->profiles = malloc((bucket->element_count + 1) * sizeof(*bucket->profiles));
	bucket->numbers =
	    malloc((bucket->element_count + 1) * SONDE_DB_PART_COUNT * sizeof(*bucket->numbers));
	if (!bucket->starts || !bucket->profiles || !bucket->numbers)
		return SN_ERR_MEMORY;
	uint64_t *starts = bucket->starts + 1;
	for (size_t i = 0; i < bucket->slice_count; i++)
		for (uint32_t j = 0; j < bucket->slices[i]->count; j++)
			starts[row_of(bucket, contexts_of(bucket->slices[i])[j],
				      bucket->slices[i]->metric)]++;
	for (size_t i = 1; i < rows; i++)
		starts[i] += starts[i - 1];
	for (size_t i = 0; i < bucket->slice_count; i++) {
		const struct sn_slice *slice = bucket->slices[i];
		const uint32_t *contexts = contexts_of(slice);
		struct sonde_db_columns columns;
		sn_plane_find_columns((const unsigned char *)(contexts + slice->count),
				      slice->forms, slice->count,
				      bucket->writer->axes.periods[slice->metric], &columns);
		for (uint32_t j = 0; j < slice->count; j++) {
			size_t at = bucket->starts[row_of(bucket, contexts[j], slice->metric)]++;
			struct sonde_db_stat stat;
			sn_columns_stat(&columns, j, &stat);
			bucket->profiles[at] = slice->profile;
			memcpy(bucket->numbers + at * SONDE_DB_PART_COUNT, &stat, sizeof(stat));
		}
	}
	return 0;
}

static void sum_row(struct sn_row_sums *row, const double *numbers, size_t count)
{
	*row = (struct sn_row_sums){.profiles = count};
	for (size_t i = 0; i < count; i++) {
		struct sonde_db_stat stat;
		memcpy(&stat, numbers + i * SONDE_DB_PART_COUNT, sizeof(stat));
		sonde_db_stat_merge(&row->exclusive, &stat);
		row->min = i && row->min < stat.sum ? row->min : stat.sum;
		row->max = i && row->max > stat.sum ? row->max : stat.sum;
		row->squares += stat.sum * stat.sum;
	}
}

static int encode_rows(struct bucket *bucket)
{
	const struct sn_db_axes *axes = &bucket->writer->axes;
	struct sn_major planes;
	size_t row = 0, first = 0;
	int result = 0;
	sn_major_init(&planes, 1);
	bucket->rows = malloc((row_count(bucket) + 1) * sizeof(*bucket->rows));
	bucket->index =
	    malloc((bucket->end_context - bucket->first_context + 1ull) * sizeof(*bucket->index));
	if (!bucket->rows || !bucket->index)
		result = SN_ERR_MEMORY;
	for (uint32_t c = bucket->first_context; c < bucket->end_context && !result; c++) {
		const uint64_t *words = axes->rows + (size_t)c * axes->row_words;
		sn_major_clear(&planes);
		for (uint32_t m = 0; m < axes->metric_count && !result; m++) {
			if (!(words[m / 64] >> m % 64 & 1))
				continue;
			size_t end = bucket->starts[row];
			const double *numbers = bucket->numbers + first * SONDE_DB_PART_COUNT;
			result = sn_major_add(&planes, m, bucket->profiles + first, numbers,
					      end - first, axes->periods[m]);
			sum_row(bucket->rows + row++, numbers, end - first);
			first = end;
		}
		if (result)
			break;
		bucket->index[c - bucket->first_context] = (struct sn_database_index){
		    bucket->all.entry_count, bucket->all.data.count, sn_major_checksum(&planes)};
		result = sn_major_append(&bucket->all, &planes);
	}
	sn_major_release(&planes);
	return result;
}

static uint64_t slices_length(const struct sn_db_writer *writer, uint32_t bucket)
{
	uint64_t length = 0;
	for (unsigned i = 0; i < writer->threads; i++)
		for (size_t j = 0; j < writer->workers[i].buckets[bucket].count; j++)
			length += writer->workers[i].buckets[bucket].chunks[j].length;
	return length;
}

/* Appends this rank's slices of a bucket, from the spill. */
static int read_slices(struct sn_db_writer *writer, uint32_t bucket, struct sn_buffer *bytes)
{
	struct sn_error error = {""};
	unsigned char *to = sn_buffer_room(bytes, slices_length(writer, bucket));
	if (!to)
		return sn_db_writer_out_of_memory(writer);
	for (unsigned i = 0; i < writer->threads; i++) {
		const struct sn_bucket *from = writer->workers[i].buckets + bucket;
		for (size_t j = 0; j < from->count; to += from->chunks[j++].length) {
			int result = sn_spill_read(&writer->slices, to, from->chunks[j].length,
						   from->chunks[j].offset, &error);
			if (result)
				return sn_db_writer_fail(writer, result, "%s", error.text);
		}
	}
	return 0;
}

/* A round: buckets first .. first + ranks * threads - 1, of which this rank has `threads`. */
struct round {
	struct sn_db_writer *writer;
	uint32_t first;
	struct bucket *buckets; /* [thread] */
	uint64_t entries_at, data_at;
};

static uint32_t bucket_at(const struct round *round, unsigned rank, unsigned thread)
{
	return round->first + rank * round->writer->threads + thread;
}

static int form_rows(void *context, unsigned number, size_t item)
{
	struct round *round = context;
	struct sn_db_writer *writer = round->writer;
	struct bucket *bucket = round->buckets + item;
	int result = 0;
	if (bucket->number >= writer->axes.bucket_count)
		return 0;
	if (writer->peers->size() == 1)
		result = read_slices(writer, bucket->number, &bucket->bytes);
	if (result)
		return result;
	if (list_slices(bucket) || place_elements(bucket) || encode_rows(bucket))
		return sn_db_writer_out_of_memory(writer);
	/* what is left is written after everybody's size is known */
	release_input(bucket);
	return 0;
}

/* Packs a rank's buckets of the round, each after its length. */
static int pack_slices(struct round *round, unsigned rank, struct sn_buffer *out)
{
	struct sn_db_writer *writer = round->writer;
	int result = 0;
	for (unsigned t = 0; t < writer->threads && !result; t++) {
		uint32_t bucket = bucket_at(round, rank, t);
		if (bucket >= writer->axes.bucket_count)
			break;
		sn_buffer_number(out, slices_length(writer, bucket), 8);
		result = read_slices(writer, bucket, out);
	}
	return result;
}

static int append_slices(struct round *round, const struct sn_peer_part *part)
{
	struct sn_span in = {part->bytes, part->length};
	for (unsigned t = 0; t < round->writer->threads && in.count; t++) {
		struct sn_buffer *bytes = &round->buckets[t].bytes;
		uint64_t length = 0;
		sn_span_get(&in, &length, sizeof(length));
		const void *slices = sn_span_next(&in, length);
		if (slices)
			sn_buffer_put(bytes, slices, length);
		if (!slices || bytes->failed)
			return sn_db_writer_out_of_memory(round->writer);
	}
	return 0;
}

/* Sends slices to the ranks that make their buckets' rows. A rank that fails sends what it has. */
static int exchange_slices(struct round *round)
{
	struct sn_db_writer *writer = round->writer;
	unsigned ranks = writer->peers->size();
	struct sn_peer_part *out = calloc(ranks, sizeof(*out)), *in = calloc(ranks, sizeof(*in));
	int result = out && in ? 0 : sn_db_writer_out_of_memory(writer);
	if (writer->peers->agree(result, NULL)) {
		free(out);
		free(in);
		return result ? result : SN_ERR_MEMORY;
	}
	for (unsigned r = 0; r < ranks; r++) {
		struct sn_buffer slices = {0};
		int failed = pack_slices(round, r, &slices);
		result = result ? result : failed;
		out[r] = (struct sn_peer_part){slices.bytes, failed ? 0 : slices.count};
	}
	writer->peers->exchange(out, in);
	for (unsigned r = 0; r < ranks; r++) {
		int failed = result ? 0 : append_slices(round, in + r);
		result = result ? result : failed;
		free(out[r].bytes);
		free(in[r].bytes);
	}
	free(out);
	free(in);
	return result;
}

/* Where each bucket's data lie: after those of the buckets before it, on whichever rank. */
static void place_buckets(struct round *round, uint64_t *used)
{
	struct sn_db_writer *writer = round->writer;
	unsigned threads = writer->threads, ranks = writer->peers->size();
	uint64_t sizes[SN_POOL_THREADS], base = *used;
	for (unsigned t = 0; t < threads; t++)
		sizes[t] = round->buckets[t].all.data.count;
	struct sn_peer_part *parts =
	    ranks > 1 ? writer->peers->gather(sizes, threads * sizeof(*sizes)) : NULL;
	for (unsigned r = 0; r < ranks; r++) {
		if (parts)
			memcpy(sizes, parts[r].bytes, threads * sizeof(*sizes));
		writer->peers->broadcast(sizes, threads * sizeof(*sizes));
		for (unsigned t = 0; t < threads; t++) {
			if (r == writer->peers->rank())
				round->buckets[t].data_at = base;
			base += sizes[t];
		}
	}
	sn_peers_free_parts(parts, parts ? ranks : 0);
	*used = base;
}

static int write_bucket(void *context, unsigned number, size_t item)
{
	struct round *round = context;
	struct sn_db_writer *writer = round->writer;
	struct bucket *bucket = round->buckets + item;
	if (bucket->number >= writer->axes.bucket_count)
		return 0;
	uint64_t first_row = writer->first_rows[bucket->first_context];
	const struct sn_buffer *entries = &bucket->all.entries, *data = &bucket->all.data;
	int failed =
	    sn_write_at(writer->file.fd, entries->bytes, entries->count,
			round->entries_at + first_row * sn_major_entry_bytes(&bucket->all));
	if (!failed)
		failed = sn_write_at(writer->file.fd, data->bytes, data->count,
				     round->data_at + bucket->data_at);
	for (uint32_t c = 0; c < bucket->end_context - bucket->first_context; c++) {
		bucket->index[c].first += first_row;
		bucket->index[c].data += bucket->data_at;
	}
	return sn_db_writer_cannot_write(writer, failed);
}

/* A rank's index and rows of the round, into rank 0's. */
static void store_buckets(void *context, struct sn_span part)
{
	struct sn_db_writer *writer = context;
	const uint64_t *first_rows = writer->first_rows;
	uint32_t contexts[2]; /* the first, and one past the last */
	while (sn_span_get(&part, contexts, sizeof(contexts))) {
		uint64_t first = first_rows[contexts[0]], rows = first_rows[contexts[1]] - first;
		sn_span_get(&part, writer->row_index + contexts[0],
			    (contexts[1] - contexts[0]) * sizeof(*writer->row_index));
		sn_span_get(&part, writer->rows + first, rows * sizeof(*writer->rows));
	}
}

static int collect_buckets(struct round *round)
{
	struct sn_db_writer *writer = round->writer;
	struct sn_buffer out = {0};
	for (unsigned t = 0; t < writer->threads; t++) {
		const struct bucket *bucket = round->buckets + t;
		const uint32_t contexts[] = {bucket->first_context, bucket->end_context};
		if (bucket->number >= writer->axes.bucket_count || !bucket->index)
			break;
		sn_buffer_put(&out, contexts, sizeof(contexts));
		sn_buffer_put(&out, bucket->index,
			      (contexts[1] - contexts[0]) * sizeof(*bucket->index));
		sn_buffer_put(&out, bucket->rows, row_count(bucket) * sizeof(*bucket->rows));
	}
	sn_peers_collect(writer->peers, &out, store_buckets, writer);
	bool has_failed = out.failed;
	sn_buffer_release(&out);
	return has_failed ? sn_db_writer_out_of_memory(writer) : 0;
}

static int begin_round(struct round *round)
{
	struct sn_db_writer *writer = round->writer;
	const struct sn_db_axes *axes = &writer->axes;
	for (unsigned t = 0; t < writer->threads; t++) {
		uint32_t number = bucket_at(round, writer->peers->rank(), t);
		struct bucket *bucket = round->buckets + t;
		*bucket = (struct bucket){.writer = writer, .number = number};
		sn_major_init(&bucket->all, 1);
		if (number >= axes->bucket_count)
			continue;
		bucket->first_context = number ? axes->bucket_ends[number - 1] : 0;
		bucket->end_context = axes->bucket_ends[number];
	}
	return writer->peers->size() > 1 ? exchange_slices(round) : 0;
}

static int work_round(struct round *round, uint64_t *used)
{
	struct sn_db_writer *writer = round->writer;
	int result = begin_round(round);
	if (!result)
		result = sn_pool_run(writer->threads, writer->threads, form_rows, round);
	result = writer->peers->agree(result, writer->error);
	if (!result) {
		place_buckets(round, used);
		result = sn_pool_run(writer->threads, writer->threads, write_bucket, round);
		int failed = collect_buckets(round);
		result = writer->peers->agree(result ? result : failed, writer->error);
	}
	for (unsigned t = 0; t < writer->threads; t++)
		release_bucket(round->buckets + t);
	return result;
}

int sn_rows_write(struct sn_db_writer *writer, uint64_t entries_at, uint64_t data_at)
{
	const struct sn_db_axes *axes = &writer->axes;
	uint32_t step = writer->threads * writer->peers->size();
	uint64_t used = 0, rows = writer->first_rows[axes->context_count];
	struct round round = {.writer = writer,
			      .buckets = calloc(writer->threads, sizeof(*round.buckets)),
			      .entries_at = entries_at,
			      .data_at = data_at};
	int result = round.buckets ? 0 : SN_ERR_MEMORY;
	if (!writer->peers->rank()) {
		writer->row_index =
		    malloc((axes->context_count + 1ull) * sizeof(*writer->row_index));
		writer->rows = malloc((rows + 1) * sizeof(*writer->rows));
		if (!writer->row_index || !writer->rows)
			result = SN_ERR_MEMORY;
	}
	if (result)
		sn_db_writer_out_of_memory(writer);
	result = writer->peers->agree(result, writer->error);
	for (; round.first < axes->bucket_count && !result; round.first += step)
		result = work_round(&round, &used);
	if (!result && !writer->peers->rank())
		writer->row_index[axes->context_count] = (struct sn_database_index){rows, used, 0};
	free(round.buckets);
	sn_spill_close(&writer->slices);
	return result;
}
