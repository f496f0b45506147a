/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of a store: flushes of the current epoch, and its end; see epoch_writer.h. What becomes
 * of sealed epochs is in epoch_keep.c. */
#include "epoch_writer.h"

#include "base/file_at.h"
#include "base/vec.h"
#include "epoch_folder.h"
#include "epoch_frame.h"
#include "epoch_keep.h"
#include "epoch_payload.h"
#include "epoch_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sn_epoch_writer {
	struct sn_epoch_writer_options options;
	char *path;
	int folder;
	uint64_t next_id;
	bool is_tended; /* since the last epoch was sealed */
	/* the current epoch */
	int fd; /* -1: there is none, since the last one was sealed or could not be begun */
	uint64_t id, end; /* bytes of whole frames */
	struct sn_epoch_dictionary dictionary;
	struct sn_epoch_summary summary;
	uint64_t begin_boot_ns;
	/* the flush that is put together, with numbers of its own */
	struct sn_epoch_dictionary added;
	struct sn_epoch_rows rows;
	bool has_failed; /* an addition, for lack of memory */
	/* memory for coding */
	struct sn_epoch_codec codec;
	struct sn_buffer payload, frames;
};

/* ---- beginning an epoch ---- */

static void forget_current(struct sn_epoch_writer *writer)
{
	if (writer->fd >= 0)
		close(writer->fd);
	writer->fd = -1;
	sn_epoch_dictionary_release(&writer->dictionary);
	sn_epoch_summary_init(&writer->summary);
}

/* Writes `frames` at the end of the file. 0 or an errno. */
static int write_frames(struct sn_epoch_writer *writer, int fd, uint64_t offset)
{
	int why = sn_write_at(fd, writer->frames.bytes, writer->frames.count, offset);
	if (!why && !writer->options.no_sync && fdatasync(fd) < 0)
		why = errno;
	return why;
}

static int put_head(struct sn_epoch_writer *writer, uint64_t id)
{
	struct sn_epoch_head head = {.id = id, .level = SN_EPOCH_FLUSHES};
	sn_epoch_summary_init(&head.summary);
	sn_epoch_empty(&writer->payload);
	sn_epoch_empty(&writer->frames);
	sn_epoch_head_put(&head, &writer->payload);
	return sn_epoch_frame_put(&writer->codec, SN_EPOCH_FRAME_HEAD, &writer->payload,
				  &writer->frames);
}

/* A new current epoch, under another name until its head is there. */
static int begin_epoch(struct sn_epoch_writer *writer, struct sn_error *error)
{
	uint64_t id = writer->next_id;
	if (put_head(writer, id))
		return sn_fail_memory(error);
	int fd =
	    sn_epoch_folder_create(writer->folder, SN_EPOCH_STARTING, writer->options.group_reads);
	int why = fd < 0 ? -fd : write_frames(writer, fd, 0);
	if (!why &&
	    renameat(writer->folder, SN_EPOCH_STARTING, writer->folder, SN_EPOCH_CURRENT) < 0)
		why = errno;
	if (why) {
		if (fd >= 0)
			close(fd);
		unlinkat(writer->folder, SN_EPOCH_STARTING, 0);
		return sn_fail(error, SN_ERR_IO, "cannot begin an epoch in '%s': %s", writer->path,
			       strerror(why));
	}
	sn_epoch_keep_sync(writer->folder, writer->options.no_sync);
	forget_current(writer);
	writer->fd = fd;
	writer->id = id;
	writer->next_id = id + 1;
	writer->end = writer->frames.count;
	return 0;
}

/* ---- going on with an epoch ---- */

