/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of writing in order, by all ranks together; see writer.h.
 *
 * After each step the ranks agree on whether any of them has failed, so that none waits for one
 * that has ended.
 */
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void sn_db_writer_init(struct sn_db_writer *writer, const char *output, struct sn_error *error)
{
	*writer = (struct sn_db_writer){.output = output,
					.threads = 1,
					.memory = UINT64_MAX,
					.peers = &sn_peers_alone,
					.error = error,
					.pipe.fd = -1,
					.shared_fd = -1,
					.planes.fd = -1,
					.slices.fd = -1};
	pthread_mutex_init(&writer->mutex, NULL);
}

static void release_axes(struct sn_db_axes *axes)
{
	free(axes->contexts);
	free(axes->periods);
	free(axes->shifts);
	free(axes->value_counts);
	free(axes->bucket_ends);
	free(axes->inner_numbers);
	free(axes->rows);
}

static void release_worker(struct sn_db_worker *worker, uint32_t bucket_count)
{
	sn_across_release(&worker->across);
	sn_major_release(&worker->major);
	free(worker->spilled);
	for (uint32_t b = 0; worker->buckets && b < bucket_count; b++) {
		sn_buffer_release(&worker->buckets[b].slices);
		free(worker->buckets[b].chunks);
	}
	free(worker->buckets);
}

void sn_db_writer_release(struct sn_db_writer *writer)
{
	for (unsigned i = 0; writer->workers && i < writer->threads; i++)
		release_worker(writer->workers + i, writer->axes.bucket_count);
	free(writer->workers);
	free(writer->first_rows);
	free(writer->row_index);
	free(writer->rows);
	release_axes(&writer->axes);
	sn_spill_close(&writer->planes);
	sn_spill_close(&writer->slices);
	sn_spill_close(&writer->pipe);
	if (writer->is_open)
		sn_output_abandon(&writer->named);
	if (writer->shared_fd >= 0)
		close(writer->shared_fd);
	pthread_mutex_destroy(&writer->mutex);
}

int sn_db_writer_fail(struct sn_db_writer *writer, int code, const char *format, ...)
{
	va_list arguments;
	pthread_mutex_lock(&writer->mutex);
	if (!writer->has_failed && writer->error) {
		va_start(arguments, format);
		vsnprintf(writer->error->text, sizeof(writer->error->text), format, arguments);
		va_end(arguments);
	}
	writer->has_failed = true;
	pthread_mutex_unlock(&writer->mutex);
	return code;
}

int sn_db_writer_out_of_memory(struct sn_db_writer *writer)
{
	return sn_db_writer_fail(writer, SN_ERR_MEMORY, "out of memory");
}

int sn_db_writer_cannot_write(struct sn_db_writer *writer, int failed)
{
	return failed ? sn_db_writer_fail(writer, failed == ENOMEM ? SN_ERR_MEMORY : SN_ERR_IO,
					  "cannot write '%s': %s", writer->output,
					  failed == ENOMEM ? "out of memory" : strerror(failed))
		      : 0;
}

int sn_db_writer_check(struct sn_db_writer *writer, int code, const struct sn_error *error)
{
	return code ? sn_db_writer_fail(writer, code, "%s", error->text) : 0;
}

/* ---- memory ---- */

uint64_t sn_db_writer_bucket_bytes(const struct sn_db_writer *writer)
{
	return writer->memory / 3;
}

/* What every rank has in memory until the database is written. */
static uint64_t axes_bytes(const struct sn_db_axes *axes)
{
	uint64_t bytes = (uint64_t)axes->context_count * sizeof(*axes->contexts);
	if (axes->rows)
		bytes += (uint64_t)axes->context_count * axes->row_words * sizeof(*axes->rows);
	if (axes->inner_numbers)
		bytes += (uint64_t)axes->context_count * sizeof(*axes->inner_numbers);
	return bytes + (uint64_t)axes->profile_count * sizeof(struct sn_spilled_planes);
}

