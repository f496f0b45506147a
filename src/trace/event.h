/* SPDX-License-Identifier: Apache-2.0 */
/* An event to be written into a database, with ids of the database's builder. */
#pragma once

#include "sonde/trace.h"

struct sn_attribute {
	uint32_t key; /* of sn_trace_writer_key */
	uint32_t reserved;
	uint64_t value; /* as the key's type says; a string is the builder's */
};

struct sn_event {
	uint64_t start_ns, end_ns; /* since the Unix epoch; the end is not before the start */
	uint64_t link;		   /* 0: none */
	uint32_t profile, context; /* builder's */
	uint32_t metric;	   /* of a counter, builder's; else SONDE_NONE */
	uint16_t kind;		   /* enum sonde_track_kind */
	uint16_t attribute_count;
	const struct sn_attribute *attributes;
};