/* Reads what is there, and cuts off what is no whole frame. */
static int resume(struct sn_epoch_writer *writer, struct sn_epoch_reader *reader,
		  struct sn_error *error)
{
	struct sn_epoch_piece piece;
	int result;
	while ((result = sn_epoch_reader_next(reader, &piece, error)) > 0) {
		if (!writer->summary.parts)
			writer->begin_boot_ns = piece.flush->begin_boot_ns;
		sn_epoch_summary_add(&writer->summary, piece.flush);
	}
	if (result)
		return result;
	writer->end = sn_epoch_reader_whole_bytes(reader);
	writer->id = sn_epoch_reader_head(reader)->id;
	if (writer->id >= writer->next_id)
		writer->next_id = writer->id + 1;
	writer->dictionary = *sn_epoch_reader_dictionary(reader);
	sn_epoch_reader_leave_dictionary(reader);
	writer->fd = openat(writer->folder, SN_EPOCH_CURRENT, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (writer->fd < 0 || ftruncate(writer->fd, (off_t)writer->end) < 0)
		return sn_fail(error, SN_ERR_IO, "%s", strerror(errno));
	return 0;
}

/* A current epoch whose head cannot be read: it is kept under a name of its own. */
static int put_aside(struct sn_epoch_writer *writer, struct sn_error *error)
{
	char name[SN_EPOCH_NAME_BYTES];
	struct sn_epoch_moment now;
	sn_epoch_now(&now);
	sn_epoch_name_make(name, now.real_ns, writer->next_id++);
	return renameat(writer->folder, SN_EPOCH_CURRENT, writer->folder, name) < 0
		   ? sn_fail(error, SN_ERR_IO, "%s", strerror(errno))
		   : 0;
}

static int open_current(struct sn_epoch_writer *writer, struct sn_error *error)
{
	struct sn_epoch_reader *reader;
	int fd = sn_epoch_folder_open_file(writer->folder, SN_EPOCH_CURRENT);
	if (fd == -ENOENT)
		return 0; /* the first flush begins one */
	if (fd < 0)
		return sn_fail(error, SN_ERR_IO, "cannot open '%s/" SN_EPOCH_CURRENT "': %s",
			       writer->path, strerror(-fd));
	int result = sn_epoch_reader_open(&reader, fd, error);
	if (result == SN_ERR_FORMAT) {
		result = put_aside(writer, error);
	} else if (!result) {
		result = resume(writer, reader, error);
		sn_epoch_reader_close(reader);
	}
	return result ? sn_fail_prefix(error, result, "cannot go on with '%s/" SN_EPOCH_CURRENT "'",
				       writer->path)
		      : 0;
}

int sn_epoch_writer_open(struct sn_epoch_writer **writer, const char *folder,
			 const struct sn_epoch_writer_options *options, struct sn_error *error)
{
	struct sn_epoch_writer *opened = calloc(1, sizeof(*opened));
	if (!opened)
		return sn_fail_memory(error);
	opened->fd = opened->folder = -1;
	opened->options = options ? *options : (struct sn_epoch_writer_options){0};
	sn_epoch_summary_init(&opened->summary);
	opened->path = strdup(folder);
	int result = opened->path ? sn_epoch_folder_open_to_write(
					folder, opened->options.group_reads, &opened->folder, error)
				  : sn_fail_memory(error);
	if (!result)
		result = sn_epoch_keep_tidy(folder, opened->folder, &opened->next_id, error);
	if (!result)
		result = open_current(opened, error);
	if (result)
		sn_epoch_writer_close(opened);
	else
		*writer = opened;
	return result;
}

void sn_epoch_writer_close(struct sn_epoch_writer *writer)
{
	if (!writer)
		return;
	forget_current(writer);
	if (writer->folder >= 0)
		close(writer->folder); /* and the lock is gone */
	sn_epoch_dictionary_release(&writer->added);
	sn_epoch_rows_release(&writer->rows);
	sn_epoch_codec_release(&writer->codec);
	sn_buffer_release(&writer->payload);
	sn_buffer_release(&writer->frames);
	free(writer->path);
	free(writer);
}

/* ---- additions ---- */

uint32_t sn_epoch_writer_origin(struct sn_epoch_writer *writer,
				const struct sn_epoch_origin *origin)
{
	uint32_t number = sn_epoch_dictionary_origin(&writer->added, origin);
	writer->has_failed |= number == SN_EPOCH_NONE;
	return number;
}

uint32_t sn_epoch_writer_image(struct sn_epoch_writer *writer, const struct sn_epoch_image *image)
{
	uint32_t number = sn_epoch_dictionary_image(&writer->added, image);
	writer->has_failed |= number == SN_EPOCH_NONE;
	return number;
}

void sn_epoch_writer_name(struct sn_epoch_writer *writer, const struct sn_epoch_name *name)
{
	if (name->image >= writer->added.images.count ||
	    sn_epoch_dictionary_name(&writer->added, name) == SN_EPOCH_NONE)
		writer->has_failed = true;
}

void sn_epoch_writer_count(struct sn_epoch_writer *writer, uint32_t origin, uint32_t image,
			   uint64_t address, uint64_t count)
{
	struct sn_epoch_rows *rows = &writer->rows;
	bool is_known = origin < writer->added.origins.count && image < writer->added.images.count;
	if (!is_known || sn_vec_push(&rows->counts, &rows->count_capacity, &rows->count_count,
				     (struct sn_epoch_count){origin, image, address, count}))
		writer->has_failed = true;
}

void sn_epoch_writer_stack(struct sn_epoch_writer *writer, const struct sn_epoch_stack *stack)
{
	bool is_known = stack->origin < writer->added.origins.count && stack->depth &&
			stack->depth <= SN_EPOCH_DEPTH_MAX;
	for (uint32_t i = 0; is_known && i < stack->depth; i++)
		is_known = stack->frames[i].image < writer->added.images.count;
	if (!is_known || sn_epoch_rows_add_stack(&writer->rows, stack))
		writer->has_failed = true;
}

uint64_t sn_epoch_writer_pending_bytes(const struct sn_epoch_writer *writer)
{
	const struct sn_epoch_rows *rows = &writer->rows;
	const struct sn_epoch_dictionary *added = &writer->added;
	return rows->count_capacity * sizeof(*rows->counts) +
	       rows->stack_capacity * (sizeof(*rows->stacks) + sizeof(*rows->firsts)) +
	       rows->frame_capacity * sizeof(*rows->frames) +
	       sn_intern_memory_bytes(&added->origins) + sn_intern_memory_bytes(&added->images) +
	       sn_intern_memory_bytes(&added->names);
}

void sn_epoch_writer_discard(struct sn_epoch_writer *writer)
{
	sn_epoch_dictionary_release(&writer->added);
	sn_epoch_rows_clear(&writer->rows);
	writer->has_failed = false;
}

/* ---- committing ---- */

/* Adds what the flush refers to to the epoch's dictionary. 0 or SN_ERR_MEMORY. */
static int map_all(struct sn_epoch_writer *writer, struct sn_epoch_map *map)
{
	const struct sn_epoch_dictionary *added = &writer->added;
	*map = (struct sn_epoch_map){malloc((added->origins.count + 1ull) * sizeof(uint32_t)),
				     malloc((added->images.count + 1ull) * sizeof(uint32_t))};
	return map->origins && map->images ? sn_epoch_dictionary_merge(&writer->dictionary, added,
								       map->origins, map->images)
					   : SN_ERR_MEMORY;
}

/* The frame of the flush in writer->frames. */
static int encode(struct sn_epoch_writer *writer, const struct sn_epoch_flush *flush,
		  struct sn_error *error)
{
	struct sn_epoch_map map;
	const struct sn_epoch_rows *rows = &writer->rows;
	sn_epoch_rows_sum(&writer->rows);
	if (rows->count_count > SN_EPOCH_ROWS_MAX || rows->stack_count > SN_EPOCH_STACKS_MAX ||
	    rows->frame_count > SN_EPOCH_FRAMES_MAX)
		return sn_fail(error, SN_ERR_ARGUMENT,
			       "a flush of %zu counts and %zu stacks is too large",
			       rows->count_count, rows->stack_count);
	int result = map_all(writer, &map);
	sn_epoch_empty(&writer->payload);
	sn_epoch_empty(&writer->frames);
	if (!result) {
		sn_epoch_flush_put(flush, &writer->payload);
		sn_epoch_dictionary_put(&writer->dictionary, &writer->payload);
		sn_epoch_rows_put(rows, &map, &writer->payload);
		result = sn_epoch_frame_put(&writer->codec, SN_EPOCH_FRAME_PART, &writer->payload,
					    &writer->frames);
	}
	free(map.origins);
	free(map.images);
	if (result == SN_ERR_ARGUMENT)
		return sn_fail(error, result, "a flush of %zu bytes is too large",
			       writer->payload.count);
	return sn_fail_code(error, result);
}

/* Appends the frame, or leaves the file as it was. */
static int append(struct sn_epoch_writer *writer, struct sn_error *error)
{
	int why = write_frames(writer, writer->fd, writer->end);
	if (!why)
		return 0;
	/* what remains if this fails, too, is no whole frame, and is overwritten by the next one */
	(void)!ftruncate(writer->fd, (off_t)writer->end);
	return sn_fail(error, SN_ERR_IO, "cannot write '%s/" SN_EPOCH_CURRENT "': %s", writer->path,
		       strerror(why));
}

int sn_epoch_writer_commit(struct sn_epoch_writer *writer, const struct sn_epoch_flush *flush,
			   struct sn_error *error)
{
	struct sn_epoch_flush one = *flush;
	one.flushes = 1;
	one.watched_ns = flush->end_boot_ns > flush->begin_boot_ns
			     ? flush->end_boot_ns - flush->begin_boot_ns
			     : 0;
	if (writer->has_failed)
		return sn_fail_memory(error);
	int result = writer->fd < 0 ? begin_epoch(writer, error) : 0;
	if (!result)
		result = encode(writer, &one, error);
	if (!result)
		result = append(writer, error);
	if (result)
		return result;
	writer->end += writer->frames.count;
	if (!writer->summary.parts)
		writer->begin_boot_ns = one.begin_boot_ns;
	sn_epoch_summary_add(&writer->summary, &one);
	sn_epoch_dictionary_stored(&writer->dictionary);
	sn_epoch_writer_discard(writer);
	return 0;
}

/* ---- sealing and keeping ---- */

int sn_epoch_writer_seal(struct sn_epoch_writer *writer, struct sn_error *error)
{
	char name[SN_EPOCH_NAME_BYTES];
	if (writer->fd < 0 || !writer->summary.parts)
		return 0;
	sn_epoch_name_make(name, writer->summary.begin_ns, writer->id);
	if (renameat(writer->folder, SN_EPOCH_CURRENT, writer->folder, name) < 0)
		return sn_fail(error, SN_ERR_IO, "cannot rename '%s/" SN_EPOCH_CURRENT "': %s",
			       writer->path, strerror(errno));
	sn_epoch_keep_sync(writer->folder, writer->options.no_sync);
	forget_current(writer);
	writer->is_tended = false;
	return 0;
}

/* Whether the current epoch has lasted long enough, or is of an earlier boot. */
static bool is_due(const struct sn_epoch_writer *writer, const struct sn_epoch_policy *policy,
		   const struct sn_epoch_moment *now)
{
	const struct sn_epoch_summary *summary = &writer->summary;
	if (!summary->parts)
		return false;
	if (memcmp(summary->boot_id, now->boot_id, sizeof(now->boot_id)) != 0)
		return true;
	return summary->end_boot_ns - writer->begin_boot_ns >= policy->epoch_ns;
}

int sn_epoch_writer_tend(struct sn_epoch_writer *writer, const struct sn_epoch_policy *policy,
			 const struct sn_epoch_moment *now, struct sn_error *error)
{
	struct sn_epoch_moment present;
	sn_epoch_now(&present);
	now = now ? now : &present;
	int result = is_due(writer, policy, now) ? sn_epoch_writer_seal(writer, error) : 0;
	if (result || writer->is_tended)
		return result;
	struct sn_epoch_keep keep = {
	    .path = writer->path,
	    .folder = writer->folder,
	    .group_reads = writer->options.group_reads,
	    .no_sync = writer->options.no_sync,
	    .policy = *policy,
	    .now = *now,
	    .next_id = writer->next_id,
	};
	writer->is_tended = true;
	result = sn_epoch_keep(&keep, error);
	writer->next_id = keep.next_id;
	return result;
}