int sn_db_writer_check_memory(struct sn_db_writer *writer, uint64_t more)
{
	enum { PROGRAM_BYTES = 16 << 20 }; /* code, libraries, scratch */
	if (writer->memory == UINT64_MAX)
		return 0;
	uint64_t sums = atomic_load_explicit(&writer->sum_bytes, memory_order_relaxed);
	uint64_t bytes =
	    PROGRAM_BYTES + axes_bytes(&writer->axes) + writer->other_bytes + sums + more;
	if (bytes <= writer->memory)
		return 0;
	return sn_db_writer_fail(writer, SN_ERR_ARGUMENT,
				 "sums over %u contexts need more than %llu MiB of memory: allow "
				 "more with --memory (at least %lluM, or fewer threads with -j)",
				 writer->axes.context_count,
				 (unsigned long long)(writer->memory >> 20),
				 (unsigned long long)((bytes >> 20) + 1));
}

/* ---- the output ---- */

/* The output as a file that can be written anywhere. */
int sn_db_writer_open(struct sn_db_writer *writer)
{
	struct sn_error error = {""};
	int result =
	    sn_output_open_database(&writer->named, writer->output, writer->is_shared, &error);
	if (result)
		return sn_db_writer_fail(writer, result, "%s", error.text);
	writer->is_open = true;
	int fd = writer->named.fd;
	if (lseek(fd, 0, SEEK_CUR) < 0) {
		result = sn_spill_open_beside(&writer->pipe, writer->output, &error);
		fd = writer->pipe.fd;
	}
	sn_db_file_init(&writer->file, fd);
	return sn_db_writer_check(writer, result, &error);
}

int sn_db_writer_describe(struct sn_db_writer *writer, const struct sn_db_builder *builder,
			  const struct sn_db_ordered *ordered)
{
	struct sn_error error = {""};
	int failed = sn_db_file_describe(&writer->file, builder, ordered);
	if (!failed)
		failed = sn_db_file_graph(&writer->file, builder, ordered);
	if (failed)
		return sn_db_writer_cannot_write(writer, failed);
	return sn_db_writer_check(
	    writer, sn_db_file_events(&writer->file, builder, ordered, &error), &error);
}

/* How the other ranks can open the output: as rank 0 has it open, where they are on its machine, so
 * that it needs no name until it is whole; else by a name beside the output. "" on failure. */
static int name_output(struct sn_db_writer *writer, char name[PATH_MAX])
{
	if (writer->peers->is_one_host()) {
		snprintf(name, PATH_MAX, "/proc/%d/fd/%d", (int)getpid(), writer->file.fd);
		return 0;
	}
	if (writer->pipe.fd >= 0)
		return sn_db_writer_fail(writer, SN_ERR_ARGUMENT,
					 "cannot write '%s': ranks on several machines can only "
					 "write a file",
					 writer->output);
	const char *beside = sn_output_name(&writer->named);
	if (beside && realpath(beside, name))
		return 0;
	*name = 0;
	return sn_db_writer_cannot_write(writer, errno);
}

