/* SPDX-License-Identifier: Apache-2.0 */
/* A store in a database's place; see store.h. */
#include "store.h"

#include "cmd/command.h"
#include "format/epoch/epoch_store.h"
#include "import/core/import_files.h"
#include "import/epochs/epochs.h"
#include "moment.h"
#include "sonde/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What was asked for; `option` is the last one given, NULL none. */
static struct {
	struct sn_epochs_wanted wanted;
	const char *option;
} range = {.wanted = {.until_ns = UINT64_MAX}};

static uint64_t now_ns(void)
{
	struct timespec time;
	clock_gettime(CLOCK_REALTIME, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static int parse_moment(const struct sn_options *options, const char *option, const char *text,
			uint64_t *time_ns)
{
	range.option = option;
	return sn_moment_read(text, now_ns(), time_ns)
		   ? 0
		   : sn_options_refuse(options, option, text,
				       "no time: 15m, 2d or 2026-11-30T12:00");
}

int sn_store_parse_since(void *context, const struct sn_options *options, const char *text)
{
	return parse_moment(options, "--since", text, &range.wanted.since_ns);
}

int sn_store_parse_until(void *context, const struct sn_options *options, const char *text)
{
	return parse_moment(options, "--until", text, &range.wanted.until_ns);
}

int sn_store_parse_image(void *context, const struct sn_options *options, const char *text)
{
	range.option = "--image";
	range.wanted.image = text;
	return 0;
}

bool sn_store_is(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISDIR(status.st_mode) && sn_epoch_is_store(path);
}

const struct sn_epochs_wanted *sn_store_wanted(void)
{
	return &range.wanted;
}

bool sn_store_has_range(void)
{
	return range.option != NULL;
}

int sn_store_refuse_range(const char *path)
{
	/* why what cannot be read is not, is told by whoever opens it */
	if (!range.option || access(path, R_OK) < 0)
		return 0;
	return sn_command_fail("option '%s' is for the folder in which sonded keeps samples: '%s' "
			       "is none",
			       range.option, path);
}

int sn_store_parse_range(const struct sn_options *options, const char *option, const char *text,
			 struct sn_epochs_wanted *wanted)
{
	char first[64];
	const char *dots = strstr(text, "..");
	size_t length = dots ? (size_t)(dots - text) : strlen(text);
	*wanted = (struct sn_epochs_wanted){.until_ns = UINT64_MAX, .is_apart = true};
	snprintf(first, sizeof(first), "%.*s", (int)(length < 63 ? length : 63), text);
	bool is_read = sn_moment_read(first, now_ns(), &wanted->since_ns) &&
		       (!dots || !dots[2] || sn_moment_read(dots + 2, now_ns(), &wanted->until_ns));
	if (!is_read)
		return sn_options_refuse(options, option, text,
					 "no range of time: 2d..1d, 1h or "
					 "2026-11-30T12:00..2026-11-30T13:00");
	return wanted->since_ns < wanted->until_ns
		   ? 0
		   : sn_options_refuse(options, option, text, "a range that ends before it begins");
}

int sn_store_parse_duration(const struct sn_options *options, const char *option, const char *text,
			    uint64_t *duration_ns)
{
	uint64_t moment_ns;
	bool is_read = sn_moment_read(text, UINT64_MAX, &moment_ns) && moment_ns > UINT64_MAX / 2;
	*duration_ns = is_read ? UINT64_MAX - moment_ns : 0;
	return *duration_ns
		   ? 0
		   : sn_options_refuse(options, option, text, "no duration: 15m, 1h or 1d");
}

struct import {
	const char *path;
	const struct sn_epochs_wanted *wanted;
};

static int import(void *context, const char *output, struct sn_error *error)
{
	const struct import *from = context;
	struct sn_import_notes notes = {0};
	struct sn_import_counts counts;
	struct sn_import_request request = {
	    .notes = &notes, .paths = &from->path, .path_count = 1, .own = (void *)from->wanted};
	int result = sn_import(&sn_importer_epochs, &request, output, &counts, error);
	sn_command_import_notes(&notes);
	return result;
}

int sn_store_open_range(const char *path, const struct sn_epochs_wanted *wanted,
			struct sonde_db **db, struct sn_error *error)
{
	struct sn_epochs_wanted own = *wanted;
	struct import from = {path, &own};
	own.image = range.wanted.image;
	sn_progress_show(false);
	int result = sn_command_open_hidden(import, &from, db, error);
	sn_progress_end();
	return result;
}

int sn_store_bounds(const char *path, uint64_t *first_ns, uint64_t *last_ns)
{
	struct sn_epoch_store store;
	struct sn_error error = {""};
	const struct sn_epochs_wanted *wanted = &range.wanted;
	if (wanted->since_ns > wanted->until_ns)
		return sn_command_fail("--since is later than --until: there is no time between");
	if (sn_epoch_store_open(&store, path, wanted->since_ns, wanted->until_ns, &error))
		return sn_command_fail("%s", error.text);
	*first_ns = store.first_ns > wanted->since_ns ? store.first_ns : wanted->since_ns;
	*last_ns = store.last_ns < wanted->until_ns ? store.last_ns : wanted->until_ns;
	sn_epoch_store_close(&store);
	return *first_ns <= *last_ns ? 0 : sn_command_fail("no samples in '%s' in that time", path);
}

static double property(const struct sonde_db *db, const char *key)
{
	const char *text = sonde_db_property(db, key);
	return text ? strtod(text, NULL) : 0;
}

static const char *time_text(double time_ns, char text[32])
{
	time_t seconds = (time_t)(time_ns / 1e9);
	struct tm parts;
	if (!localtime_r(&seconds, &parts) || !strftime(text, 32, "%Y-%m-%d %H:%M", &parts))
		snprintf(text, 32, "?");
	return text;
}

/* What was merged is taken as a whole: says so where that is noticeably more than was asked for. */
static void tell_range(const struct sonde_db *db)
{
	enum { NOTICEABLE = 20 }; /* a part of it */
	double begin = property(db, "store.begin_ns"), end = property(db, "store.end_ns");
	double since = (double)range.wanted.since_ns, until = (double)range.wanted.until_ns;
	double before = since > begin ? since - begin : 0, after = end > until ? end - until : 0;
	char first[32], last[32];
	if ((before + after) * NOTICEABLE > end - begin - before - after)
		sn_command_warn("these are the samples from %s to %s: what sonded has merged is "
				"taken as a whole",
				time_text(begin, first), time_text(end, last));
}

int sn_store_open(const char *path, struct sonde_db **db)
{
	struct sn_error error = {""};
	if (range.wanted.since_ns > range.wanted.until_ns)
		return sn_command_fail("--since is later than --until: there is no time between");
	if (sn_store_open_range(path, &range.wanted, db, &error))
		return sn_command_fail("%s", error.text);
	tell_range(*db);
	return 0;
}
