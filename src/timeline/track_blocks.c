/* SPDX-License-Identifier: Apache-2.0 */
/* One cursor over one track; see track_blocks.h. */
#include "track_blocks.h"

int sn_track_blocks(const struct sonde_trace *trace, uint32_t track, unsigned flags,
		    sn_take_block *take, void *context, struct sn_error *error)
{
	struct sonde_event_cursor *cursor =
	    sonde_event_cursor_new(trace, track, 0, UINT64_MAX, flags);
	struct sonde_event_block block;
	struct sonde_db_error why = {""};
	int found = 0, result = cursor ? 0 : SN_ERR_MEMORY;
	while (!result && (found = sonde_event_cursor_next(cursor, &block, &why)) > 0)
		result = take(context, sonde_trace_track(trace, track), cursor, &block);
	sonde_event_cursor_free(cursor);
	if (result == SN_ERR_MEMORY)
		return sn_fail(error, result, "out of memory");
	if (result)
		return result;
	return found < 0 ? sn_fail(error, SN_ERR_FORMAT, "%s", why.text) : 0;
}
