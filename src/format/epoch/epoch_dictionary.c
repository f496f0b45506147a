/* SPDX-License-Identifier: Apache-2.0 */
/* Entries as bytes; see epoch_dictionary.h. */
#include "epoch_dictionary.h"

#include "base/error.h"

#include <string.h>

#define ENTRY_BYTES_MAX (2 * SN_EPOCH_TEXT_MAX + 128)

void sn_epoch_dictionary_release(struct sn_epoch_dictionary *dictionary)
{
	sn_intern_release(&dictionary->origins);
	sn_intern_release(&dictionary->images);
	sn_intern_release(&dictionary->names);
	*dictionary = (struct sn_epoch_dictionary){0};
}

/* ---- entries ---- */

static void put_text(struct sn_buffer *buffer, const char *text)
{
	sn_buffer_put(buffer, text ? text : "", text ? strnlen(text, SN_EPOCH_TEXT_MAX) : 0);
	sn_buffer_byte(buffer, 0);
}

static const char *get_text(struct sn_cursor *cursor)
{
	const char *text = sn_cursor_string(cursor);
	return text ? text : "";
}

/* The entry's number; frees its bytes. */
static uint32_t add(struct sn_intern *entries, struct sn_buffer *entry)
{
	uint32_t number =
	    entry->failed ? SN_EPOCH_NONE : sn_intern_add(entries, entry->bytes, entry->count);
	sn_buffer_release(entry);
	return number;
}

static struct sn_cursor cursor_of(const struct sn_intern *entries, uint32_t number)
{
	size_t length;
	const void *bytes = sn_intern_at(entries, number, &length);
	return sn_cursor_at((struct sn_bytes){bytes, length}, 0);
}

uint32_t sn_epoch_dictionary_origin(struct sn_epoch_dictionary *dictionary,
				    const struct sn_epoch_origin *origin)
{
	struct sn_buffer entry = {0};
	put_text(&entry, origin->program);
	put_text(&entry, origin->cgroup);
	sn_buffer_varint(&entry, origin->pid);
	sn_buffer_varint(&entry, origin->pid_start);
	sn_buffer_varint(&entry, (uint32_t)(origin->uid + 1)); /* 0: not known */
	return add(&dictionary->origins, &entry);
}

static void get_origin(struct sn_cursor *cursor, struct sn_epoch_origin *origin)
{
	origin->program = get_text(cursor);
	origin->cgroup = get_text(cursor);
	origin->pid = (uint32_t)sn_cursor_uleb(cursor);
	origin->pid_start = sn_cursor_uleb(cursor);
	origin->uid = (uint32_t)sn_cursor_uleb(cursor) - 1;
}

void sn_epoch_dictionary_origin_at(const struct sn_epoch_dictionary *dictionary, uint32_t number,
				   struct sn_epoch_origin *origin)
{
	struct sn_cursor cursor = cursor_of(&dictionary->origins, number);
	get_origin(&cursor, origin);
}

uint32_t sn_epoch_dictionary_image(struct sn_epoch_dictionary *dictionary,
				   const struct sn_epoch_image *image)
{
	struct sn_buffer entry = {0};
	uint32_t id_bytes = image->build_id_bytes < SN_EPOCH_BUILD_ID_BYTES
				? image->build_id_bytes
				: SN_EPOCH_BUILD_ID_BYTES;
	sn_buffer_byte(&entry, (unsigned char)image->kind);
	sn_buffer_byte(&entry, image->is_deleted);
	sn_buffer_byte(&entry, (unsigned char)id_bytes);
	sn_buffer_put(&entry, image->build_id, id_bytes);
	put_text(&entry, image->path);
	sn_buffer_varint(&entry, image->device);
	sn_buffer_varint(&entry, image->inode);
	sn_buffer_varint(&entry, image->bytes);
	sn_buffer_varint(&entry, image->mtime_ns);
	return add(&dictionary->images, &entry);
}

static void get_image(struct sn_cursor *cursor, struct sn_epoch_image *image)
{
	*image = (struct sn_epoch_image){.kind = sn_cursor_u8(cursor)};
	image->is_deleted = sn_cursor_u8(cursor) & 1;
	image->build_id_bytes = sn_cursor_u8(cursor);
	if (image->build_id_bytes > SN_EPOCH_BUILD_ID_BYTES)
		sn_cursor_fail(cursor);
	struct sn_cursor id = sn_cursor_slice(cursor, image->build_id_bytes);
	if (!id.failed)
		memcpy(image->build_id, id.at, image->build_id_bytes);
	image->path = get_text(cursor);
	image->device = sn_cursor_uleb(cursor);
	image->inode = sn_cursor_uleb(cursor);
	image->bytes = sn_cursor_uleb(cursor);
	image->mtime_ns = sn_cursor_uleb(cursor);
	if (!image->kind || image->kind >= SN_EPOCH_IMAGE_KINDS)
		image->kind = SN_EPOCH_UNKNOWN; /* of a newer version */
}

void sn_epoch_dictionary_image_at(const struct sn_epoch_dictionary *dictionary, uint32_t number,
				  struct sn_epoch_image *image)
{
	struct sn_cursor cursor = cursor_of(&dictionary->images, number);
	get_image(&cursor, image);
}

