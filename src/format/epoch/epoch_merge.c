/* SPDX-License-Identifier: Apache-2.0 */
/* Merging; see epoch_merge.h. Counts are sorted by part, origin, image and address, stacks by a
 * checksum of their frames, which lie in a file meanwhile; pieces of them are then summed. */
#include "epoch_merge.h"

#include "base/external_sort.h"
#include "base/file_at.h"
#include "base/intern.h"
#include "base/vec.h"
#include "epoch_frame.h"
#include "format/checksum.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_COUNTS (1u << 16)
#define PIECE_STACKS (1u << 12)

/* Words of a count and of a stack while they are sorted. */
enum { COUNT_WHO, COUNT_IMAGE, COUNT_ADDRESS, COUNT_COUNT, COUNT_WORDS };
enum { STACK_WHO, STACK_SUM, STACK_DEPTH, STACK_PLACE, STACK_COUNT, STACK_WORDS };

/* A part of the merged epoch. */
struct part {
	struct sn_epoch_flush flush; /* its event is `event`, its losses are those of `causes` */
	char *event;
	struct sn_intern causes;
	uint64_t *lost; /* by cause */
	size_t lost_capacity;
};

struct merge {
	const struct sn_epoch_merging *merging;
	struct sn_epoch_dictionary dictionary;
	struct sn_epoch_summary summary;
	struct sn_intern keys; /* event, unit and period; its number is that of a part */
	struct part *parts;
	size_t part_capacity;
	struct sn_external_sort counts, stacks;
	struct sn_spill frames;
	uint32_t *origins, *images; /* from numbers of the epoch that is read */
	uint32_t part;		    /* that the piece belongs to */
	/* the next record of each, taken from the sorter but not yet written */
	uint64_t count[COUNT_WORDS], stack[STACK_WORDS];
	bool has_count, has_stack;
	struct sn_epoch_rows rows;
	struct sn_epoch_codec codec;
	struct sn_buffer payload, out;
	int fd;
	uint64_t written;
};

static void release(struct merge *merge)
{
	sn_epoch_dictionary_release(&merge->dictionary);
	for (uint32_t i = 0; i < merge->keys.count; i++) {
		sn_intern_release(&merge->parts[i].causes);
		free(merge->parts[i].event);
		free(merge->parts[i].lost);
	}
	free(merge->parts);
	sn_intern_release(&merge->keys);
	sn_external_sort_release(&merge->counts);
	sn_external_sort_release(&merge->stacks);
	sn_spill_close(&merge->frames);
	free(merge->origins);
	free(merge->images);
	sn_epoch_rows_release(&merge->rows);
	sn_epoch_codec_release(&merge->codec);
	sn_buffer_release(&merge->payload);
	sn_buffer_release(&merge->out);
}

