/* SPDX-License-Identifier: Apache-2.0 */
/* See epoch_fixture.h. */
#include "epoch_fixture.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* 2026-11-30 00:00 UTC */
#define BEGIN_S UINT64_C(1795996800)

void epoch_sums_add(struct epoch_sums *sums, const char *key, uint64_t count)
{
	uint32_t number =
	    sn_intern_item(&sums->keys, key, strlen(key) + 1, &sums->counts, &sums->capacity, 0);
	assert_int_not_equal(number, SN_INTERN_NONE);
	sums->counts[number] += count;
}

void epoch_sums_release(struct epoch_sums *sums)
{
	sn_intern_release(&sums->keys);
	free(sums->counts);
	*sums = (struct epoch_sums){0};
}

/* A key of `of` that differs; NULL if none does. */
static const char *difference(const struct epoch_sums *of, const struct epoch_sums *other)
{
	for (uint32_t i = 0; i < of->keys.count; i++) {
		size_t length;
		const char *key = sn_intern_at(&of->keys, i, &length);
		uint32_t found = sn_intern_find(&other->keys, key, length);
		if (found == SN_INTERN_NONE || other->counts[found] != of->counts[i])
			return key;
	}
	return NULL;
}

bool epoch_sums_are_same(const struct epoch_sums *a, const struct epoch_sums *b)
{
	return !difference(a, b) && !difference(b, a);
}

void epoch_sums_expect(const struct epoch_sums *is, const struct epoch_sums *should)
{
	const char *more = difference(is, should), *less = difference(should, is);
	if (more || less)
		fail_msg("%s: %u keys, not %u", more ? more : less, is->keys.count,
			 should->keys.count);
}

/* ---- reading ---- */

static void put_origin(char *text, size_t size, const struct sn_epoch_origin *origin)
{
	snprintf(text, size, "%s|%s|%u|%" PRIu64 "|%u", origin->program, origin->cgroup,
		 origin->pid, origin->pid_start, origin->uid);
}

static void put_image(char *text, size_t size, const struct sn_epoch_image *image)
{
	char id[41] = "";
	for (uint32_t i = 0; i < image->build_id_bytes; i++)
		snprintf(id + 2 * i, 3, "%02x", image->build_id[i]);
	snprintf(text, size, "%u|%d|%s|%s|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "|%" PRIu64,
		 image->kind, image->is_deleted, image->path, id, image->device, image->inode,
		 image->bytes, image->mtime_ns);
}

static void put_event(char *text, size_t size, const struct sn_epoch_flush *flush)
{
	snprintf(text, size, "%s|%" PRIu64 "|%d", flush->event, flush->period, flush->is_time);
}

static void add_count(struct epoch_sums *sums, const struct sn_epoch_flush *flush,
		      const struct sn_epoch_origin *origin, const struct sn_epoch_image *image,
		      uint64_t address, uint64_t count)
{
	char who[400], what[400], event[100], key[1024];
	put_origin(who, sizeof(who), origin);
	put_image(what, sizeof(what), image);
	put_event(event, sizeof(event), flush);
	snprintf(key, sizeof(key), "%s|%s|%s|%" PRIx64, event, who, what, address);
	epoch_sums_add(sums, key, count);
}

static void add_flush(struct epoch_sums *sums, const struct sn_epoch_flush *flush)
{
	char key[200], event[100];
	put_event(event, sizeof(event), flush);
	snprintf(key, sizeof(key), "samples of %s", event);
	epoch_sums_add(sums, key, flush->samples);
	epoch_sums_add(sums, "flushes", flush->flushes);
	epoch_sums_add(sums, "watched", flush->watched_ns);
	epoch_sums_add(sums, "own", flush->own_cpu_ns);
	for (uint32_t i = 0; i < flush->loss_count; i++) {
		snprintf(key, sizeof(key), "lost %s", flush->losses[i].cause);
		epoch_sums_add(sums, key, flush->losses[i].count);
	}
}

/* Text is that of the images and addresses, leaf first. */
static void add_stack(struct epoch_sums *sums, const struct sn_epoch_flush *flush,
		      const struct sn_epoch_origin *origin, const struct sn_epoch_stack *stack,
		      const struct sn_epoch_image *images)
{
	char who[400], what[400], event[100];
	struct sn_buffer key = {0};
	put_origin(who, sizeof(who), origin);
	put_event(event, sizeof(event), flush);
	sn_buffer_print(&key, "stack %s|%s", event, who);
	for (uint32_t i = 0; i < stack->depth; i++) {
		put_image(what, sizeof(what), images + i);
		sn_buffer_print(&key, "/%s:%" PRIx64, what, stack->frames[i].address);
	}
	epoch_sums_add(sums, sn_buffer_string(&key), stack->count);
	sn_buffer_release(&key);
}

