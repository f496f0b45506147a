/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of one stream (later one track, or the lanes of one) while they are sorted, and their
 * encoding in a temporary file of the same process: numbers of variable length, as differences to
 * the record before. A record of 40 bytes and an attribute of 16 take about a quarter of that.
 */
#pragma once

#include "base/buffer.h"
#include "event.h"

struct sn_record {
	uint64_t start_ns, end_ns, link;
	uint64_t first_attribute; /* in the stream's attributes */
	uint32_t context;
	uint16_t attribute_count, reserved;
};
_Static_assert(sizeof(struct sn_record) == 40, "records are what memory is filled with");

/* Appends records and their attributes, which may lie anywhere in `attributes` and whose number it
 * returns. A failure is the buffer's. */
uint32_t sn_records_encode(const struct sn_record *records, size_t count,
			   const struct sn_attribute *attributes, struct sn_buffer *buffer);

/* Reads `count` records, and `attribute_count` attributes, which then lie in order. False where the
 * bytes are damaged. */
bool sn_records_decode(struct sn_span bytes, struct sn_record *records, size_t count,
		       struct sn_attribute *attributes, size_t attribute_count);