uint32_t sn_epoch_dictionary_name(struct sn_epoch_dictionary *dictionary,
				  const struct sn_epoch_name *name)
{
	struct sn_buffer entry = {0};
	sn_buffer_varint(&entry, name->image);
	sn_buffer_varint(&entry, name->start);
	sn_buffer_varint(&entry, name->bytes);
	put_text(&entry, name->name);
	return add(&dictionary->names, &entry);
}

static void get_name(struct sn_cursor *cursor, struct sn_epoch_name *name)
{
	name->image = (uint32_t)sn_cursor_uleb(cursor);
	name->start = sn_cursor_uleb(cursor);
	name->bytes = sn_cursor_uleb(cursor);
	name->name = get_text(cursor);
}

void sn_epoch_dictionary_name_at(const struct sn_epoch_dictionary *dictionary, uint32_t number,
				 struct sn_epoch_name *name)
{
	struct sn_cursor cursor = cursor_of(&dictionary->names, number);
	get_name(&cursor, name);
}

static int copy(struct sn_intern *entries, const struct sn_intern *from, uint32_t *numbers)
{
	for (uint32_t i = 0; i < from->count; i++) {
		size_t length;
		const void *bytes = sn_intern_at(from, i, &length);
		numbers[i] = sn_intern_add(entries, bytes, length);
		if (numbers[i] == SN_INTERN_NONE)
			return SN_ERR_MEMORY;
	}
	return 0;
}

int sn_epoch_dictionary_merge(struct sn_epoch_dictionary *dictionary,
			      const struct sn_epoch_dictionary *from, uint32_t *origins,
			      uint32_t *images)
{
	if (copy(&dictionary->origins, &from->origins, origins) ||
	    copy(&dictionary->images, &from->images, images))
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < from->names.count; i++) {
		struct sn_epoch_name name;
		sn_epoch_dictionary_name_at(from, i, &name);
		name.image = images[name.image];
		if (sn_epoch_dictionary_name(dictionary, &name) == SN_EPOCH_NONE)
			return SN_ERR_MEMORY;
	}
	return 0;
}

/* ---- in frames ---- */

static void put_new(const struct sn_intern *entries, uint32_t stored, struct sn_buffer *buffer)
{
	sn_buffer_varint(buffer, entries->count - stored);
	for (uint32_t i = stored; i < entries->count; i++) {
		size_t length;
		const void *bytes = sn_intern_at(entries, i, &length);
		sn_buffer_varint(buffer, length);
		sn_buffer_put(buffer, bytes, length);
	}
}

void sn_epoch_dictionary_put(const struct sn_epoch_dictionary *dictionary, struct sn_buffer *buffer)
{
	put_new(&dictionary->origins, dictionary->stored_origins, buffer);
	put_new(&dictionary->images, dictionary->stored_images, buffer);
	put_new(&dictionary->names, dictionary->stored_names, buffer);
}

void sn_epoch_dictionary_stored(struct sn_epoch_dictionary *dictionary)
{
	dictionary->stored_origins = dictionary->origins.count;
	dictionary->stored_images = dictionary->images.count;
	dictionary->stored_names = dictionary->names.count;
}

typedef bool is_entry(const struct sn_epoch_dictionary *dictionary, struct sn_cursor *entry);

static bool is_origin(const struct sn_epoch_dictionary *dictionary, struct sn_cursor *entry)
{
	struct sn_epoch_origin origin;
	(void)dictionary;
	get_origin(entry, &origin);
	return !entry->failed;
}

static bool is_image(const struct sn_epoch_dictionary *dictionary, struct sn_cursor *entry)
{
	struct sn_epoch_image image;
	(void)dictionary;
	get_image(entry, &image);
	return !entry->failed;
}

static bool is_name(const struct sn_epoch_dictionary *dictionary, struct sn_cursor *entry)
{
	struct sn_epoch_name name;
	get_name(entry, &name);
	return !entry->failed && name.image < dictionary->images.count;
}

/* An entry that is there already would shift the numbers of all that follow: that is damage. */
static int get_new(struct sn_epoch_dictionary *dictionary, struct sn_intern *entries,
		   is_entry *is_valid, struct sn_cursor *cursor)
{
	uint64_t count = sn_cursor_uleb(cursor);
	for (uint64_t i = 0; i < count && !cursor->failed; i++) {
		struct sn_cursor entry = sn_cursor_slice(cursor, sn_cursor_uleb(cursor));
		const uint8_t *bytes = entry.at;
		size_t length = sn_cursor_left(&entry);
		uint32_t before = entries->count;
		if (entry.failed || length > ENTRY_BYTES_MAX || !is_valid(dictionary, &entry)) {
			sn_cursor_fail(cursor);
			return 0;
		}
		uint32_t number = sn_intern_add(entries, bytes, length);
		if (number == SN_INTERN_NONE)
			return SN_ERR_MEMORY;
		if (number != before)
			sn_cursor_fail(cursor);
	}
	return 0;
}

int sn_epoch_dictionary_get(struct sn_epoch_dictionary *dictionary, struct sn_cursor *cursor)
{
	int result = get_new(dictionary, &dictionary->origins, is_origin, cursor);
	if (!result)
		result = get_new(dictionary, &dictionary->images, is_image, cursor);
	if (!result)
		result = get_new(dictionary, &dictionary->names, is_name, cursor);
	sn_epoch_dictionary_stored(dictionary);
	return result;
}