static void read_piece(struct epoch_sums *sums, const struct sn_epoch_piece *piece,
		       const struct sn_epoch_dictionary *dictionary)
{
	struct sn_epoch_origin origin;
	struct sn_epoch_image image, images[SN_EPOCH_DEPTH_MAX];
	if (piece->begins_part)
		add_flush(sums, piece->flush);
	for (size_t i = 0; i < piece->count_count; i++) {
		const struct sn_epoch_count *count = piece->counts + i;
		sn_epoch_dictionary_origin_at(dictionary, count->origin, &origin);
		sn_epoch_dictionary_image_at(dictionary, count->image, &image);
		add_count(sums, piece->flush, &origin, &image, count->address, count->count);
	}
	for (size_t i = 0; i < piece->stack_count; i++) {
		const struct sn_epoch_stack *stack = piece->stacks + i;
		sn_epoch_dictionary_origin_at(dictionary, stack->origin, &origin);
		for (uint32_t j = 0; j < stack->depth; j++)
			sn_epoch_dictionary_image_at(dictionary, stack->frames[j].image,
						     images + j);
		add_stack(sums, piece->flush, &origin, stack, images);
	}
}

/* Each once, as how often a name is told says nothing. */
static void read_names(struct epoch_sums *sums, const struct sn_epoch_dictionary *dictionary)
{
	for (uint32_t i = 0; i < dictionary->names.count; i++) {
		struct sn_epoch_name name;
		char key[300];
		sn_epoch_dictionary_name_at(dictionary, i, &name);
		snprintf(key, sizeof(key), "name %s %" PRIx64 " %" PRIu64, name.name, name.start,
			 name.bytes);
		if (sn_intern_find(&sums->keys, key, strlen(key) + 1) == SN_INTERN_NONE)
			epoch_sums_add(sums, key, 1);
	}
}

size_t epoch_sums_read(struct epoch_sums *sums, const char *folder, char damage[256])
{
	struct sn_epoch_store store;
	struct sn_epoch_piece piece;
	struct sn_error error = {""};
	*damage = '\0';
	int result = sn_epoch_store_open(&store, folder, 0, UINT64_MAX, &error);
	if (result)
		fail_msg("%s", error.text);
	for (size_t i = 0; i < store.count; i++) {
		struct sn_epoch_info *info = store.epochs + i;
		if (!*damage)
			memcpy(damage, info->damage, 256);
		if (!info->reader)
			continue;
		while ((result = sn_epoch_reader_next(info->reader, &piece, &error)) > 0)
			read_piece(sums, &piece, sn_epoch_reader_dictionary(info->reader));
		if (result)
			fail_msg("%s", error.text);
		if (!*damage && sn_epoch_reader_damage(info->reader))
			snprintf(damage, 256, "%s", sn_epoch_reader_damage(info->reader));
		read_names(sums, sn_epoch_reader_dictionary(info->reader));
	}
	size_t count = store.count;
	sn_epoch_store_close(&store);
	return count;
}

/* ---- writing ---- */

struct sn_epoch_moment epoch_moment(uint64_t at_s, uint8_t boot)
{
	return (struct sn_epoch_moment){
	    (BEGIN_S + at_s) * EPOCH_SECOND, (at_s + 1000) * EPOCH_SECOND, {boot, 1, 2, 3}};
}

static unsigned roll(unsigned *seed, unsigned sides)
{
	*seed = *seed * 1103515245 + 12345;
	return (*seed >> 8) % sides;
}

static struct sn_epoch_origin random_origin(unsigned *seed)
{
	static const char *const programs[] = {"/usr/bin/gcc", "/usr/lib/cc1", "/bin/sh", ""};
	static const char *const groups[] = {"/system.slice/a.service", "/user.slice", ""};
	unsigned pid = roll(seed, 4) ? 0 : 1 + roll(seed, 5);
	return (struct sn_epoch_origin){programs[roll(seed, 4)], groups[roll(seed, 3)], pid,
					pid * 77, roll(seed, 3) ? 1000 : SN_EPOCH_NONE};
}

