/* SPDX-License-Identifier: Apache-2.0 */
/* Time by call path cut off at a depth: the profile that a trace shows at that depth. */
#include "timeline/answers.h"
#include "timeline/threads/activity_times.h"
#include "show/label.h"

#include <stdio.h>
#include <string.h>

enum { PATH_CHARS = 1200 };

struct depths {
	const struct sn_answers *answers;
	double *host, *device; /* own time by context; then by the one at the depth */
};

static int collect(struct depths *depths, struct sn_error *error)
{
	const struct sn_answers *answers = depths->answers;
	int result = sn_activity_times(&answers->processes, depths->host, error);
	for (uint32_t i = 0; i < sonde_db_context_count(answers->db); i++)
		depths->device[i] = answers->times.context_ns[i];
	return result;
}

/* Contexts are in pre-order, so that parents come first: from the last one up. */
static void roll_up(struct depths *depths)
{
	const struct sonde_db *db = depths->answers->db;
	for (uint32_t i = sonde_db_context_count(db); i-- > 1;) {
		const struct sonde_db_context *context = sonde_db_context(db, i);
		if (context->depth <= depths->answers->depth)
			continue;
		depths->host[context->parent] += depths->host[i];
		depths->device[context->parent] += depths->device[i];
		depths->host[i] = depths->device[i] = 0;
	}
}

/* "main > step > forward", the begin left out where it is long. */
static void path_text(const struct sonde_db *db, uint32_t context, char text[PATH_CHARS])
{
	char name[SN_LABEL_CHARS], rest[PATH_CHARS];
	text[0] = 0;
	for (uint32_t at = context; at; at = sonde_db_context(db, at)->parent) {
		sn_label_name(db, SN_GROUP_AUTO, sonde_db_context(db, at)->frame, name);
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

struct row {
	uint32_t context;
	double value;
};

static int compare(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return a->context < b->context ? -1 : a->context > b->context;
}

static int show(const struct depths *depths, struct sn_page *page)
{
	const struct sn_answers *answers = depths->answers;
	uint32_t count = sonde_db_context_count(answers->db);
	struct row *rows = malloc((count + 1ull) * sizeof(*rows));
	size_t row_count = 0;
	double host = 0, device = 0;
	char text[PATH_CHARS];
	if (!rows)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		host += depths->host[i];
		device += depths->device[i];
		if (depths->host[i] + depths->device[i] > 0)
			rows[row_count++] = (struct row){i, depths->host[i] + depths->device[i]};
	}
	qsort(rows, row_count, sizeof(*rows), compare);
	struct sn_sheet *sheet =
	    sn_page_sheet(page, "depth", "time by call path, to depth %u", answers->depth);
	sn_sheet_column(sheet, "host_ns", "threads", "ns");
	sn_sheet_column(sheet, "host_share", "share", "ratio");
	sn_sheet_column(sheet, "device_ns", "devices", "ns");
	sn_sheet_column(sheet, "device_share", "share", "ratio");
	sn_sheet_column(sheet, "context", "", "id");
	sn_sheet_column(sheet, "path", "call path", "");
	for (size_t i = 0; i < row_count; i++) {
		uint32_t context = rows[i].context;
		sn_sheet_number(sheet, depths->host[context]);
		sn_sheet_number(sheet, host > 0 ? depths->host[context] / host : 0);
		sn_sheet_number(sheet, depths->device[context]);
		sn_sheet_number(sheet, device > 0 ? depths->device[context] / device : 0);
		sn_sheet_number(sheet, context);
		path_text(answers->db, context, text);
		sn_sheet_text(sheet, text);
	}
	sn_sheet_note(sheet, "of all threads and all devices together; another depth: --depth N");
	free(rows);
	return 0;
}

int sn_view_depth(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error)
{
	uint32_t count = sonde_db_context_count(answers->db);
	struct depths depths = {answers, calloc(count + 1ull, sizeof(double)),
				calloc(count + 1ull, sizeof(double))};
	int result = depths.host && depths.device ? collect(&depths, error)
						  : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	if (!result) {
		roll_up(&depths);
		if (show(&depths, page))
			result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	}
	free(depths.host);
	free(depths.device);
	return result;
}
