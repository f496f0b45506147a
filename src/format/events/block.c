/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of events in compressed frames; see block.h. */
#include "block.h"

#include "base/vec.h"
#include "format/checksum.h"

#ifdef SN_HAVE_ZSTD
#include <zstd.h>
#endif

#define LEVEL 3

/* In front of a frame. */
struct frame_head {
	uint32_t plain_bytes;
	uint32_t is_compressed;
};
_Static_assert(sizeof(struct frame_head) == 8, "frame head is on disk");

/* In front of the column of an attribute. */
struct attribute_head {
	uint32_t key;
	uint32_t present_count; /* below the block's count: a bit for each event comes first */
};
_Static_assert(sizeof(struct attribute_head) == 8, "attribute head is on disk");

/* No frame is larger before compression: a column is at most its values and a little more, and
 * events never have a thousand attributes. */
#define FRAME_BYTES_MAX (64u << 20)

#define BITMAP_BYTES(count) (((count) + 7) / 8)

#ifdef SN_HAVE_ZSTD
static size_t compress(struct sn_block_codec *codec, unsigned char *to, size_t room)
{
	if (!codec->compressor)
		codec->compressor = ZSTD_createCCtx();
	if (!codec->compressor)
		return 0;
	size_t length = ZSTD_compressCCtx(codec->compressor, to, room, codec->plain.bytes,
					  codec->plain.count, LEVEL);
	return ZSTD_isError(length) ? 0 : length;
}

static int decompress(struct sn_block_codec *codec, const unsigned char *bytes, size_t length,
		      size_t plain_bytes)
{
	if (!codec->decompressor)
		codec->decompressor = ZSTD_createDCtx();
	unsigned char *plain = sn_buffer_room(&codec->plain, plain_bytes);
	if (!codec->decompressor || !plain)
		return SN_ERR_MEMORY;
	size_t got = ZSTD_decompressDCtx(codec->decompressor, plain, plain_bytes, bytes, length);
	return got == plain_bytes ? 0 : SN_ERR_FORMAT;
}

static void free_contexts(struct sn_block_codec *codec)
{
	ZSTD_freeCCtx(codec->compressor);
	ZSTD_freeDCtx(codec->decompressor);
}
#else
static size_t compress(struct sn_block_codec *codec, unsigned char *to, size_t room)
{
	return 0;
}

static int decompress(struct sn_block_codec *codec, const unsigned char *bytes, size_t length,
		      size_t plain_bytes)
{
	return SN_ERR_UNSUPPORTED;
}

static void free_contexts(struct sn_block_codec *codec)
{
}
#endif

void sn_block_codec_release(struct sn_block_codec *codec)
{
	free_contexts(codec);
	sn_buffer_release(&codec->plain);
	free(codec->ordered);
	free(codec->begins);
	*codec = (struct sn_block_codec){0};
}

/* The codec's plain bytes as a frame; its length, or 0 without memory. */
static uint32_t put_frame(struct sn_block_codec *codec, struct sn_buffer *out)
{
	size_t begin = out->count, plain_bytes = codec->plain.count;
	struct frame_head head = {(uint32_t)plain_bytes, 0};
	unsigned char *room = sn_buffer_room(out, sizeof(head) + plain_bytes);
	if (!room || codec->plain.failed)
		return 0;
	/* worth it only where it becomes shorter, so there is always room */
	size_t length = compress(codec, room + sizeof(head), plain_bytes);
	head.is_compressed = length > 0;
	if (!length) {
		memcpy(room + sizeof(head), codec->plain.bytes, plain_bytes);
		length = plain_bytes;
	}
	memcpy(room, &head, sizeof(head));
	out->count = begin + sizeof(head) + length;
	return (uint32_t)(sizeof(head) + length);
}

/* A frame into the codec's plain bytes. */
static int get_frame(struct sn_block_codec *codec, const unsigned char *bytes, size_t length)
{
	struct frame_head head;
	codec->plain.count = 0;
	codec->plain.failed = false;
	if (length < sizeof(head))
		return SN_ERR_FORMAT;
	memcpy(&head, bytes, sizeof(head));
	bytes += sizeof(head);
	length -= sizeof(head);
	if (head.plain_bytes > FRAME_BYTES_MAX)
		return SN_ERR_FORMAT;
	if (head.is_compressed)
		return decompress(codec, bytes, length, head.plain_bytes);
	if (length != head.plain_bytes)
		return SN_ERR_FORMAT;
	sn_buffer_put(&codec->plain, bytes, length);
	return codec->plain.failed ? SN_ERR_MEMORY : 0;
}

/* The time from the end of one event to the start of the next says less than the starts do. */
static void put_core(struct sn_block_codec *codec, const struct sn_block *block, bool has_ends)
{
	uint64_t column[SN_BLOCK_EVENTS];
	uint8_t flags[8] = {has_ends};
	sn_buffer_put(&codec->plain, flags, sizeof(flags));
	column[0] = 0;
	for (size_t i = 1; i < block->count; i++)
		column[i] = block->starts_ns[i] -
			    (has_ends ? block->ends_ns[i - 1] : block->starts_ns[i - 1]);
	sn_column_encode(column, block->count, &codec->plain);
	for (size_t i = 0; i < block->count && has_ends; i++)
		column[i] = block->ends_ns[i] - block->starts_ns[i];
	if (has_ends)
		sn_column_encode(column, block->count, &codec->plain);
	for (size_t i = 0; i < block->count; i++)
		column[i] = block->contexts[i];
	sn_column_encode(column, block->count, &codec->plain);
}