static uint64_t add_up(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* ---- parts ---- */

static uint32_t part_of(struct merge *merge, const struct sn_epoch_flush *flush)
{
	struct sn_buffer key = {0};
	sn_buffer_number(&key, flush->period, 8);
	sn_buffer_byte(&key, flush->is_time);
	sn_buffer_text(&key, flush->event);
	uint32_t number = key.failed ? SN_INTERN_NONE
				     : sn_intern_item(&merge->keys, key.bytes, key.count,
						      &merge->parts, &merge->part_capacity, {0});
	sn_buffer_release(&key);
	if (number == SN_INTERN_NONE || merge->parts[number].event)
		return number;
	struct part *part = merge->parts + number;
	part->event = strdup(flush->event);
	part->flush = *flush;
	part->flush.event = part->event;
	part->flush.flushes = part->flush.watched_ns = part->flush.samples = 0;
	part->flush.own_cpu_ns = part->flush.own_bytes = 0;
	return part->event ? number : SN_INTERN_NONE;
}

/* Ranges of time: by the calendar the union, by the boot's clock likewise if there was one boot. */
static void widen(struct sn_epoch_flush *into, const struct sn_epoch_flush *flush)
{
	struct sn_epoch_summary summary;
	sn_epoch_summary_init(&summary);
	sn_epoch_summary_add(&summary, into);
	sn_epoch_summary_add(&summary, flush);
	into->begin_ns = summary.begin_ns;
	into->end_ns = summary.end_ns;
	if (flush->begin_boot_ns < into->begin_boot_ns)
		into->begin_boot_ns = flush->begin_boot_ns;
	into->end_boot_ns = summary.end_boot_ns;
	if (memcmp(into->boot_id, flush->boot_id, sizeof(flush->boot_id)) != 0) {
		memset(into->boot_id, 0, sizeof(into->boot_id));
		into->begin_boot_ns = into->end_boot_ns = 0;
	}
}

static int begin_part(struct merge *merge, const struct sn_epoch_flush *flush)
{
	sn_epoch_summary_add(&merge->summary, flush);
	merge->part = part_of(merge, flush);
	if (merge->part == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	struct part *part = merge->parts + merge->part;
	struct sn_epoch_flush *into = &part->flush;
	widen(into, flush);
	into->flushes = add_up(into->flushes, flush->flushes);
	into->watched_ns = add_up(into->watched_ns, flush->watched_ns);
	into->samples = add_up(into->samples, flush->samples);
	into->own_cpu_ns = add_up(into->own_cpu_ns, flush->own_cpu_ns);
	if (flush->own_bytes > into->own_bytes)
		into->own_bytes = flush->own_bytes;
	for (uint32_t i = 0; i < flush->loss_count; i++) {
		const char *cause = flush->losses[i].cause;
		uint32_t number = sn_intern_item(&part->causes, cause, strlen(cause) + 1,
						 &part->lost, &part->lost_capacity, 0);
		if (number == SN_INTERN_NONE)
			return SN_ERR_MEMORY;
		part->lost[number] = add_up(part->lost[number], flush->losses[i].count);
	}
	return 0;
}

/* ---- reading ---- */

static int map_dictionary(struct merge *merge, const struct sn_epoch_dictionary *from)
{
	uint32_t *origins =
	    realloc(merge->origins, (from->origins.count + 1ull) * sizeof(*origins));
	merge->origins = origins ? origins : merge->origins;
	uint32_t *images = realloc(merge->images, (from->images.count + 1ull) * sizeof(*images));
	merge->images = images ? images : merge->images;
	return origins && images
		   ? sn_epoch_dictionary_merge(&merge->dictionary, from, origins, images)
		   : SN_ERR_MEMORY;
}

static uint64_t who_of(const struct merge *merge, uint32_t origin)
{
	return (uint64_t)merge->part << 32 | merge->origins[origin];
}

static int add_stack(struct merge *merge, const struct sn_epoch_stack *stack,
		     struct sn_error *error)
{
	struct sn_epoch_frame frames[SN_EPOCH_DEPTH_MAX];
	size_t bytes = stack->depth * sizeof(*frames);
	uint64_t place = merge->frames.length;
	memcpy(frames, stack->frames, bytes);
	for (uint32_t i = 0; i < stack->depth; i++)
		frames[i].image = merge->images[frames[i].image];
	sn_spill_write(&merge->frames, frames, bytes);
	uint64_t record[STACK_WORDS] = {
	    [STACK_WHO] = who_of(merge, stack->origin),
	    [STACK_SUM] = sn_checksum(frames, bytes),
	    [STACK_DEPTH] = stack->depth,
	    [STACK_PLACE] = place,
	    [STACK_COUNT] = stack->count,
	};
	return sn_external_sort_add(&merge->stacks, record, error);
}

static int add_piece(struct merge *merge, const struct sn_epoch_piece *piece,
		     const struct sn_epoch_dictionary *dictionary, struct sn_error *error)
{
	int result = piece->begins_part ? begin_part(merge, piece->flush) : 0;
	if (!result)
		result = map_dictionary(merge, dictionary);
	if (result)
		return sn_fail_memory(error);
	for (size_t i = 0; i < piece->count_count && !result; i++) {
		const struct sn_epoch_count *count = piece->counts + i;
		uint64_t record[COUNT_WORDS] = {
		    [COUNT_WHO] = who_of(merge, count->origin),
		    [COUNT_IMAGE] = merge->images[count->image],
		    [COUNT_ADDRESS] = count->address,
		    [COUNT_COUNT] = count->count,
		};
		result = sn_external_sort_add(&merge->counts, record, error);
	}
	for (size_t i = 0; i < piece->stack_count && !result; i++)
		result = add_stack(merge, piece->stacks + i, error);
	return result;
}

static int add_epoch(struct merge *merge, struct sn_epoch_reader *reader, struct sn_error *error)
{
	struct sn_epoch_piece piece;
	int result;
	while ((result = sn_epoch_reader_next(reader, &piece, error)) > 0) {
		result = add_piece(merge, &piece, sn_epoch_reader_dictionary(reader), error);
		if (result)
			return result;
	}
	return result || !sn_epoch_reader_damage(reader)
		   ? result
		   : sn_fail(error, SN_ERR_FORMAT, "%s", sn_epoch_reader_damage(reader));
}

/* ---- writing ---- */

static int write_frame(struct merge *merge, enum sn_epoch_frame_type type, struct sn_error *error)
{
	merge->out.count = 0;
	int result = sn_epoch_frame_put(&merge->codec, type, &merge->payload, &merge->out);
	if (result == SN_ERR_ARGUMENT)
		return sn_fail(error, result, "a frame would be too large");
	if (result)
		return sn_fail_memory(error);
	int why = sn_write_at(merge->fd, merge->out.bytes, merge->out.count, merge->written);
	merge->written += merge->out.count;
	merge->payload.count = 0;
	return why ? sn_fail(error, SN_ERR_IO, "%s", strerror(why)) : 0;
}

static int write_head(struct merge *merge, struct sn_error *error)
{
	const struct sn_epoch_merging *merging = merge->merging;
	struct sn_epoch_head head = {
	    .id = merging->id,
	    .level = merging->level,
	    .summary = merge->summary,
	    .replaces = malloc((merging->reader_count + 1) * sizeof(*head.replaces)),
	};
	if (!head.replaces)
		return sn_fail_memory(error);
	head.summary.parts = merge->keys.count;
	for (size_t i = 0; i < merging->reader_count; i++)
		head.replaces[head.replace_count++] = sn_epoch_reader_head(merging->readers[i])->id;
	sn_epoch_head_put(&head, &merge->payload);
	free(head.replaces);
	return write_frame(merge, SN_EPOCH_FRAME_HEAD, error);
}

/* Takes the next record from a sorter. 0 or a negative enum sn_err. */
static int advance(struct sn_external_sort *sort, uint64_t *record, bool *has_one,
		   struct sn_error *error)
{
	int got = sn_external_sort_next(sort, record, error);
	*has_one = got > 0;
	return got < 0 ? got : 0;
}

/* Counts of the part, with those of one place summed, until the piece is full. */
static int take_counts(struct merge *merge, uint32_t part, struct sn_error *error)
{
	struct sn_epoch_rows *rows = &merge->rows;
	int result = 0;
	while (!result && merge->has_count && merge->count[COUNT_WHO] >> 32 == part) {
		struct sn_epoch_count count = {
		    (uint32_t)merge->count[COUNT_WHO], (uint32_t)merge->count[COUNT_IMAGE],
		    merge->count[COUNT_ADDRESS], merge->count[COUNT_COUNT]};
		struct sn_epoch_count *last =
		    rows->count_count ? rows->counts + rows->count_count - 1 : NULL;
		if (last && last->origin == count.origin && last->image == count.image &&
		    last->address == count.address)
			last->count = add_up(last->count, count.count);
		else if (rows->count_count == PIECE_COUNTS)
			break;
		else if (sn_vec_push(&rows->counts, &rows->count_capacity, &rows->count_count,
				     count))
			return sn_fail_memory(error);
		result = advance(&merge->counts, merge->count, &merge->has_count, error);
	}
	return result;
}

static int take_stacks(struct merge *merge, uint32_t part, struct sn_error *error)
{
	struct sn_epoch_rows *rows = &merge->rows;
	int result = 0;
	while (!result && merge->has_stack && merge->stack[STACK_WHO] >> 32 == part &&
	       rows->stack_count < PIECE_STACKS) {
		struct sn_epoch_frame frames[SN_EPOCH_DEPTH_MAX];
		struct sn_epoch_stack stack = {(uint32_t)merge->stack[STACK_WHO],
					       (uint32_t)merge->stack[STACK_DEPTH], frames,
					       merge->stack[STACK_COUNT]};
		result = sn_spill_read(&merge->frames, frames, stack.depth * sizeof(*frames),
				       merge->stack[STACK_PLACE], error);
		if (!result && sn_epoch_rows_add_stack(rows, &stack))
			return sn_fail_memory(error);
		if (!result)
			result = advance(&merge->stacks, merge->stack, &merge->has_stack, error);
	}
	return result;
}

static bool has_more(const struct merge *merge, uint32_t part)
{
	return (merge->has_count && merge->count[COUNT_WHO] >> 32 == part) ||
	       (merge->has_stack && merge->stack[STACK_WHO] >> 32 == part);
}

static void put_flush(struct merge *merge, const struct part *part)
{
	struct sn_epoch_loss losses[SN_EPOCH_LOSSES_MAX];
	struct sn_epoch_flush flush = part->flush;
	flush.losses = losses;
	flush.loss_count = 0;
	for (uint32_t i = 0; i < part->causes.count && i < SN_EPOCH_LOSSES_MAX; i++)
		losses[flush.loss_count++] =
		    (struct sn_epoch_loss){sn_intern_at(&part->causes, i, NULL), part->lost[i]};
	sn_epoch_flush_put(&flush, &merge->payload);
}

static int write_part(struct merge *merge, uint32_t number, struct sn_error *error)
{
	bool is_first = true;
	int result = 0;
	while (!result && (is_first || has_more(merge, number))) {
		sn_epoch_rows_clear(&merge->rows);
		result = take_counts(merge, number, error);
		if (!result)
			result = take_stacks(merge, number, error);
		if (result)
			return result;
		sn_epoch_rows_sum(&merge->rows);
		if (is_first)
			put_flush(merge, merge->parts + number);
		sn_epoch_dictionary_put(&merge->dictionary, &merge->payload);
		sn_epoch_dictionary_stored(&merge->dictionary);
		sn_epoch_rows_put(&merge->rows, NULL, &merge->payload);
		result =
		    write_frame(merge, is_first ? SN_EPOCH_FRAME_PART : SN_EPOCH_FRAME_MORE, error);
		is_first = false;
	}
	return result;
}

static int write_all(struct merge *merge, struct sn_error *error)
{
	int result = sn_spill_finish(&merge->frames, error);
	if (!result)
		result = sn_external_sort_finish(&merge->counts, error);
	if (!result)
		result = sn_external_sort_finish(&merge->stacks, error);
	if (!result)
		result = advance(&merge->counts, merge->count, &merge->has_count, error);
	if (!result)
		result = advance(&merge->stacks, merge->stack, &merge->has_stack, error);
	if (!result)
		result = write_head(merge, error);
	for (uint32_t i = 0; i < merge->keys.count && !result; i++)
		result = write_part(merge, i, error);
	return result;
}

int sn_epoch_merge(const struct sn_epoch_merging *merging, int fd, uint64_t *begin_ns,
		   size_t *number, struct sn_error *error)
{
	struct merge merge = {.merging = merging, .fd = fd, .frames = {.fd = -1}};
	sn_epoch_summary_init(&merge.summary);
	/* stacks are few, or there are none */
	sn_external_sort_init(&merge.counts, COUNT_WORDS, COUNT_COUNT, merging->memory_bytes);
	sn_external_sort_init(&merge.stacks, STACK_WORDS, STACK_PLACE, merging->memory_bytes / 4);
	merge.counts.file.folder = merge.stacks.file.folder = merging->spill_folder;
	merge.frames.folder = merging->spill_folder;
	int result = 0;
	for (size_t i = 0; i < merging->reader_count && !result; i++) {
		*number = i;
		result = add_epoch(&merge, merging->readers[i], error);
	}
	if (!result)
		result = write_all(&merge, error);
	*begin_ns = merge.summary.begin_ns;
	release(&merge);
	return result;
}