static struct sn_epoch_image random_image(unsigned *seed)
{
	static const char *const paths[] = {"/lib/libc.so.6", "/usr/bin/gcc", "/usr/lib/cc1",
					    "[kernel]", ""};
	unsigned which = roll(seed, 5);
	struct sn_epoch_image image = {.kind = which < 3    ? SN_EPOCH_FILE
					       : which == 3 ? SN_EPOCH_KERNEL
							    : SN_EPOCH_JIT,
				       .path = paths[which],
				       .is_deleted = !roll(seed, 9)};
	if (which < 2) {
		image.build_id_bytes = 20;
		memset(image.build_id, (int)(which + roll(seed, 2)), 20);
	} else if (which == 2) {
		image.device = 259;
		image.inode = 1 + roll(seed, 2);
		image.bytes = UINT64_C(123456789012);
		image.mtime_ns = BEGIN_S * EPOCH_SECOND + 5;
	}
	return image;
}

static void add_random_stack(struct sn_epoch_writer *writer, unsigned *seed,
			     const struct sn_epoch_flush *flush, struct epoch_sums *sums)
{
	struct sn_epoch_frame frames[40];
	struct sn_epoch_image images[40];
	struct sn_epoch_origin origin = random_origin(seed);
	uint32_t depth = 1 + roll(seed, roll(seed, 8) ? 5 : 40);
	for (uint32_t i = 0; i < depth; i++) {
		images[i] = random_image(seed);
		frames[i] = (struct sn_epoch_frame){0, sn_epoch_writer_image(writer, images + i),
						    0x1000 + roll(seed, 3)};
	}
	struct sn_epoch_stack stack = {sn_epoch_writer_origin(writer, &origin), depth, frames,
				       1 + roll(seed, 3)};
	sn_epoch_writer_stack(writer, &stack);
	if (sums)
		add_stack(sums, flush, &origin, &stack, images);
}

static void add_random_count(struct sn_epoch_writer *writer, unsigned *seed,
			     const struct sn_epoch_flush *flush, struct epoch_sums *sums)
{
	struct sn_epoch_origin origin = random_origin(seed);
	struct sn_epoch_image image = random_image(seed);
	uint64_t address = roll(seed, 10) ? 0x400000 + roll(seed, 300) : UINT64_MAX - roll(seed, 3);
	uint64_t count = 1 + roll(seed, roll(seed, 10) ? 3 : 100000);
	uint32_t number = sn_epoch_writer_image(writer, &image);
	sn_epoch_writer_count(writer, sn_epoch_writer_origin(writer, &origin), number, address,
			      count);
	if (sums)
		add_count(sums, flush, &origin, &image, address, count);
	if (image.kind == SN_EPOCH_JIT && !roll(seed, 4)) {
		char text[32], key[64];
		snprintf(text, sizeof(text), "jitted_%u", roll(seed, 20));
		sn_epoch_writer_name(writer, &(struct sn_epoch_name){number, address, 16, text});
		snprintf(key, sizeof(key), "name %s %" PRIx64 " 16", text, address);
		if (sums && sn_intern_find(&sums->keys, key, strlen(key) + 1) == SN_INTERN_NONE)
			epoch_sums_add(sums, key, 1);
	}
}

int epoch_write_random(struct sn_epoch_writer *writer, const struct epoch_random_flush *what,
		       struct epoch_sums *sums, struct sn_error *error)
{
	struct sn_epoch_moment begin = epoch_moment(what->at_s, what->boot);
	struct sn_epoch_moment end = epoch_moment(what->at_s + what->length_s, what->boot);
	struct sn_epoch_loss losses[] = {{"ring-full", 3}, {"no-image", what->seed % 5}};
	struct sn_epoch_flush flush = {
	    .begin_ns = begin.real_ns,
	    .end_ns = end.real_ns,
	    .begin_boot_ns = begin.boot_ns,
	    .end_boot_ns = end.boot_ns,
	    .event = what->period % 2 ? "cycles" : "cpu-clock",
	    .is_time = !(what->period % 2),
	    .period = what->period,
	    .samples = 1000 + what->seed,
	    .losses = losses,
	    .loss_count = 2,
	    .own_cpu_ns = 12345,
	    .own_bytes = 1 << 20,
	};
	unsigned seed = what->seed;
	memcpy(flush.boot_id, begin.boot_id, sizeof(flush.boot_id));
	for (unsigned i = 0; i < what->rows; i++) {
		add_random_count(writer, &seed, &flush, sums);
		if (i % 5 == 0)
			add_random_stack(writer, &seed, &flush, sums);
	}
	int result = sn_epoch_writer_commit(writer, &flush, error);
	if (sums) {
		flush.flushes = 1;
		flush.watched_ns = flush.end_boot_ns - flush.begin_boot_ns;
		add_flush(sums, &flush);
	}
	return result;
}