/*
 * By key, and within a key by place, which is the order they came in: each key's are counted, and
 * everything put where its key's begin. `ordered` has as much room.
 */
static int order_by_key(struct sn_block_codec *codec, const struct sn_block_attribute *attributes,
			size_t count)
{
	uint32_t key_count = 0;
	for (size_t i = 0; i < count; i++)
		if (attributes[i].key >= key_count)
			key_count = attributes[i].key + 1;
	if (sn_vec_reserve(&codec->ordered, &codec->ordered_capacity, count) < 0 ||
	    sn_vec_reserve(&codec->begins, &codec->begin_capacity, key_count + 1ull) < 0)
		return SN_ERR_MEMORY;
	memset(codec->begins, 0, (key_count + 1ull) * sizeof(*codec->begins));
	for (size_t i = 0; i < count; i++)
		codec->begins[attributes[i].key + 1]++;
	for (uint32_t key = 0; key < key_count; key++)
		codec->begins[key + 1] += codec->begins[key];
	for (size_t i = 0; i < count; i++)
		codec->ordered[codec->begins[attributes[i].key]++] = attributes[i];
	return 0;
}

/* One attribute of all events that have it; of one given twice, the last value. */
static void put_attribute(struct sn_block_codec *codec, const struct sn_block_attribute *attributes,
			  size_t count, size_t event_count)
{
	uint64_t column[SN_BLOCK_EVENTS];
	unsigned char bitmap[BITMAP_BYTES(SN_BLOCK_EVENTS)] = {0};
	struct attribute_head head = {attributes->key, 0};
	for (size_t i = 0; i < count; i++) {
		uint32_t place = attributes[i].place;
		bool is_again = i && attributes[i - 1].place == place;
		column[is_again ? head.present_count - 1 : head.present_count++] =
		    attributes[i].value;
		bitmap[place / 8] |= (unsigned char)(1u << place % 8);
	}
	sn_buffer_put(&codec->plain, &head, sizeof(head));
	if (head.present_count < event_count)
		sn_buffer_put(&codec->plain, bitmap, BITMAP_BYTES(event_count));
	sn_column_encode(column, head.present_count, &codec->plain);
}

/* False where no event carries anything besides time and context. */
static bool put_rest(struct sn_block_codec *codec, const struct sn_block *block,
		     size_t attribute_count)
{
	const struct sn_block_attribute *attributes = codec->ordered;
	uint32_t head[2] = {0, 0}; /* has links; columns */
	for (size_t i = 0; i < block->count; i++)
		head[0] |= block->links[i] != 0;
	if (!head[0] && !attribute_count)
		return false;
	for (size_t i = 0; i < attribute_count; i++)
		head[1] += !i || attributes[i].key != attributes[i - 1].key;
	sn_buffer_put(&codec->plain, head, sizeof(head));
	if (head[0])
		sn_column_encode(block->links, block->count, &codec->plain);
	for (size_t first = 0, next; first < attribute_count; first = next) {
		for (next = first + 1; next < attribute_count; next++)
			if (attributes[next].key != attributes[first].key)
				break;
		put_attribute(codec, attributes + first, next - first, block->count);
	}
	return true;
}

int sn_block_encode(struct sn_block_codec *codec, const struct sn_block *block, bool has_ends,
		    const struct sn_block_attribute *attributes, size_t attribute_count,
		    struct sn_buffer *out, struct sn_block_entry *entry)
{
	size_t begin = out->count;
	*entry = (struct sn_block_entry){
	    .offset = begin,
	    .start_ns = block->starts_ns[0],
	    .count = (uint32_t)block->count,
	};
	for (size_t i = 0; i < block->count; i++)
		if (block->ends_ns[i] > entry->end_ns)
			entry->end_ns = block->ends_ns[i];
	codec->plain.count = 0;
	put_core(codec, block, has_ends);
	entry->core_bytes = put_frame(codec, out);
	codec->plain.count = 0;
	if (order_by_key(codec, attributes, attribute_count))
		return SN_ERR_MEMORY;
	if (put_rest(codec, block, attribute_count))
		entry->rest_bytes = put_frame(codec, out);
	if (codec->plain.failed || out->failed)
		return SN_ERR_MEMORY;
	entry->checksum = (uint32_t)sn_checksum(out->bytes + begin, out->count - begin);
	return 0;
}

