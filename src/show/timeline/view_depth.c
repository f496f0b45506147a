/* SPDX-License-Identifier: Apache-2.0 */
/* Time by call path cut off at a depth. */
#include "timeline/call_depth.h"
#include "views.h"

#include <stdio.h>
#include <string.h>

enum { PATH_CHARS = 1200 };

/* "main > step > forward", the begin left out where it is long. */
static void name_call_path(const struct sonde_db *db, uint32_t context, char text[PATH_CHARS])
{
	char rest[PATH_CHARS];
	text[0] = 0;
	for (uint32_t at = context; at; at = sonde_db_context(db, at)->parent) {
		struct sn_context_name name = sn_name_context(db, at);
		snprintf(rest, sizeof(rest), "%s", text);
		bool fits = strlen(name.text) + strlen(rest) + 8 < PATH_CHARS;
		snprintf(text, PATH_CHARS, "%.300s%s%.*s", fits ? name.text : "…",
			 *rest ? " > " : "", PATH_CHARS - 310, rest);
		if (!fits)
			break;
	}
	if (!*text)
		snprintf(text, PATH_CHARS, "[outside any call]");
}

int sn_view_depth(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	static const struct sn_column columns[] = {
	    {"host_ns", "threads", "ns"},   {"host_share", "share", "ratio"},
	    {"device_ns", "devices", "ns"}, {"device_share", "share", "ratio"},
	    {"context", "", "id"},	    {"path", "call path", ""}};
	char text[PATH_CHARS];
	struct sn_depth_times times;
	int result = sn_depth_times(answers, &times, error);
	struct sn_sheet *sheet =
	    sn_page_table(page, "depth", columns, "time by call path, to depth %u", answers->depth);
	for (size_t i = 0; i < times.count; i++) {
		const struct sn_depth_time *one = times.items + i;
		sn_sheet_numbers(
		    sheet, one->threads_ns,
		    times.threads_ns > 0 ? one->threads_ns / times.threads_ns : 0, one->device_ns,
		    times.device_ns > 0 ? one->device_ns / times.device_ns : 0, one->context);
		name_call_path(answers->db, one->context, text);
		sn_sheet_text(sheet, text);
	}
	sn_sheet_note(sheet, "of all threads and all devices together; another depth: --depth N");
	free(times.items);
	return result;
}
