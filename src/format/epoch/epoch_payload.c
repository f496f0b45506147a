/* SPDX-License-Identifier: Apache-2.0 */
/* Payloads; see epoch_payload.h, and docs/format/epochs.md for the fields. */
#include "epoch_payload.h"

#include "base/error.h"
#include "base/sort_by.h"
#include "base/vec.h"
#include "epoch_frame.h"

#include <stdlib.h>
#include <string.h>

/* ---- the head ---- */

static uint64_t add_up(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void sn_epoch_summary_init(struct sn_epoch_summary *summary)
{
	*summary = (struct sn_epoch_summary){.begin_ns = UINT64_MAX};
}

void sn_epoch_summary_add(struct sn_epoch_summary *summary, const struct sn_epoch_flush *flush)
{
	/* the clock may have been set back */
	uint64_t begin = flush->begin_ns < flush->end_ns ? flush->begin_ns : flush->end_ns;
	uint64_t end = flush->begin_ns < flush->end_ns ? flush->end_ns : flush->begin_ns;
	bool is_first = !summary->parts++;
	bool is_same =
	    is_first || !memcmp(summary->boot_id, flush->boot_id, sizeof(flush->boot_id));
	summary->begin_ns = begin < summary->begin_ns ? begin : summary->begin_ns;
	summary->end_ns = end > summary->end_ns ? end : summary->end_ns;
	summary->flushes = add_up(summary->flushes, flush->flushes);
	summary->samples = add_up(summary->samples, flush->samples);
	for (uint32_t i = 0; i < flush->loss_count; i++)
		summary->lost = add_up(summary->lost, flush->losses[i].count);
	if (flush->end_boot_ns > summary->end_boot_ns)
		summary->end_boot_ns = flush->end_boot_ns;
	memcpy(summary->boot_id, flush->boot_id, sizeof(flush->boot_id));
	if (!is_same) {
		summary->end_boot_ns = 0;
		memset(summary->boot_id, 0, sizeof(summary->boot_id));
	}
}

static void put_summary(const struct sn_epoch_summary *summary, struct sn_buffer *buffer)
{
	sn_buffer_number(buffer, summary->begin_ns, 8);
	sn_buffer_number(buffer, summary->end_ns, 8);
	sn_buffer_number(buffer, summary->parts, 8);
	sn_buffer_number(buffer, summary->flushes, 8);
	sn_buffer_number(buffer, summary->samples, 8);
	sn_buffer_number(buffer, summary->lost, 8);
	sn_buffer_number(buffer, summary->end_boot_ns, 8);
	sn_buffer_put(buffer, summary->boot_id, sizeof(summary->boot_id));
}

static void get_summary(struct sn_cursor *cursor, struct sn_epoch_summary *summary)
{
	summary->begin_ns = sn_cursor_u64(cursor);
	summary->end_ns = sn_cursor_u64(cursor);
	summary->parts = sn_cursor_u64(cursor);
	summary->flushes = sn_cursor_u64(cursor);
	summary->samples = sn_cursor_u64(cursor);
	summary->lost = sn_cursor_u64(cursor);
	summary->end_boot_ns = sn_cursor_u64(cursor);
	struct sn_cursor boot = sn_cursor_slice(cursor, sizeof(summary->boot_id));
	if (!boot.failed)
		memcpy(summary->boot_id, boot.at, sizeof(summary->boot_id));
}

void sn_epoch_head_put(const struct sn_epoch_head *head, struct sn_buffer *buffer)
{
	sn_buffer_number(buffer, SN_EPOCH_VERSION_MAJOR, 2);
	sn_buffer_number(buffer, SN_EPOCH_VERSION_MINOR, 2);
	sn_buffer_number(buffer, head->id, 8);
	sn_buffer_byte(buffer, (unsigned char)head->level);
	put_summary(&head->summary, buffer);
	sn_buffer_varint(buffer, head->replace_count);
	for (uint32_t i = 0; i < head->replace_count; i++)
		sn_buffer_varint(buffer, head->replaces[i]);
}

int sn_epoch_head_get(struct sn_bytes payload, struct sn_epoch_head *head)
{
	struct sn_cursor cursor = sn_cursor_at(payload, 0);
	*head = (struct sn_epoch_head){0};
	uint16_t major = sn_cursor_u16(&cursor);
	sn_cursor_skip(&cursor, 2);
	if (!cursor.failed && major != SN_EPOCH_VERSION_MAJOR)
		return SN_ERR_VERSION;
	head->id = sn_cursor_u64(&cursor);
	head->level = sn_cursor_u8(&cursor);
	get_summary(&cursor, &head->summary);
	uint64_t count = sn_cursor_uleb(&cursor);
	if (cursor.failed || count > SN_EPOCH_REPLACES_MAX || count > sn_cursor_left(&cursor) ||
	    head->level >= SN_EPOCH_LEVELS)
		return SN_ERR_FORMAT;
	head->replaces = malloc((count + 1) * sizeof(*head->replaces));
	if (!head->replaces)
		return SN_ERR_MEMORY;
	for (; head->replace_count < count; head->replace_count++)
		head->replaces[head->replace_count] = sn_cursor_uleb(&cursor);
	if (!cursor.failed)
		return 0;
	free(head->replaces);
	head->replaces = NULL;
	return SN_ERR_FORMAT;
}

/* ---- what a part is of ---- */

enum { FLUSH_IS_TIME = 1 };

static void put_text(struct sn_buffer *buffer, const char *text)
{
	sn_buffer_put(buffer, text ? text : "", text ? strnlen(text, SN_EPOCH_TEXT_MAX) : 0);
	sn_buffer_byte(buffer, 0);
}

void sn_epoch_flush_put(const struct sn_epoch_flush *flush, struct sn_buffer *buffer)
{
	uint32_t losses =
	    flush->loss_count < SN_EPOCH_LOSSES_MAX ? flush->loss_count : SN_EPOCH_LOSSES_MAX;
	sn_buffer_byte(buffer, flush->is_time ? FLUSH_IS_TIME : 0);
	sn_buffer_number(buffer, flush->begin_ns, 8);
	sn_buffer_number(buffer, flush->end_ns, 8);
	sn_buffer_number(buffer, flush->begin_boot_ns, 8);
	sn_buffer_number(buffer, flush->end_boot_ns, 8);
	sn_buffer_put(buffer, flush->boot_id, sizeof(flush->boot_id));
	put_text(buffer, flush->event);
	sn_buffer_varint(buffer, flush->period);
	sn_buffer_varint(buffer, flush->samples);
	sn_buffer_varint(buffer, flush->own_cpu_ns);
	sn_buffer_varint(buffer, flush->own_bytes);
	sn_buffer_varint(buffer, flush->flushes);
	sn_buffer_varint(buffer, flush->watched_ns);
	sn_buffer_varint(buffer, losses);
	for (uint32_t i = 0; i < losses; i++) {
		put_text(buffer, flush->losses[i].cause);
		sn_buffer_varint(buffer, flush->losses[i].count);
	}
}

void sn_epoch_flush_get(struct sn_cursor *cursor, struct sn_epoch_flush *flush,
			struct sn_epoch_loss *losses)
{
	*flush = (struct sn_epoch_flush){.losses = losses};
	flush->is_time = sn_cursor_u8(cursor) & FLUSH_IS_TIME;
	flush->begin_ns = sn_cursor_u64(cursor);
	flush->end_ns = sn_cursor_u64(cursor);
	flush->begin_boot_ns = sn_cursor_u64(cursor);
	flush->end_boot_ns = sn_cursor_u64(cursor);
	struct sn_cursor boot = sn_cursor_slice(cursor, sizeof(flush->boot_id));
	if (!boot.failed)
		memcpy(flush->boot_id, boot.at, sizeof(flush->boot_id));
	flush->event = sn_cursor_string(cursor);
	flush->period = sn_cursor_uleb(cursor);
	flush->samples = sn_cursor_uleb(cursor);
	flush->own_cpu_ns = sn_cursor_uleb(cursor);
	flush->own_bytes = sn_cursor_uleb(cursor);
	flush->flushes = sn_cursor_uleb(cursor);
	flush->watched_ns = sn_cursor_uleb(cursor);
	uint64_t count = sn_cursor_uleb(cursor);
	if (count > SN_EPOCH_LOSSES_MAX)
		sn_cursor_fail(cursor);
	for (uint64_t i = 0; i < count && !cursor->failed; i++) {
		const char *cause = sn_cursor_string(cursor);
		losses[i] = (struct sn_epoch_loss){cause, sn_cursor_uleb(cursor)};
		flush->loss_count += cause != NULL;
	}
}

/* ---- rows ---- */

void sn_epoch_rows_release(struct sn_epoch_rows *rows)
{
	free(rows->counts);
	free(rows->stacks);
	free(rows->firsts);
	free(rows->frames);
	*rows = (struct sn_epoch_rows){0};
}

void sn_epoch_rows_clear(struct sn_epoch_rows *rows)
{
	rows->count_count = rows->stack_count = rows->frame_count = 0;
}

/* Room for one more stack, and `depth` frames. */
static int reserve_stack(struct sn_epoch_rows *rows, size_t depth)
{
	size_t needed = rows->stack_count + 1;
	return sn_vec_reserve(&rows->stacks, &rows->stack_capacity, needed) < 0 ||
		       sn_vec_reserve(&rows->firsts, &rows->first_capacity, needed) < 0 ||
		       sn_vec_reserve(&rows->frames, &rows->frame_capacity,
				      rows->frame_count + depth + 1) < 0
		   ? SN_ERR_MEMORY
		   : 0;
}

int sn_epoch_rows_add_stack(struct sn_epoch_rows *rows, const struct sn_epoch_stack *stack)
{
	if (reserve_stack(rows, stack->depth))
		return SN_ERR_MEMORY;
	memcpy(rows->frames + rows->frame_count, stack->frames,
	       stack->depth * sizeof(*stack->frames));
	rows->firsts[rows->stack_count] = rows->frame_count;
	rows->stacks[rows->stack_count] = *stack;
	rows->stacks[rows->stack_count++].frames = NULL;
	rows->frame_count += stack->depth;
	return 0;
}

/* Frames may have moved while they were added. */
static void point(struct sn_epoch_rows *rows)
{
	for (size_t i = 0; i < rows->stack_count; i++)
		rows->stacks[i].frames = rows->frames + rows->firsts[i];
}

SN_SORT_BY(sort_counts, struct sn_epoch_count, const void *,
	   SN_ORDER_BY(a, b, origin, image, address));

static void sum_counts(struct sn_epoch_rows *rows)
{
	struct sn_epoch_count *counts = rows->counts;
	size_t kept = 0;
	sort_counts(counts, rows->count_count, NULL);
	for (size_t i = 0; i < rows->count_count; i++) {
		if (kept && !sort_counts_order(counts + kept - 1, counts + i, NULL))
			counts[kept - 1].count = add_up(counts[kept - 1].count, counts[i].count);
		else
			counts[kept++] = counts[i];
	}
	rows->count_count = kept;
}

static int order_frames(const struct sn_epoch_frame *a, const struct sn_epoch_frame *b)
{
	return SN_ORDER_BY(a, b, image, kind, address);
}

/* By origin, then by the frames from the root on. */
static int order_stacks(const struct sn_epoch_stack *a, const struct sn_epoch_stack *b)
{
	int order = SN_ORDER(a->origin, b->origin);
	for (uint32_t i = 1; !order && i <= a->depth && i <= b->depth; i++)
		order = order_frames(a->frames + a->depth - i, b->frames + b->depth - i);
	return order ? order : SN_ORDER(a->depth, b->depth);
}

SN_SORT_BY(sort_stacks, struct sn_epoch_stack, const void *, order_stacks(a, b));

static void sum_stacks(struct sn_epoch_rows *rows)
{
	struct sn_epoch_stack *stacks = rows->stacks;
	size_t kept = 0;
	point(rows);
	sort_stacks(stacks, rows->stack_count, NULL);
	for (size_t i = 0; i < rows->stack_count; i++) {
		if (kept && !order_stacks(stacks + kept - 1, stacks + i))
			stacks[kept - 1].count = add_up(stacks[kept - 1].count, stacks[i].count);
		else
			stacks[kept++] = stacks[i];
	}
	rows->stack_count = kept;
	for (size_t i = 0; i < kept; i++)
		rows->firsts[i] = (size_t)(stacks[i].frames - rows->frames);
}

void sn_epoch_rows_sum(struct sn_epoch_rows *rows)
{
	sum_counts(rows);
	sum_stacks(rows);
}

/* ---- counts in bytes ---- */

static uint32_t origin_in(const struct sn_epoch_map *map, uint32_t origin)
{
	return map ? map->origins[origin] : origin;
}

static uint32_t image_in(const struct sn_epoch_map *map, uint32_t image)
{
	return map ? map->images[image] : image;
}

/* The number of counts from `first` on that are of one origin and image. */
static size_t run_of(const struct sn_epoch_rows *rows, size_t first)
{
	const struct sn_epoch_count *counts = rows->counts;
	size_t i = first + 1;
	while (i < rows->count_count && counts[i].origin == counts[first].origin &&
	       counts[i].image == counts[first].image)
		i++;
	return i - first;
}

/* Three columns: runs of one origin and image, the steps between their addresses, the counts. */
static void put_counts(const struct sn_epoch_rows *rows, const struct sn_epoch_map *map,
		       struct sn_buffer *buffer)
{
	const struct sn_epoch_count *counts = rows->counts;
	sn_buffer_varint(buffer, rows->count_count);
	for (size_t i = 0, run; i < rows->count_count; i += run) {
		run = run_of(rows, i);
		sn_buffer_varint(buffer, origin_in(map, counts[i].origin));
		sn_buffer_varint(buffer, image_in(map, counts[i].image));
		sn_buffer_varint(buffer, run);
	}
	for (size_t i = 0, run; i < rows->count_count; i += run) {
		uint64_t address = 0;
		run = run_of(rows, i);
		for (size_t j = i; j < i + run; j++) {
			sn_buffer_varint(buffer, counts[j].address - address);
			address = counts[j].address;
		}
	}
	for (size_t i = 0; i < rows->count_count; i++)
		sn_buffer_varint(buffer, counts[i].count);
}

static void get_runs(struct sn_epoch_rows *rows, size_t count,
		     const struct sn_epoch_dictionary *dictionary, struct sn_cursor *cursor)
{
	for (size_t i = 0; i < count && !cursor->failed;) {
		uint64_t origin = sn_cursor_uleb(cursor), image = sn_cursor_uleb(cursor);
		uint64_t run = sn_cursor_uleb(cursor);
		if (!run || run > count - i || origin >= dictionary->origins.count ||
		    image >= dictionary->images.count) {
			sn_cursor_fail(cursor);
			return;
		}
		for (size_t end = i + run; i < end; i++)
			rows->counts[i] =
			    (struct sn_epoch_count){(uint32_t)origin, (uint32_t)image, 0, 0};
	}
}

static bool continues_run(const struct sn_epoch_count *count)
{
	return count[0].origin == count[-1].origin && count[0].image == count[-1].image;
}

static int get_counts(struct sn_epoch_rows *rows, const struct sn_epoch_dictionary *dictionary,
		      struct sn_cursor *cursor)
{
	uint64_t count = sn_cursor_uleb(cursor);
	/* each takes two bytes at least */
	if (cursor->failed || count > SN_EPOCH_ROWS_MAX || count > sn_cursor_left(cursor) / 2) {
		sn_cursor_fail(cursor);
		return 0;
	}
	if (sn_vec_reserve(&rows->counts, &rows->count_capacity, count) < 0)
		return SN_ERR_MEMORY;
	get_runs(rows, count, dictionary, cursor);
	for (size_t i = 0; i < count && !cursor->failed; i++) {
		uint64_t base =
		    i && continues_run(rows->counts + i) ? rows->counts[i - 1].address : 0;
		rows->counts[i].address = base + sn_cursor_uleb(cursor);
	}
	for (size_t i = 0; i < count && !cursor->failed; i++)
		rows->counts[i].count = sn_cursor_uleb(cursor);
	rows->count_count = cursor->failed ? 0 : count;
	return 0;
}

/* ---- stacks in bytes ---- */

/* How many frames from the root on two stacks of one origin have in common. */
static uint32_t shared_of(const struct sn_epoch_stack *a, const struct sn_epoch_stack *b)
{
	uint32_t shared = 0;
	if (a->origin != b->origin)
		return 0;
	while (shared < a->depth && shared < b->depth &&
	       !order_frames(a->frames + a->depth - shared - 1, b->frames + b->depth - shared - 1))
		shared++;
	return shared;
}

/* Of each stack: its origin, how many frames from the root on are those of the stack
 * before, the other frames, and the count. */
static void put_stacks(const struct sn_epoch_rows *rows, const struct sn_epoch_map *map,
		       struct sn_buffer *buffer)
{
	struct sn_epoch_stack before = {0};
	sn_buffer_varint(buffer, rows->stack_count);
	for (size_t i = 0; i < rows->stack_count; i++) {
		const struct sn_epoch_stack *stack = rows->stacks + i;
		uint32_t shared = i ? shared_of(&before, stack) : 0;
		sn_buffer_varint(buffer, origin_in(map, stack->origin));
		sn_buffer_varint(buffer, shared);
		sn_buffer_varint(buffer, stack->depth - shared);
		for (uint32_t j = stack->depth - shared; j--;) {
			const struct sn_epoch_frame *frame = stack->frames + j;
			sn_buffer_varint(buffer,
					 (uint64_t)image_in(map, frame->image) << 2 | frame->kind);
			sn_buffer_varint(buffer, frame->address);
		}
		sn_buffer_varint(buffer, stack->count);
		before = *stack;
	}
}

static bool get_frame(const struct sn_epoch_dictionary *dictionary, struct sn_cursor *cursor,
		      struct sn_epoch_frame *frame)
{
	uint64_t word = sn_cursor_uleb(cursor);
	*frame = (struct sn_epoch_frame){word & 3, (uint32_t)(word >> 2), sn_cursor_uleb(cursor)};
	return !cursor->failed && word >> 2 < dictionary->images.count;
}

/* The frames of a stack behind those that it shares with the stack before. */
static int get_stack(struct sn_epoch_rows *rows, const struct sn_epoch_dictionary *dictionary,
		     struct sn_cursor *cursor)
{
	size_t at = rows->stack_count;
	uint64_t origin = sn_cursor_uleb(cursor), shared = sn_cursor_uleb(cursor);
	uint64_t more = sn_cursor_uleb(cursor);
	uint32_t depth_before = at ? rows->stacks[at - 1].depth : 0;
	if (cursor->failed || origin >= dictionary->origins.count || shared > depth_before ||
	    more > SN_EPOCH_DEPTH_MAX || !(shared + more) || shared + more > SN_EPOCH_DEPTH_MAX ||
	    rows->frame_count + shared + more > SN_EPOCH_FRAMES_MAX) {
		sn_cursor_fail(cursor);
		return 0;
	}
	if (reserve_stack(rows, shared + more))
		return SN_ERR_MEMORY;
	struct sn_epoch_frame *frames = rows->frames + rows->frame_count;
	for (uint64_t j = more; j-- && !cursor->failed;)
		if (!get_frame(dictionary, cursor, frames + j))
			sn_cursor_fail(cursor);
	if (shared)
		memcpy(frames + more, frames - shared, shared * sizeof(*frames));
	rows->firsts[at] = rows->frame_count;
	rows->stacks[at] = (struct sn_epoch_stack){(uint32_t)origin, (uint32_t)(shared + more),
						   NULL, sn_cursor_uleb(cursor)};
	rows->frame_count += shared + more;
	rows->stack_count++;
	return 0;
}

static int get_stacks(struct sn_epoch_rows *rows, const struct sn_epoch_dictionary *dictionary,
		      struct sn_cursor *cursor)
{
	uint64_t count = sn_cursor_uleb(cursor);
	int result = 0;
	if (count > SN_EPOCH_STACKS_MAX)
		sn_cursor_fail(cursor);
	for (uint64_t i = 0; i < count && !cursor->failed && !result; i++)
		result = get_stack(rows, dictionary, cursor);
	if (cursor->failed)
		rows->stack_count = rows->frame_count = 0;
	point(rows);
	return result;
}

void sn_epoch_rows_put(const struct sn_epoch_rows *rows, const struct sn_epoch_map *map,
		       struct sn_buffer *buffer)
{
	put_counts(rows, map, buffer);
	put_stacks(rows, map, buffer);
}

int sn_epoch_rows_get(struct sn_epoch_rows *rows, const struct sn_epoch_dictionary *dictionary,
		      struct sn_cursor *cursor)
{
	sn_epoch_rows_clear(rows);
	int result = get_counts(rows, dictionary, cursor);
	return result || cursor->failed ? result : get_stacks(rows, dictionary, cursor);
}