int sn_db_writer_share(struct sn_db_writer *writer)
{
	const struct sn_peers *peers = writer->peers;
	char name[PATH_MAX] = "";
	if (peers->size() == 1)
		return 0;
	int result = peers->rank() ? 0 : name_output(writer, name);
	peers->broadcast(name, sizeof(name));
	peers->broadcast(&writer->file, sizeof(writer->file));
	if (!peers->rank() || !*name)
		return result;
	writer->shared_fd = open(name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	writer->file.fd = writer->shared_fd;
	if (writer->shared_fd >= 0)
		return 0;
	return sn_db_writer_fail(
	    writer, SN_ERR_IO, "cannot write '%s': a rank cannot open '%s' (%s)%s", writer->output,
	    name, strerror(errno),
	    peers->is_one_host() ? "" : ": all must see the folder under its name");
}

/* Before the file gets its name: a file system of many machines may keep a rank's part on its own,
 * and fail to write it only now. */
static int flush_share(struct sn_db_writer *writer)
{
	if (writer->shared_fd < 0 || writer->peers->is_one_host() || !fsync(writer->shared_fd) ||
	    errno == EINVAL) /* a device has nothing to flush */
		return 0;
	return sn_db_writer_cannot_write(writer, errno);
}

/* A pipe or a terminal gets the file when it is whole. */
static int copy_to_pipe(struct sn_db_writer *writer)
{
	enum { PART = 1 << 16 };
	unsigned char bytes[PART];
	struct sn_error error = {""};
	uint64_t length = (uint64_t)lseek(writer->pipe.fd, 0, SEEK_END);
	for (uint64_t at = 0; at < length; at += PART) {
		size_t part = length - at < PART ? length - at : PART;
		int result = sn_spill_read(&writer->pipe, bytes, part, at, &error);
		if (result)
			return sn_db_writer_fail(writer, result, "%s", error.text);
		sn_output_write(&writer->named, bytes, part);
	}
	return 0;
}

/* By the descriptor, which no name that others may change stands between. */
static int complete(struct sn_db_writer *writer)
{
	char self[64];
	const char *path = self;
	struct stat status;
	/* a device holds nothing that can be read back */
	if (!writer->complete || fstat(writer->file.fd, &status) || !S_ISREG(status.st_mode))
		return 0;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", writer->file.fd);
	if (access(self, F_OK))
		path = writer->pipe.fd < 0 ? sn_output_name(&writer->named) : NULL;
	if (!path)
		return sn_db_writer_cannot_write(writer, errno);
	return writer->complete(writer->complete_context, path) ? SN_ERR_ARGUMENT : 0;
}

int sn_db_writer_finish(struct sn_db_writer *writer)
{
	struct sn_error error = {""};
	int result = sn_db_writer_cannot_write(writer, sn_db_file_finish(&writer->file));
	if (!result)
		result = complete(writer);
	if (!result && writer->pipe.fd >= 0)
		result = copy_to_pipe(writer);
	if (result)
		return result;
	writer->is_open = false;
	return sn_db_writer_check(writer, sn_output_commit(&writer->named, &error), &error);
}

/* ---- the axes ---- */

/* Values of a bucket that a thread may hold: see rows.c for what each takes there. */
static uint64_t bucket_capacity(const struct sn_db_writer *writer, uint64_t total)
{
	enum { VALUE_BYTES = 160, USUAL = 2 << 20, LEAST = 1 << 14, FEW = 4096 };
	uint64_t capacity = USUAL;
	if (writer->memory != UINT64_MAX) {
		capacity = sn_db_writer_bucket_bytes(writer) / writer->threads / VALUE_BYTES;
		capacity = capacity < LEAST ? LEAST : capacity < USUAL ? capacity : USUAL;
	}
	/* enough of them that everybody has several to take, unless they would be tiny */
	uint64_t shares = 4ull * writer->threads * writer->peers->size();
	if (capacity > total / shares + 1)
		capacity = total / shares + 1;
	return capacity < FEW ? FEW : capacity;
}

/* Buckets of contexts with about as many values each, unless one context alone has more. */
void sn_db_writer_divide(struct sn_db_writer *writer)
{
	struct sn_db_axes *axes = &writer->axes;
	uint64_t total = 0, used = 0;
	for (uint32_t c = 0; c < axes->context_count; c++)
		total += axes->value_counts[c];
	uint64_t capacity = bucket_capacity(writer, total);
	for (uint32_t c = 0; c < axes->context_count; c++) {
		if (used && used + axes->value_counts[c] > capacity) {
			axes->bucket_ends[axes->bucket_count++] = c;
			used = 0;
		}
		used += axes->value_counts[c];
	}
	axes->bucket_ends[axes->bucket_count++] = axes->context_count;
	free(axes->value_counts);
	axes->value_counts = NULL;
}

int sn_db_writer_axes(struct sn_db_writer *writer, struct sn_db_ordered *ordered,
		      uint32_t metric_count, uint32_t profile_count)
{
	struct sn_db_axes *axes = &writer->axes;
	*axes = (struct sn_db_axes){
	    .context_count = ordered->numbers.context_count,
	    .metric_count = metric_count,
	    .profile_count = profile_count,
	    .contexts = ordered->contexts,
	    .periods = malloc((metric_count + 1ull) * sizeof(*axes->periods)),
	    .shifts = calloc(metric_count + 1ull, sizeof(*axes->shifts)),
	    .value_counts =
		calloc(ordered->numbers.context_count + 1ull, sizeof(*axes->value_counts)),
	    .bucket_ends =
		malloc((ordered->numbers.context_count + 1ull) * sizeof(*axes->bucket_ends)),
	};
	ordered->contexts = NULL; /* moved */
	if (!axes->periods || !axes->shifts || !axes->value_counts || !axes->bucket_ends)
		return sn_db_writer_out_of_memory(writer);
	for (uint32_t m = 0; m < metric_count; m++)
		axes->periods[m] = (double)ordered->metrics[m].period;
	return 0;
}

void sn_db_axes_pack(struct sn_pack *pack, struct sn_db_axes *axes)
{
	sn_pack_array(pack, &axes->contexts, &axes->context_count);
	sn_pack_array(pack, &axes->periods, &axes->metric_count);
	sn_pack_array(pack, &axes->shifts, &axes->metric_count);
	sn_pack_array(pack, &axes->bucket_ends, &axes->bucket_count);
	sn_pack_member(pack, axes->profile_count);
}

/* ---- values ---- */

static void note_sizes(void *context, struct sn_span part)
{
	struct sn_database_index *index = context;
	struct sn_spilled_planes planes;
	while (sn_span_get(&part, &planes, sizeof(planes)))
		index[planes.profile] = (struct sn_database_index){
		    planes.entry_count, planes.data_bytes, planes.checksum};
}

/* Where every profile's planes lie; from malloc, NULL without memory. */
static struct sn_database_index *index_planes(struct sn_db_writer *writer)
{
	const struct sn_peers *peers = writer->peers;
	uint32_t count = writer->axes.profile_count;
	struct sn_buffer sizes = {0};
	size_t bytes = (count + 1ull) * sizeof(struct sn_database_index);
	struct sn_database_index *index = calloc(1, bytes);
	for (unsigned i = 0; i < writer->threads; i++)
		sn_buffer_put(&sizes, writer->workers[i].spilled,
			      writer->workers[i].spilled_count * sizeof(struct sn_spilled_planes));
	int failed = peers->agree(sizes.failed || !index ? SN_ERR_MEMORY : 0, NULL);
	if (!failed)
		sn_peers_collect(peers, &sizes, note_sizes, index);
	sn_buffer_release(&sizes);
	if (failed) {
		free(index);
		return NULL;
	}
	/* sizes become positions: an exclusive scan */
	uint64_t first = 0, data = 0;
	for (uint32_t p = 0; p <= count; p++) {
		struct sn_database_index size = index[p];
		index[p].first = first;
		index[p].data = data;
		first += size.first;
		data += size.data;
	}
	peers->broadcast(index, bytes);
	return index;
}

static int write_planes(struct sn_db_writer *writer)
{
	uint32_t count = writer->axes.profile_count;
	struct sn_database_index *index = index_planes(writer);
	if (!index)
		return sn_db_writer_out_of_memory(writer);
	struct sn_db_file *file = &writer->file;
	uint64_t entries_at = sn_db_file_place(
	    file, SN_DATABASE_PLANES, index[count].first * sizeof(struct sn_database_plane));
	uint64_t data_at = sn_db_file_place(file, SN_DATABASE_PLANE_DATA, index[count].data);
	int result = sn_project_write(writer, index, entries_at, data_at);
	/* placed by all ranks, so that they agree on what follows; written by one */
	int failed =
	    sn_db_file_write(file, SN_DATABASE_PLANE_INDEX, index, (count + 1ull) * sizeof(*index));
	free(index);
	return result ? result : sn_db_writer_cannot_write(writer, failed);
}

static int write_rows(struct sn_db_writer *writer)
{
	struct sn_db_file *file = &writer->file;
	uint32_t contexts = writer->axes.context_count;
	uint64_t rows = writer->first_rows[contexts];
	uint64_t entries_at =
	    sn_db_file_place(file, SN_DATABASE_ROWS, rows * sizeof(struct sn_database_plane));
	/* its length is known when all of it is written: nothing else is placed until then */
	int result = sn_rows_write(writer, entries_at, file->next);
	if (result || writer->peers->rank())
		return result;
	sn_db_file_place(file, SN_DATABASE_ROW_DATA, writer->row_index[contexts].data);
	return sn_db_writer_cannot_write(
	    writer, sn_db_file_write(file, SN_DATABASE_ROW_INDEX, writer->row_index,
				     (contexts + 1ull) * sizeof(*writer->row_index)));
}

/* A rank's accumulators, which it sent, into those of rank 0's first thread. */
static int absorb_part(struct sn_across_table *all, const struct sn_peer_part *part)
{
	struct sn_pack pack = sn_unpack(part->bytes, part->length);
	struct sn_across_table table;
	int result = sn_across_init(&table, all->metric_count, all->inner_count);
	if (!result && part->length)
		sn_across_pack(&pack, &table);
	if (!result && part->length && pack.from.failed)
		result = SN_ERR_MEMORY;
	if (!result)
		result = sn_across_absorb(all, &table);
	sn_across_release(&table);
	return result;
}

/* All threads' accumulators of all ranks into those of rank 0's first thread. Rank 0 takes one
 * after the other, so that it never has those of more than one other. */
static int gather_across(struct sn_db_writer *writer)
{
	const struct sn_peers *peers = writer->peers;
	struct sn_across_table *all = &writer->workers->across;
	int result = 0;
	for (unsigned i = 1; i < writer->threads && !result; i++) {
		result = sn_across_absorb(all, &writer->workers[i].across);
		sn_across_release(&writer->workers[i].across);
	}
	if (peers->rank()) {
		struct sn_buffer sums = {0};
		if (!result)
			sn_across_pack(&(struct sn_pack){.to = &sums}, all);
		peers->send(0, sums.bytes, sums.failed ? 0 : sums.count);
		result = sums.failed ? SN_ERR_MEMORY : result;
		sn_buffer_release(&sums);
	}
	for (unsigned r = 1; r < peers->size() && !peers->rank(); r++) {
		struct sn_peer_part part;
		peers->receive(r, &part);
		/* the message, what is unpacked from it, and what it may add to the sums */
		if (!result)
			result = sn_db_writer_check_memory(writer, 3 * part.length);
		if (!result)
			result = absorb_part(all, &part);
		free(part.bytes);
	}
	return result == SN_ERR_MEMORY ? sn_db_writer_out_of_memory(writer) : result;
}

static int summarize(struct sn_db_writer *writer)
{
	return writer->peers->rank() ? 0 : sn_summarize(writer);
}

int sn_db_writer_values(struct sn_db_writer *writer, const struct sn_block_source *source)
{
	static int (*const steps[])(struct sn_db_writer *) = {
	    write_planes, sn_rows_count, write_rows, gather_across, flush_share, summarize};
	int result = writer->peers->agree(sn_project(writer, source), writer->error);
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps) && !result; i++)
		result = writer->peers->agree(steps[i](writer), writer->error);
	return result;
}
