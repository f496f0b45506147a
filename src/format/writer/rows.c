/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values by context, out of core: every bucket's slices become rows; see writer.h.
 *
 * A bucket is as much as one thread may hold. Buckets are worked on in rounds, one for each thread
 * of each rank, because where a bucket's rows lie in the file is known when those before it are
 * made: the ranks send each other slices, every thread makes its bucket's rows, sizes are added up,
 * and everybody writes.
 */
#include "writer.h"

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
		sums += rows * sizeof(*writer->pairs) + contexts * sizeof(*writer->row_index);
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

/* A bucket while its rows are made. */
struct making {
	struct sn_db_writer *writer;
	uint32_t bucket, first_context, end_context;
	unsigned char *bytes; /* slices */
	size_t length;
	const struct sn_slice **slices; /* by profile */
	size_t slice_count, element_count;
	uint64_t *starts; /* [pair]: while elements are placed, where the next one goes */
	uint32_t *profiles;
	double *numbers;
	/* what comes of it */
	struct sn_major all;		 /* entries and data of all its contexts */
	struct sn_database_index *index; /* [context]: positions within the bucket */
	struct sn_pair *pairs;
	uint64_t data_at; /* of its data among those of all buckets */
};

static void release_making(struct making *making)
{
	free(making->bytes);
	free(making->slices);
	free(making->starts);
	free(making->profiles);
	free(making->numbers);
	free(making->index);
	free(making->pairs);
	sn_major_release(&making->all);
}

