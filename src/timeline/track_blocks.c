/* SPDX-License-Identifier: Apache-2.0 */
/* One cursor over one track; see track_blocks.h. */
#include "track_blocks.h"

int sn_track_blocks_within(const struct sonde_trace *trace, uint32_t track, uint64_t from_ns,
			   uint64_t to_ns, unsigned flags, sn_visit_block *visit, void *data,
			   struct sn_error *error)
{
	struct sonde_event_cursor *cursor =
	    sonde_event_cursor_new(trace, track, from_ns, to_ns, flags);
	struct sonde_event_block block;
	struct sonde_db_error why = {""};
	int found = 0, result = cursor ? 0 : SN_ERR_MEMORY;
	while (!result && (found = sonde_event_cursor_next(cursor, &block, &why)) > 0)
		result = visit(data, sonde_trace_track(trace, track), cursor, &block);
	sonde_event_cursor_free(cursor);
	if (result)
		return result < 0 ? sn_fail_code(error, result) : 0;
	return found < 0 ? sn_fail(error, SN_ERR_FORMAT, "%s", why.text) : 0;
}

int sn_track_blocks(const struct sonde_trace *trace, uint32_t track, unsigned flags,
		    sn_visit_block *visit, void *data, struct sn_error *error)
{
	return sn_track_blocks_within(trace, track, 0, UINT64_MAX, flags, visit, data, error);
}
