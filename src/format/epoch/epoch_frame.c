/* SPDX-License-Identifier: Apache-2.0 */
/* Frames; see epoch_frame.h. */
#include "epoch_frame.h"

#include "base/file_at.h"
#include "format/checksum.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

void sn_epoch_empty(struct sn_buffer *buffer)
{
	if (buffer->failed)
		sn_buffer_release(buffer);
	buffer->count = 0;
}

/* Room for all that the buffer will hold. */
static unsigned char *room_in(struct sn_buffer *buffer, size_t bytes)
{
	sn_epoch_empty(buffer);
	return sn_buffer_room(buffer, bytes);
}

#ifdef SN_HAVE_ZSTD
#include <zstd.h>

/* Higher levels gain 2 % at several times the work. */
#define LEVEL 3

/* Into codec->stored; *length is 0 where that does not work. 0 or SN_ERR_MEMORY. */
static int compress(struct sn_epoch_codec *codec, const struct sn_buffer *payload, size_t *length)
{
	size_t room = ZSTD_compressBound(payload->count);
	unsigned char *to = room_in(&codec->stored, room);
	if (!codec->compressor)
		codec->compressor = ZSTD_createCCtx();
	if (!codec->compressor || !to)
		return SN_ERR_MEMORY;
	*length =
	    ZSTD_compressCCtx(codec->compressor, to, room, payload->bytes, payload->count, LEVEL);
	*length = ZSTD_isError(*length) ? 0 : *length;
	return 0;
}

/* 0, SN_ERR_MEMORY, or SN_ERR_FORMAT where the bytes are not those of a payload of that length. */
static int decompress(struct sn_epoch_codec *codec, size_t stored, size_t payload)
{
	if (!codec->decompressor)
		codec->decompressor = ZSTD_createDCtx();
	unsigned char *to = room_in(&codec->payload, payload);
	if (!codec->decompressor || !to)
		return SN_ERR_MEMORY;
	size_t got =
	    ZSTD_decompressDCtx(codec->decompressor, to, payload, codec->stored.bytes, stored);
	return got == payload ? 0 : SN_ERR_FORMAT;
}

static void free_contexts(struct sn_epoch_codec *codec)
{
	ZSTD_freeCCtx(codec->compressor);
	ZSTD_freeDCtx(codec->decompressor);
}
#else
static int compress(struct sn_epoch_codec *codec, const struct sn_buffer *payload, size_t *length)
{
	(void)codec;
	(void)payload;
	*length = 0;
	return 0;
}

static int decompress(struct sn_epoch_codec *codec, size_t stored, size_t payload)
{
	(void)codec;
	(void)stored;
	(void)payload;
	return SN_ERR_UNSUPPORTED;
}

static void free_contexts(struct sn_epoch_codec *codec)
{
	(void)codec;
}
#endif

void sn_epoch_codec_release(struct sn_epoch_codec *codec)
{
	free_contexts(codec);
	sn_buffer_release(&codec->stored);
	sn_buffer_release(&codec->payload);
	*codec = (struct sn_epoch_codec){0};
}

static uint64_t checksum_of(const struct sn_epoch_frame_header *header, const void *stored)
{
	struct sn_checksum state;
	sn_checksum_init(&state);
	sn_checksum_update(&state, header, offsetof(struct sn_epoch_frame_header, checksum));
	sn_checksum_update(&state, stored, header->stored_bytes);
	return sn_checksum_final(&state);
}

