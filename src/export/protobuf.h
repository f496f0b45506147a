/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As much of protobuf's encoding as the exporters need: a growing buffer with varint, fixed and
 * length-delimited fields. Memory running out is remembered and found at the end.
 */
#ifndef SN_EXPORT_PROTOBUF_H
#define SN_EXPORT_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_protobuf {
	unsigned char *bytes;
	size_t length, capacity;
	bool failed;
};

/* All zeroes is an empty buffer. */
void sn_protobuf_release(struct sn_protobuf *buffer);
void sn_protobuf_clear(struct sn_protobuf *buffer);
void sn_protobuf_varint(struct sn_protobuf *buffer, uint64_t value);
/* A field; zero, protobuf's default, is left out. */
void sn_protobuf_number(struct sn_protobuf *buffer, unsigned field, uint64_t value);
/* The same, but zero is written. */
void sn_protobuf_varint_field(struct sn_protobuf *buffer, unsigned field, uint64_t value);
void sn_protobuf_fixed64(struct sn_protobuf *buffer, unsigned field, uint64_t value);
void sn_protobuf_bytes(struct sn_protobuf *buffer, unsigned field, const void *bytes,
		       size_t length);
void sn_protobuf_message(struct sn_protobuf *buffer, unsigned field,
			 const struct sn_protobuf *message);

#endif
