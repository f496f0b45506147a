/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes events, which come in any order, sorted, in lanes, blocks and summaries.
 *
 *   add -> sorter.h (by profile and time, spilling to disk) -> lanes.h (what overlaps is put
 *   apart) -> block.h (columns, compressed) + pyramid.h (what to draw) -> sections of a database
 *
 * Memory is the budget given and, while finishing, one block for each lane of one profile. Events
 * of one profile that start together stay in the order in which they came, but for intervals, of
 * which the longer comes first: a call before what it calls.
 *
 * Single-threaded. After a failure adding does nothing, and finishing reports it.
 */
#pragma once

#include "base/error.h"
#include "event.h"
#include "format/database/database_writer.h"

struct sn_trace_writer;

/* `memory_bytes` for events held before they are spilled; 0: 256 MiB. Spills go to unnamed files
 * in `folder`, NULL: that of temporary files. NULL without memory. */
struct sn_trace_writer *sn_trace_writer_new(size_t memory_bytes, const char *folder);
/* One that was never attached. */
void sn_trace_writer_free(struct sn_trace_writer *writer);

/* The number of an attribute; the same name and type are the same number. `name` and `unit` are
 * strings of the builder, unit may be SONDE_NONE. */
uint32_t sn_trace_writer_key(struct sn_trace_writer *writer, uint32_t name, uint32_t unit,
			     enum sonde_attribute_type type);
void sn_trace_writer_add(struct sn_trace_writer *writer, const struct sn_event *event);
uint64_t sn_trace_writer_count(const struct sn_trace_writer *writer);

/* Makes it the builder's: events go into the file that the builder writes, and the writer is freed
 * with the builder. */
void sn_trace_writer_attach(struct sn_trace_writer *writer, struct sn_db_builder *builder);
