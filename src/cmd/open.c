/* SPDX-License-Identifier: Apache-2.0 */
/* The database a command reads, and the metrics its user asks for; see command.h. */
#include "command.h"

#include "report/view.h"
#include "sonde/db.h"

#include <string.h>

int sn_command_open(const char *path, struct sonde_db **db)
{
	struct sonde_db_error error = {""};
	if (sonde_db_open(path, db, &error) == 0)
		return 0;
	if (strncmp(error.text, "cannot ", 7) == 0)
		return sn_command_fail("%s", error.text);
	return sn_command_fail("cannot read '%s': %s", path, error.text);
}

int sn_command_close(struct sonde_db *db, int status)
{
	const char *damage = sonde_db_damage(db);
	if (damage && status == SN_EXIT_DONE)
		status = sn_command_fail("%s", damage);
	sonde_db_close(db);
	return status;
}

enum { MAX_NAMES = 64 };

static int fail_metric(const struct sonde_db *db, const char *word)
{
	const char *names[MAX_NAMES + 1];
	uint32_t count = 0;
	for (; count < sonde_db_metric_count(db) && count < MAX_NAMES; count++)
		names[count] = sonde_db_string(db, sonde_db_metric(db, count)->name);
	names[count] = NULL;
	const char *nearest = sn_options_nearest(word, names);
	if (nearest)
		return sn_command_fail("metric '%s' was not measured; did you mean '%s'?", word,
				       nearest);
	char list[512] = "";
	for (uint32_t i = 0; i < count && strlen(list) < 400; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%.60s", i ? ", " : "",
			 names[i]);
	return sn_command_fail("metric '%s' was not measured; there are: %s", word, list);
}

static void add_once(uint32_t metric, uint32_t *metrics, uint32_t size, uint32_t *count)
{
	for (uint32_t i = 0; i < *count; i++)
		if (metrics[i] == metric)
			return;
	if (*count < size)
		metrics[(*count)++] = metric;
}

int sn_command_metrics(const struct sonde_db *db, const char *list, uint32_t *metrics,
		       uint32_t size, uint32_t *count)
{
	*count = 0;
	if (!list) {
		*count = sn_view_default_metrics(db, metrics, size);
		for (uint32_t i = 0; i < sonde_db_metric_count(db); i++)
			add_once(i, metrics, size, count);
		return 0;
	}
	for (const char *name = list; name;) {
		char word[256];
		size_t length = strcspn(name, ",");
		snprintf(word, sizeof(word), "%.*s", (int)(length < 255 ? length : 255), name);
		uint32_t metric = sonde_db_metric_by_name(db, word);
		if (metric == SONDE_NONE)
			return fail_metric(db, word);
		add_once(metric, metrics, size, count);
		name = name[length] ? name + length + 1 : NULL;
	}
	return 0;
}
