/* SPDX-License-Identifier: Apache-2.0 */
/* From frames to pieces; see epoch_reader.h. */
#include "epoch_reader.h"

#include "epoch_frame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct sn_epoch_reader {
	int fd;
	uint64_t file_bytes, offset, first; /* of the first frame behind the head */
	struct sn_epoch_codec codec;
	struct sn_epoch_head head;
	struct sn_epoch_dictionary dictionary;
	struct sn_epoch_rows rows;
	struct sn_epoch_flush flush;
	struct sn_epoch_loss losses[SN_EPOCH_LOSSES_MAX];
	char *texts; /* of the flush, as its payload does not last as long */
	bool has_part;
	int end; /* enum sn_epoch_frame_result */
	char damage[160];
};

void sn_epoch_reader_close(struct sn_epoch_reader *reader)
{
	if (!reader)
		return;
	close(reader->fd);
	sn_epoch_codec_release(&reader->codec);
	sn_epoch_dictionary_release(&reader->dictionary);
	sn_epoch_rows_release(&reader->rows);
	free(reader->head.replaces);
	free(reader->texts);
	free(reader);
}

static int look(struct sn_epoch_reader *reader, struct sn_error *error)
{
	struct stat status;
	if (fstat(reader->fd, &status) < 0)
		return sn_fail(error, SN_ERR_IO, "%s", strerror(errno));
	if (!S_ISREG(status.st_mode))
		return sn_fail(error, SN_ERR_FORMAT, "it is no file");
	reader->file_bytes = (uint64_t)status.st_size;
	return 0;
}

static int read_head(struct sn_epoch_reader *reader, struct sn_error *error)
{
	struct sn_epoch_frame_place place;
	int result = look(reader, error);
	if (!result)
		result = sn_epoch_frame_get(&reader->codec, reader->fd, 0, reader->file_bytes,
					    &place, error);
	if (result < 0)
		return result;
	if (result != SN_EPOCH_WHOLE || place.type != SN_EPOCH_FRAME_HEAD)
		return sn_fail(error, SN_ERR_FORMAT,
			       "its head is damaged: none of its %" PRIu64 " bytes is read",
			       reader->file_bytes);
	reader->first = reader->offset = place.next;
	result = sn_epoch_head_get(place.payload, &reader->head);
	if (result == SN_ERR_VERSION)
		return sn_fail(error, result, "a newer version of Sonde wrote it");
	if (result == SN_ERR_FORMAT)
		return sn_fail(error, result,
			       "its head is damaged: none of its %" PRIu64 " bytes is read",
			       reader->file_bytes);
	return sn_fail_code(error, result);
}

int sn_epoch_reader_open(struct sn_epoch_reader **reader, int fd, struct sn_error *error)
{
	struct sn_epoch_reader *opened = calloc(1, sizeof(*opened));
	if (!opened) {
		close(fd);
		return sn_fail_memory(error);
	}
	opened->fd = fd;
	int result = read_head(opened, error);
	if (result)
		sn_epoch_reader_close(opened);
	else
		*reader = opened;
	return result;
}

int sn_epoch_reader_rewind(struct sn_epoch_reader *reader, struct sn_error *error)
{
	sn_epoch_dictionary_release(&reader->dictionary);
	reader->offset = reader->first;
	reader->has_part = false;
	reader->end = 0;
	reader->damage[0] = '\0';
	return look(reader, error);
}

const struct sn_epoch_head *sn_epoch_reader_head(const struct sn_epoch_reader *reader)
{
	return &reader->head;
}

const struct sn_epoch_dictionary *sn_epoch_reader_dictionary(const struct sn_epoch_reader *reader)
{
	return &reader->dictionary;
}

void sn_epoch_reader_leave_dictionary(struct sn_epoch_reader *reader)
{
	reader->dictionary = (struct sn_epoch_dictionary){0};
}

