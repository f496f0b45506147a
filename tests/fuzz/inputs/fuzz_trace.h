/* SPDX-License-Identifier: Apache-2.0 */
/* Reads all events of a database, whole and by windows of several lengths. */
#ifndef SN_TESTS_FUZZ_TRACE_H
#define SN_TESTS_FUZZ_TRACE_H

#include "sonde/trace.h"

#include <stdio.h>
#include <stdlib.h>

static inline void fuzz_read_track(const struct sonde_trace *trace, uint32_t track, bool is_sound)
{
	struct sonde_db_error error;
	struct sonde_event_block block;
	const struct sonde_track *about = sonde_trace_track(trace, track);
	uint64_t count = 0;
	int found = 0;
	struct sonde_event_cursor *cursor = sonde_event_cursor_new(trace, track, 0, UINT64_MAX, 0);
	while (cursor && (found = sonde_event_cursor_next(cursor, &block, &error)) > 0) {
		count += block.count;
		for (uint32_t key = 0; key < sonde_trace_key_count(trace) && key < 64; key++) {
			struct sonde_attribute_column column;
			sonde_event_cursor_attribute(cursor, key, &column);
		}
	}
	sonde_event_cursor_free(cursor);
	if (is_sound && (found < 0 || count != about->event_count))
		abort();
	for (unsigned shift = 0; shift < 64; shift += 9) {
		struct sonde_pixel pixels[100];
		uint64_t end = about->start_ns + ((about->end_ns - about->start_ns) >> shift);
		if (end <= about->start_ns)
			continue;
		int result =
		    sonde_trace_draw(trace, track, about->start_ns, end, pixels, 100, &error);
		if (is_sound && result)
			abort();
	}
}

/* `is_sound`: what was just written, so that nothing of it may be damaged. */
static inline void fuzz_read_trace(const struct sonde_db *db, bool is_sound)
{
	struct sonde_trace *trace;
	struct sonde_db_error error;
	if (sonde_trace_open(db, &trace, &error)) {
		if (is_sound)
			abort();
		return;
	}
	for (uint32_t i = 0; i < sonde_trace_track_count(trace) && i < 256; i++)
		fuzz_read_track(trace, i, is_sound);
	sonde_trace_close(trace);
}

#endif
