/* SPDX-License-Identifier: Apache-2.0 */
/* Visits the blocks of a track in order. */
#include "track_blocks.h"

int sn_track_blocks(const struct sonde_trace *trace, uint32_t track,
		    const struct sn_event_window *window, sn_visit_block *visit, void *data,
		    struct sn_error *error)
{
	struct sonde_event_cursor *own = window->reader ? NULL : sn_event_reader_new(trace);
	struct sonde_event_cursor *reader = window->reader ? window->reader : own;
	struct sn_event_place place;
	struct sonde_event_block block;
	struct sonde_db_error why = {""};
	int found = 0, result = reader ? 0 : SN_ERR_MEMORY;
	sn_event_place_init(&place, trace, track, window->from_ns, window->to_ns, window->flags);
	while (!result && (found = sn_event_place_next(&place, reader, &block, &why)) > 0)
		result = visit(data, sonde_trace_track(trace, track), reader, &block);
	sn_event_place_release(&place);
	sonde_event_cursor_free(own);
	if (result)
		return result < 0 ? sn_fail_code(error, result) : 0;
	return found < 0 ? sn_fail(error, SN_ERR_FORMAT, "%s", why.text) : 0;
}
