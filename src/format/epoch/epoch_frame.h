/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames, of which an epoch's file consists: a header with a checksum, and a payload that zstd may
 * have compressed. A frame that is cut or changed is recognised, and nothing behind it is used.
 */
#pragma once

#include "base/buffer.h"
#include "base/cursor.h"
#include "base/error.h"

#include <stdint.h>

#define SN_EPOCH_FRAME_MAGIC	 0x50454e53u /* "SNEP" */
#define SN_EPOCH_FRAME_BYTES_MAX (64u << 20) /* of a payload, before and after compression */
#define SN_EPOCH_VERSION_MAJOR	 1
#define SN_EPOCH_VERSION_MINOR	 0

enum sn_epoch_frame_type {
	SN_EPOCH_FRAME_HEAD = 1, /* of the file; the first one */
	SN_EPOCH_FRAME_PART = 2,
	SN_EPOCH_FRAME_MORE = 3, /* more counts of the part before */
};

enum sn_epoch_coding { SN_EPOCH_PLAIN = 0, SN_EPOCH_ZSTD = 1 };

struct sn_epoch_frame_header {
	uint32_t magic;
	uint8_t type, coding;
	uint16_t reserved;	/* 0 */
	uint32_t stored_bytes;	/* of the payload in the file */
	uint32_t payload_bytes; /* the same once it is decompressed */
	uint64_t checksum;	/* XXH64, seed 0, of the fields before and the stored payload */
};
_Static_assert(sizeof(struct sn_epoch_frame_header) == 24, "epoch frame is on disk");

/* Memory that frames are coded in. All zeroes is a new one. */
struct sn_epoch_codec {
	void *compressor, *decompressor; /* zstd's contexts */
	struct sn_buffer stored, payload;
};
void sn_epoch_codec_release(struct sn_epoch_codec *codec);
/* Empties a buffer for the next use, also after it has failed. */
void sn_epoch_empty(struct sn_buffer *buffer);

/* Appends a frame to `out`, whose failure is sticky. 0, SN_ERR_MEMORY, or SN_ERR_ARGUMENT where the
 * payload is too large. */
int sn_epoch_frame_put(struct sn_epoch_codec *codec, enum sn_epoch_frame_type type,
		       const struct sn_buffer *payload, struct sn_buffer *out);

enum sn_epoch_frame_result {
	SN_EPOCH_WHOLE = 1,
	SN_EPOCH_END = 0,    /* there is nothing at that offset */
	SN_EPOCH_CUT = 2,    /* the file ends within the frame */
	SN_EPOCH_BROKEN = 3, /* its bytes are not those that were written */
};
struct sn_epoch_frame_place {
	unsigned type;
	struct sn_bytes payload; /* valid until the next call with the codec */
	uint64_t next;		 /* the offset behind it */
};
/* Reads the frame at `offset` of a file of `file_bytes`. An enum sn_epoch_frame_result, or a
 * negative enum sn_err where the system refused or this build cannot decompress. */
int sn_epoch_frame_get(struct sn_epoch_codec *codec, int fd, uint64_t offset, uint64_t file_bytes,
		       struct sn_epoch_frame_place *place, struct sn_error *error);
