/* SPDX-License-Identifier: Apache-2.0 */
/* Time by call path cut off at a depth. */
#include "timeline/call_depth.h"
#include "views.h"

#include <stdio.h>
#include <string.h>

enum { PATH_CHARS = 1200 };

/* "main > step > forward", the begin left out where it is long. */
static void path_text(const struct sonde_db *db, uint32_t context, char text[PATH_CHARS])
{
	char name[SN_LABEL_CHARS], rest[PATH_CHARS];
	text[0] = 0;
	for (uint32_t at = context; at; at = sonde_db_context(db, at)->parent) {
		sn_name_context(db, at, name);
		snprintf(rest, sizeof(rest), "%s", text);
		bool fits = strlen(name) + strlen(rest) + 8 < PATH_CHARS;
		snprintf(text, PATH_CHARS, "%.300s%s%.*s", fits ? name : "…", *rest ? " > " : "",
			 PATH_CHARS - 310, rest);
		if (!fits)
			break;
	}
	if (!*text)
		snprintf(text, PATH_CHARS, "[outside any call]");
}

int sn_view_depth(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	char text[PATH_CHARS];
	struct sn_depth_times times;
	int result = sn_depth_times(answers, &times, error);
	struct sn_sheet *sheet =
	    sn_page_sheet(page, "depth", "time by call path, to depth %u", answers->depth);
	sn_sheet_column(sheet, "host_ns", "threads", "ns");
	sn_sheet_column(sheet, "host_share", "share", "ratio");
	sn_sheet_column(sheet, "device_ns", "devices", "ns");
	sn_sheet_column(sheet, "device_share", "share", "ratio");
	sn_sheet_column(sheet, "context", "", "id");
	sn_sheet_column(sheet, "path", "call path", "");
	for (size_t i = 0; i < times.count; i++) {
		const struct sn_depth_time *one = times.items + i;
		sn_sheet_number(sheet, one->host_ns);
		sn_sheet_number(sheet, times.host_ns > 0 ? one->host_ns / times.host_ns : 0);
		sn_sheet_number(sheet, one->device_ns);
		sn_sheet_number(sheet, times.device_ns > 0 ? one->device_ns / times.device_ns : 0);
		sn_sheet_number(sheet, one->context);
		path_text(answers->db, one->context, text);
		sn_sheet_text(sheet, text);
	}
	sn_sheet_note(sheet, "of all threads and all devices together; another depth: --depth N");
	free(times.items);
	return result;
}