/* Keeps the texts of the flush, which lie in the payload, beyond it. */
static int keep_texts(struct sn_epoch_reader *reader, struct sn_bytes payload)
{
	struct sn_epoch_flush *flush = &reader->flush;
	const char *from = (const char *)payload.data;
	/* all of them lie before the dictionary, so a copy of the payload's begin holds them */
	size_t bytes = (size_t)(flush->event - from) + strlen(flush->event) + 1;
	for (uint32_t i = 0; i < flush->loss_count; i++)
		bytes =
		    (size_t)(reader->losses[i].cause - from) + strlen(reader->losses[i].cause) + 1;
	char *copy = malloc(bytes);
	if (!copy)
		return SN_ERR_MEMORY;
	memcpy(copy, from, bytes);
	flush->event = copy + (flush->event - from);
	for (uint32_t i = 0; i < flush->loss_count; i++)
		reader->losses[i].cause = copy + (reader->losses[i].cause - from);
	free(reader->texts);
	reader->texts = copy;
	return 0;
}

/* 1; 0 where the payload is not what its frame says; or SN_ERR_MEMORY. */
static int decode(struct sn_epoch_reader *reader, const struct sn_epoch_frame_place *place)
{
	struct sn_cursor cursor = sn_cursor_at(place->payload, 0);
	int result = 0;
	if (place->type == SN_EPOCH_FRAME_PART) {
		sn_epoch_flush_get(&cursor, &reader->flush, reader->losses);
		result = cursor.failed ? 0 : keep_texts(reader, place->payload);
		reader->has_part = !cursor.failed && !result;
	}
	if (!reader->has_part || place->type < SN_EPOCH_FRAME_PART ||
	    place->type > SN_EPOCH_FRAME_MORE)
		return result;
	result = sn_epoch_dictionary_get(&reader->dictionary, &cursor);
	if (!result && !cursor.failed)
		result = sn_epoch_rows_get(&reader->rows, &reader->dictionary, &cursor);
	return result ? result : !cursor.failed;
}

static void note_damage(struct sn_epoch_reader *reader, int how)
{
	uint64_t left = reader->file_bytes - reader->offset;
	reader->end = how;
	snprintf(reader->damage, sizeof(reader->damage),
		 "%s at byte %" PRIu64 ": %" PRIu64 " of %" PRIu64 " bytes are not read",
		 how == SN_EPOCH_CUT ? "truncated" : "damaged", reader->offset, left,
		 reader->file_bytes);
}

int sn_epoch_reader_next(struct sn_epoch_reader *reader, struct sn_epoch_piece *piece,
			 struct sn_error *error)
{
	struct sn_epoch_frame_place place;
	if (reader->end)
		return 0;
	int got = sn_epoch_frame_get(&reader->codec, reader->fd, reader->offset, reader->file_bytes,
				     &place, error);
	if (got <= 0)
		return got;
	int result = got == SN_EPOCH_WHOLE ? decode(reader, &place) : 0;
	if (result < 0)
		return sn_fail_code(error, result);
	if (!result) {
		note_damage(reader, got == SN_EPOCH_CUT ? SN_EPOCH_CUT : SN_EPOCH_BROKEN);
		return 0;
	}
	reader->offset = place.next;
	*piece = (struct sn_epoch_piece){
	    .begins_part = place.type == SN_EPOCH_FRAME_PART,
	    .flush = &reader->flush,
	    .counts = reader->rows.counts,
	    .count_count = reader->rows.count_count,
	    .stacks = reader->rows.stacks,
	    .stack_count = reader->rows.stack_count,
	};
	return 1;
}

const char *sn_epoch_reader_damage(const struct sn_epoch_reader *reader)
{
	return reader->end ? reader->damage : NULL;
}

bool sn_epoch_reader_is_cut(const struct sn_epoch_reader *reader)
{
	return reader->end == SN_EPOCH_CUT;
}

uint64_t sn_epoch_reader_whole_bytes(const struct sn_epoch_reader *reader)
{
	return reader->offset;
}

uint64_t sn_epoch_reader_file_bytes(const struct sn_epoch_reader *reader)
{
	return reader->file_bytes;
}