/* The row of a metric at a context, counted from the bucket's first. */
static size_t pair_of(const struct making *making, uint32_t context, uint32_t metric)
{
	const struct sn_db_axes *axes = &making->writer->axes;
	const uint64_t *words = axes->rows + (size_t)context * axes->row_words;
	uint64_t below = words[metric / 64] & ((1ull << metric % 64) - 1);
	return making->writer->first_rows[context] -
	       making->writer->first_rows[making->first_context] + count_bits(words, metric / 64) +
	       (uint32_t)__builtin_popcountll(below);
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
static int list_slices(struct making *making)
{
	size_t capacity = 0;
	for (size_t at = 0; at < making->length;) {
		const struct sn_slice *slice = (const void *)(making->bytes + at);
		if (sn_vec_reserve(&making->slices, &capacity, making->slice_count + 1) < 0)
			return SN_ERR_MEMORY;
		making->slices[making->slice_count++] = slice;
		making->element_count += slice->count;
		at += (slice_bytes(slice) + 7) & ~(size_t)7;
	}
	size_t count = making->slice_count;
	uint64_t *keys = malloc((2 * count + 1) * sizeof(*keys));
	const struct sn_slice **sorted = malloc((count + 1) * sizeof(*sorted));
	if (!keys || !sorted || count >= SONDE_NONE) {
		free(keys);
		free(sorted);
		return SN_ERR_MEMORY;
	}
	for (size_t i = 0; i < count; i++)
		keys[i] = (uint64_t)making->slices[i]->profile << 32 | i;
	sn_sort_keys(keys, keys + count, count);
	for (size_t i = 0; i < count; i++)
		sorted[i] = making->slices[(uint32_t)keys[i]];
	free(keys);
	free(making->slices);
	making->slices = sorted;
	return 0;
}

static size_t pair_count(const struct making *making)
{
	const uint64_t *first_rows = making->writer->first_rows;
	return first_rows[making->end_context] - first_rows[making->first_context];
}

/* Every element to its row, the rows one after the other: a counting sort that keeps the order of
 * profiles. */
static int place_elements(struct making *making)
{
	size_t pairs = pair_count(making);
	making->starts = calloc(pairs + 2, sizeof(*making->starts));
	making->profiles = malloc((making->element_count + 1) * sizeof(*making->profiles));
	making->numbers =
	    malloc((making->element_count + 1) * SONDE_DB_PART_COUNT * sizeof(*making->numbers));
	if (!making->starts || !making->profiles || !making->numbers)
		return SN_ERR_MEMORY;
	uint64_t *starts = making->starts + 1;
	for (size_t i = 0; i < making->slice_count; i++)
		for (uint32_t j = 0; j < making->slices[i]->count; j++)
			starts[pair_of(making, contexts_of(making->slices[i])[j],
				       making->slices[i]->metric)]++;
	for (size_t i = 1; i < pairs; i++)
		starts[i] += starts[i - 1];
	for (size_t i = 0; i < making->slice_count; i++) {
		const struct sn_slice *slice = making->slices[i];
		const uint32_t *contexts = contexts_of(slice);
		struct sonde_db_columns columns;
		sn_plane_find_columns((const unsigned char *)(contexts + slice->count),
				      slice->forms, slice->count,
				      making->writer->axes.periods[slice->metric], &columns);
		for (uint32_t j = 0; j < slice->count; j++) {
			size_t at = making->starts[pair_of(making, contexts[j], slice->metric)]++;
			struct sonde_db_stat stat;
			sn_columns_stat(&columns, j, &stat);
			making->profiles[at] = slice->profile;
			memcpy(making->numbers + at * SONDE_DB_PART_COUNT, &stat, sizeof(stat));
		}
	}
	return 0;
}

static void sum_row(struct sn_pair *pair, const double *numbers, size_t count)
{
	*pair = (struct sn_pair){.profiles = count};
	for (size_t i = 0; i < count; i++) {
		struct sonde_db_stat stat;
		memcpy(&stat, numbers + i * SONDE_DB_PART_COUNT, sizeof(stat));
		sonde_db_stat_merge(&pair->exclusive, &stat);
		pair->min = i && pair->min < stat.sum ? pair->min : stat.sum;
		pair->max = i && pair->max > stat.sum ? pair->max : stat.sum;
		pair->squares += stat.sum * stat.sum;
	}
}

/* Appends a context's planes to those of the bucket. */
static int append_context(struct making *making, const struct sn_major *planes, uint32_t context)
{
	struct sn_major *all = &making->all;
	size_t entry_bytes = sn_major_entry_bytes(planes);
	struct sn_database_index *index = making->index + (context - making->first_context);
	*index = (struct sn_database_index){all->entry_count, all->data_bytes,
					    sn_major_checksum(planes)};
	if (sn_vec_reserve(&all->entries, &all->entry_capacity,
			   (all->entry_count + planes->entry_count) * entry_bytes + 1) < 0 ||
	    sn_vec_reserve(&all->data, &all->data_capacity,
			   all->data_bytes + planes->data_bytes + 1) < 0)
		return SN_ERR_MEMORY;
	if (!planes->entry_count)
		return 0;
	memcpy(all->entries + all->entry_count * entry_bytes, planes->entries,
	       planes->entry_count * entry_bytes);
	memcpy(all->data + all->data_bytes, planes->data, planes->data_bytes);
	all->entry_count += planes->entry_count;
	all->data_bytes += planes->data_bytes;
	return 0;
}

static int encode_rows(struct making *making)
{
	const struct sn_db_axes *axes = &making->writer->axes;
	struct sn_major planes;
	size_t pair = 0, first = 0;
	int result = 0;
	sn_major_init(&planes, 1);
	making->pairs = malloc((pair_count(making) + 1) * sizeof(*making->pairs));
	making->index =
	    malloc((making->end_context - making->first_context + 1ull) * sizeof(*making->index));
	if (!making->pairs || !making->index)
		result = SN_ERR_MEMORY;
	for (uint32_t c = making->first_context; c < making->end_context && !result; c++) {
		const uint64_t *words = axes->rows + (size_t)c * axes->row_words;
		sn_major_clear(&planes);
		for (uint32_t m = 0; m < axes->metric_count && !result; m++) {
			if (!(words[m / 64] >> m % 64 & 1))
				continue;
			size_t end = making->starts[pair];
			const double *numbers = making->numbers + first * SONDE_DB_PART_COUNT;
			result = sn_major_add(&planes, m, making->profiles + first, numbers,
					      end - first, axes->periods[m]);
			sum_row(making->pairs + pair++, numbers, end - first);
			first = end;
		}
		if (!result)
			result = append_context(making, &planes, c);
	}
	sn_major_release(&planes);
	return result;
}

/* This rank's slices of a bucket, from the spill; appended. */
static int read_slices(struct sn_db_writer *writer, uint32_t bucket, unsigned char **bytes,
		       size_t *length)
{
	struct sn_error error = {""};
	size_t total = *length;
	for (unsigned i = 0; i < writer->threads; i++)
		for (size_t j = 0; j < writer->workers[i].buckets[bucket].count; j++)
			total += writer->workers[i].buckets[bucket].chunks[j].length;
	unsigned char *grown = realloc(*bytes, total + 1);
	if (!grown)
		return sn_db_writer_out_of_memory(writer);
	*bytes = grown;
	for (unsigned i = 0; i < writer->threads; i++) {
		const struct sn_bucket *from = writer->workers[i].buckets + bucket;
		for (size_t j = 0; j < from->count; j++) {
			int result =
			    sn_spill_read(&writer->slices, grown + *length, from->chunks[j].length,
					  from->chunks[j].offset, &error);
			if (result)
				return sn_db_writer_fail(writer, result, "%s", error.text);
			*length += from->chunks[j].length;
		}
	}
	return 0;
}

/* A round: buckets first .. first + ranks * threads - 1, of which this rank has `threads`. */
struct round {
	struct sn_db_writer *writer;
	uint32_t first;
	struct making *makings; /* [thread] */
	uint64_t entries_at, data_at;
};

static uint32_t bucket_at(const struct round *round, unsigned rank, unsigned thread)
{
	return round->first + rank * round->writer->threads + thread;
}

static int make_bucket(void *context, unsigned number, size_t item)
{
	struct round *round = context;
	struct sn_db_writer *writer = round->writer;
	struct making *making = round->makings + item;
	int result = 0;
	(void)number;
	if (making->bucket >= writer->axes.bucket_count)
		return 0;
	if (writer->peers->size() == 1)
		result = read_slices(writer, making->bucket, &making->bytes, &making->length);
	if (result)
		return result;
	if (list_slices(making) || place_elements(making) || encode_rows(making))
		return sn_db_writer_out_of_memory(writer);
	/* what is left is written after everybody's size is known */
	free(making->bytes);
	free(making->profiles);
	free(making->numbers);
	making->bytes = NULL;
	making->profiles = NULL;
	making->numbers = NULL;
	return 0;
}

/* Packs a rank's buckets of the round, each after its length. */
static int pack_for(struct round *round, unsigned rank, struct sn_pack *pack)
{
	struct sn_db_writer *writer = round->writer;
	for (unsigned t = 0; t < writer->threads; t++) {
		uint32_t bucket = bucket_at(round, rank, t);
		unsigned char *bytes = NULL;
		size_t length = 0;
		if (bucket >= writer->axes.bucket_count)
			break;
		int result = read_slices(writer, bucket, &bytes, &length);
		sn_pack_array(pack, bytes, result ? 0 : length, 1);
		free(bytes);
		if (result)
			return result;
	}
	return pack->failed ? sn_db_writer_out_of_memory(writer) : 0;
}

static int take_slices(struct round *round, const struct sn_peer_part *part)
{
	struct sn_unpack unpack = {part->bytes, part->length, false};
	for (unsigned t = 0; t < round->writer->threads && unpack.left; t++) {
		struct making *making = round->makings + t;
		uint64_t length = sn_unpack_number(&unpack);
		const void *bytes = sn_unpack_take(&unpack, length);
		unsigned char *grown =
		    bytes ? realloc(making->bytes, making->length + length + 1) : NULL;
		if (!grown)
			return sn_db_writer_out_of_memory(round->writer);
		memcpy(grown + making->length, bytes, length);
		making->bytes = grown;
		making->length += length;
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
		struct sn_pack pack = {0};
		int failed = pack_for(round, r, &pack);
		result = result ? result : failed;
		out[r] = (struct sn_peer_part){pack.bytes, pack.failed ? 0 : pack.length};
	}
	writer->peers->exchange(out, in);
	for (unsigned r = 0; r < ranks; r++) {
		int failed = result ? 0 : take_slices(round, in + r);
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
		sizes[t] = round->makings[t].all.data_bytes;
	struct sn_peer_part *parts =
	    ranks > 1 ? writer->peers->gather(sizes, threads * sizeof(*sizes)) : NULL;
	for (unsigned r = 0; r < ranks; r++) {
		if (parts)
			memcpy(sizes, parts[r].bytes, threads * sizeof(*sizes));
		writer->peers->broadcast(sizes, threads * sizeof(*sizes));
		for (unsigned t = 0; t < threads; t++) {
			if (r == writer->peers->rank())
				round->makings[t].data_at = base;
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
	struct making *making = round->makings + item;
	size_t entry_bytes = sn_major_entry_bytes(&making->all);
	(void)number;
	if (making->bucket >= writer->axes.bucket_count)
		return 0;
	uint64_t first_row = writer->first_rows[making->first_context];
	int failed = sn_db_file_put(writer->file.fd, making->all.entries,
				    making->all.entry_count * entry_bytes,
				    round->entries_at + first_row * entry_bytes);
	if (!failed)
		failed = sn_db_file_put(writer->file.fd, making->all.data, making->all.data_bytes,
					round->data_at + making->data_at);
	for (uint32_t c = 0; c < making->end_context - making->first_context; c++) {
		making->index[c].first += first_row;
		making->index[c].data += making->data_at;
	}
	return sn_db_writer_cannot_write(writer, failed);
}

/* A rank's index and pairs of the round, into rank 0's. */
static void take_buckets(struct sn_db_writer *writer, const struct sn_peer_part *part)
{
	struct sn_unpack unpack = {part->bytes, part->length, false};
	while (unpack.left && !unpack.failed) {
		uint64_t context = sn_unpack_number(&unpack);
		size_t contexts = sn_unpack_number(&unpack) * sizeof(*writer->row_index);
		const void *index = sn_unpack_take(&unpack, contexts);
		size_t pairs = sn_unpack_number(&unpack) * sizeof(*writer->pairs);
		const void *pair = sn_unpack_take(&unpack, pairs);
		if (unpack.failed)
			break;
		memcpy(writer->row_index + context, index, contexts);
		memcpy(writer->pairs + writer->first_rows[context], pair, pairs);
	}
}

static int collect_buckets(struct round *round)
{
	struct sn_db_writer *writer = round->writer;
	unsigned ranks = writer->peers->size();
	struct sn_pack pack = {0};
	for (unsigned t = 0; t < writer->threads; t++) {
		const struct making *making = round->makings + t;
		if (making->bucket >= writer->axes.bucket_count || !making->index)
			break;
		sn_pack_number(&pack, making->first_context);
		sn_pack_array(&pack, making->index, making->end_context - making->first_context,
			      sizeof(*making->index));
		sn_pack_array(&pack, making->pairs, pair_count(making), sizeof(*making->pairs));
	}
	struct sn_peer_part own = {pack.bytes, pack.failed ? 0 : pack.length};
	struct sn_peer_part *parts =
	    ranks > 1 ? writer->peers->gather(own.bytes, own.length) : &own;
	for (unsigned r = 0; parts && r < ranks; r++)
		take_buckets(writer, parts + r);
	if (parts != &own)
		sn_peers_free_parts(parts, parts ? ranks : 0);
	bool has_failed = pack.failed;
	sn_pack_release(&pack);
	return has_failed ? sn_db_writer_out_of_memory(writer) : 0;
}

static int begin_round(struct round *round)
{
	struct sn_db_writer *writer = round->writer;
	const struct sn_db_axes *axes = &writer->axes;
	for (unsigned t = 0; t < writer->threads; t++) {
		uint32_t bucket = bucket_at(round, writer->peers->rank(), t);
		struct making *making = round->makings + t;
		*making = (struct making){.writer = writer, .bucket = bucket};
		sn_major_init(&making->all, 1);
		if (bucket >= axes->bucket_count)
			continue;
		making->first_context = bucket ? axes->bucket_ends[bucket - 1] : 0;
		making->end_context = axes->bucket_ends[bucket];
	}
	return writer->peers->size() > 1 ? exchange_slices(round) : 0;
}

static int work_round(struct round *round, uint64_t *used)
{
	struct sn_db_writer *writer = round->writer;
	int result = begin_round(round);
	if (!result)
		result = sn_pool_run(writer->threads, writer->threads, make_bucket, round);
	result = writer->peers->agree(result, writer->error);
	if (!result) {
		place_buckets(round, used);
		result = sn_pool_run(writer->threads, writer->threads, write_bucket, round);
		int failed = collect_buckets(round);
		result = writer->peers->agree(result ? result : failed, writer->error);
	}
	for (unsigned t = 0; t < writer->threads; t++)
		release_making(round->makings + t);
	return result;
}

int sn_rows_write(struct sn_db_writer *writer, uint64_t entries_at, uint64_t data_at)
{
	const struct sn_db_axes *axes = &writer->axes;
	uint32_t step = writer->threads * writer->peers->size();
	uint64_t used = 0, rows = writer->first_rows[axes->context_count];
	struct round round = {.writer = writer,
			      .makings = calloc(writer->threads, sizeof(*round.makings)),
			      .entries_at = entries_at,
			      .data_at = data_at};
	int result = round.makings ? 0 : SN_ERR_MEMORY;
	if (!writer->peers->rank()) {
		writer->row_index =
		    malloc((axes->context_count + 1ull) * sizeof(*writer->row_index));
		writer->pairs = malloc((rows + 1) * sizeof(*writer->pairs));
		if (!writer->row_index || !writer->pairs)
			result = SN_ERR_MEMORY;
	}
	if (result)
		sn_db_writer_out_of_memory(writer);
	result = writer->peers->agree(result, writer->error);
	for (; round.first < axes->bucket_count && !result; round.first += step)
		result = work_round(&round, &used);
	if (!result && !writer->peers->rank())
		writer->row_index[axes->context_count] = (struct sn_database_index){rows, used, 0};
	free(round.makings);
	sn_spill_close(&writer->slices);
	return result;
}