static bool get_core(struct sn_span span, const struct sn_block_entry *entry,
		     struct sn_block *block)
{
	uint64_t column[SN_BLOCK_EVENTS];
	size_t count = entry->count;
	const unsigned char *flags = sn_span_next(&span, 8);
	if (!flags || !sn_column_decode(&span, block->starts_ns, count) ||
	    (flags[0] && !sn_column_decode(&span, block->ends_ns, count)) ||
	    !sn_column_decode(&span, column, count))
		return false;
	/* so far the gaps between events, and their lengths */
	uint64_t end = entry->start_ns;
	for (size_t i = 0; i < count; i++) {
		block->starts_ns[i] += end;
		end = block->starts_ns[i] + (flags[0] ? block->ends_ns[i] : 0);
		if (end < block->starts_ns[i])
			return false;
		block->ends_ns[i] = end;
		block->contexts[i] = (uint32_t)column[i];
	}
	return true;
}

static bool is_whole(const struct sn_block_entry *entry, const unsigned char *bytes)
{
	size_t length = (size_t)entry->core_bytes + entry->rest_bytes;
	return entry->count && entry->count <= SN_BLOCK_EVENTS &&
	       (uint32_t)sn_checksum(bytes, length) == entry->checksum;
}

int sn_block_decode(struct sn_block_codec *codec, const struct sn_block_entry *entry,
		    const unsigned char *bytes, struct sn_block *block)
{
	if (!is_whole(entry, bytes))
		return SN_ERR_FORMAT;
	int result = get_frame(codec, bytes, entry->core_bytes);
	if (result)
		return result;
	block->count = entry->count;
	struct sn_span span = {codec->plain.bytes, codec->plain.count};
	return get_core(span, entry, block) ? 0 : SN_ERR_FORMAT;
}

int sn_block_decode_rest(struct sn_block_codec *codec, const struct sn_block_entry *entry,
			 const unsigned char *bytes, struct sn_block *block,
			 struct sn_block_rest *rest)
{
	*rest = (struct sn_block_rest){0};
	if (!entry->rest_bytes)
		return 0;
	int result = get_frame(codec, bytes + entry->core_bytes, entry->rest_bytes);
	if (result)
		return result;
	uint32_t head[2];
	struct sn_span span = {codec->plain.bytes, codec->plain.count};
	if (!sn_span_get(&span, head, sizeof(head)))
		return SN_ERR_FORMAT;
	if (head[0] && !sn_column_decode(&span, block->links, entry->count))
		return SN_ERR_FORMAT;
	*rest = (struct sn_block_rest){head[0] != 0, span, head[1]};
	return 0;
}

/* Puts the values of the events that have the attribute, of which there are some, where those events are. */
static int spread(const unsigned char *bitmap, size_t count, const uint64_t *column,
		  size_t present_count, uint64_t *values, bool *is_present)
{
	size_t taken = 0;
	for (size_t i = 0; i < count; i++) {
		is_present[i] = bitmap[i / 8] >> i % 8 & 1;
		if (is_present[i] && taken == present_count)
			return SN_ERR_FORMAT;
		values[i] = is_present[i] ? column[taken++] : 0;
	}
	return taken == present_count ? 1 : SN_ERR_FORMAT;
}

/* The head of a column, and which events have values. */
static int read_head(struct sn_span *span, size_t count, struct attribute_head *head,
		     const unsigned char **bitmap)
{
	*bitmap = NULL;
	if (!sn_span_get(span, head, sizeof(*head)) || head->present_count > count)
		return SN_ERR_FORMAT;
	if (head->present_count < count) {
		*bitmap = sn_span_next(span, BITMAP_BYTES(count));
		if (!*bitmap)
			return SN_ERR_FORMAT;
	}
	return 0;
}

/* The values behind the head. 1, or SN_ERR_FORMAT. */
static int read_values(struct sn_span *span, size_t count, const struct attribute_head *head,
		       const unsigned char *bitmap, uint64_t *values, bool *is_present)
{
	uint64_t column[SN_BLOCK_EVENTS];
	if (!sn_column_decode(span, bitmap ? column : values, head->present_count))
		return SN_ERR_FORMAT;
	if (bitmap)
		return spread(bitmap, count, column, head->present_count, values, is_present);
	memset(is_present, true, count * sizeof(*is_present));
	return 1;
}

int sn_block_attribute(const struct sn_block_rest *rest, uint32_t key, size_t count,
		       uint64_t *values, bool *is_present)
{
	struct sn_span span = rest->columns;
	for (uint32_t i = 0; i < rest->column_count; i++) {
		struct attribute_head head;
		const unsigned char *bitmap;
		int result = read_head(&span, count, &head, &bitmap);
		if (result)
			return result;
		if (head.key == key)
			return read_values(&span, count, &head, bitmap, values, is_present);
		if (!sn_column_skip(&span, head.present_count))
			return SN_ERR_FORMAT;
	}
	return 0;
}

int sn_block_attribute_next(struct sn_block_rest *rest, size_t count, uint32_t *key,
			    uint64_t *values, bool *is_present)
{
	struct attribute_head head;
	const unsigned char *bitmap;
	if (!rest->column_count)
		return 0;
	rest->column_count--;
	int result = read_head(&rest->columns, count, &head, &bitmap);
	if (result)
		return result;
	*key = head.key;
	return read_values(&rest->columns, count, &head, bitmap, values, is_present);
}
