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

int sn_store_refuse_range(const char *path)
{
	/* why what cannot be read is not, is told by whoever opens it */
	if (!range.option || access(path, R_OK) < 0)
		return 0;
	return sn_command_fail("option '%s' is for the folder in which sonded keeps samples: '%s' "
			       "is none",
			       range.option, path);
}

static int import(void *context, const char *output, struct sn_error *error)
{
	const char *path = context;
	struct sn_import_notes notes = {0};
	struct sn_import_counts counts;
	struct sn_import_request request = {
	    .notes = &notes, .paths = &path, .path_count = 1, .own = &range.wanted};
	int result = sn_import(&sn_importer_epochs, &request, output, &counts, error);
	sn_command_import_notes(&notes);
	return result;
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
	sn_progress_show(false);
	int result = sn_command_open_hidden(import, (void *)path, db, &error);
	sn_progress_end();
	if (result)
		return sn_command_fail("%s", error.text);
	tell_range(*db);
	return 0;
}