int sn_epoch_frame_put(struct sn_epoch_codec *codec, enum sn_epoch_frame_type type,
		       const struct sn_buffer *payload, struct sn_buffer *out)
{
	if (payload->failed)
		return SN_ERR_MEMORY;
	if (payload->count > SN_EPOCH_FRAME_BYTES_MAX)
		return SN_ERR_ARGUMENT;
	size_t compressed = 0;
	if (compress(codec, payload, &compressed))
		return SN_ERR_MEMORY;
	bool is_smaller = compressed && compressed < payload->count;
	const void *stored = is_smaller ? codec->stored.bytes : payload->bytes;
	struct sn_epoch_frame_header header = {
	    .magic = SN_EPOCH_FRAME_MAGIC,
	    .type = (uint8_t)type,
	    .coding = is_smaller ? SN_EPOCH_ZSTD : SN_EPOCH_PLAIN,
	    .stored_bytes = (uint32_t)(is_smaller ? compressed : payload->count),
	    .payload_bytes = (uint32_t)payload->count,
	};
	header.checksum = checksum_of(&header, stored);
	sn_buffer_put(out, &header, sizeof(header));
	sn_buffer_put(out, stored, header.stored_bytes);
	return out->failed ? SN_ERR_MEMORY : 0;
}

/* Whether there can be such a frame; whether there is one is left to the checksum. */
static bool is_possible(const struct sn_epoch_frame_header *header)
{
	bool has_lengths =
	    header->coding == SN_EPOCH_ZSTD ||
	    (header->coding == SN_EPOCH_PLAIN && header->stored_bytes == header->payload_bytes);
	return header->magic == SN_EPOCH_FRAME_MAGIC && has_lengths &&
	       header->stored_bytes <= SN_EPOCH_FRAME_BYTES_MAX &&
	       header->payload_bytes <= SN_EPOCH_FRAME_BYTES_MAX;
}

static int read_bytes(int fd, void *bytes, size_t length, uint64_t offset, struct sn_error *error)
{
	int why = sn_read_at(fd, bytes, length, offset);
	if (why == ENODATA)
		return SN_EPOCH_CUT; /* it was cut meanwhile */
	return why ? sn_fail(error, SN_ERR_IO, "%s", strerror(why)) : 0;
}

/* Decodes what is in codec->stored. */
static int decode(struct sn_epoch_codec *codec, const struct sn_epoch_frame_header *header,
		  struct sn_epoch_frame_place *place, struct sn_error *error)
{
	int result = 0;
	if (header->coding == SN_EPOCH_ZSTD)
		result = decompress(codec, header->stored_bytes, header->payload_bytes);
	if (result == SN_ERR_UNSUPPORTED)
		return sn_fail(error, result, "it is compressed by zstd, which this build lacks");
	if (result == SN_ERR_MEMORY)
		return sn_fail_memory(error);
	if (result)
		return SN_EPOCH_BROKEN;
	place->type = header->type;
	place->payload = (struct sn_bytes){header->coding == SN_EPOCH_ZSTD ? codec->payload.bytes
									   : codec->stored.bytes,
					   header->payload_bytes};
	return SN_EPOCH_WHOLE;
}

int sn_epoch_frame_get(struct sn_epoch_codec *codec, int fd, uint64_t offset, uint64_t file_bytes,
		       struct sn_epoch_frame_place *place, struct sn_error *error)
{
	struct sn_epoch_frame_header header;
	if (offset >= file_bytes)
		return SN_EPOCH_END;
	if (file_bytes - offset < sizeof(header))
		return SN_EPOCH_CUT;
	int result = read_bytes(fd, &header, sizeof(header), offset, error);
	if (result)
		return result;
	if (!is_possible(&header))
		return SN_EPOCH_BROKEN;
	offset += sizeof(header);
	if (file_bytes - offset < header.stored_bytes)
		return SN_EPOCH_CUT;
	unsigned char *to = room_in(&codec->stored, header.stored_bytes);
	if (!to)
		return sn_fail_memory(error);
	result = read_bytes(fd, to, header.stored_bytes, offset, error);
	if (result)
		return result;
	if (checksum_of(&header, to) != header.checksum)
		return SN_EPOCH_BROKEN;
	place->next = offset + header.stored_bytes;
	return decode(codec, &header, place, error);
}
