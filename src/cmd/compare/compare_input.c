/* SPDX-License-Identifier: Apache-2.0 */
/* See compare_input.h. */
#include "compare_input.h"

#include "cmd/store/store.h"
#include "show/tree/view.h"

#include <stdlib.h>
#include <string.h>

enum sn_compare_by sn_compare_by_of(int choice)
{
	static const enum sn_compare_by bys[] = {SN_COMPARE_FUNCTION, SN_COMPARE_MODULE,
						 SN_COMPARE_PROGRAM, SN_COMPARE_MODULE};
	return bys[choice];
}

void sn_compare_input_release(struct sn_compare_input *input)
{
	sn_compare_rows_release(&input->rows);
}

/* The metric of the first database is that of all. */
static int choose_metric(struct sn_compare_input *input, const struct sonde_db *db,
			 const char *path, uint32_t *metric)
{
	uint32_t usual[SN_COLUMNS_MAX];
	const char *wanted = *input->metric_name ? input->metric_name : input->metric;
	if (wanted)
		*metric = sonde_db_metric_by_name(db, wanted);
	else
		*metric =
		    sn_view_default_metrics(db, usual, SN_COLUMNS_MAX) ? usual[0] : SONDE_NONE;
	if (*metric == SONDE_NONE)
		return wanted ? sn_command_fail("'%s' has no metric '%s'", path, wanted)
			      : sn_command_fail("'%s' holds no measured values", path);
	const struct sonde_db_metric *one = sonde_db_metric(db, *metric);
	snprintf(input->metric_name, sizeof(input->metric_name), "%s",
		 sonde_db_string(db, one->name));
	snprintf(input->unit, sizeof(input->unit), "%s", sonde_db_string(db, one->unit));
	return 0;
}

static int add(struct sn_compare_input *input, struct sonde_db *db, const char *path,
	       const char *name)
{
	struct sn_error error = {""};
	uint32_t metric;
	int status = choose_metric(input, db, path, &metric);
	if (!status && sn_compare_add(&input->rows, db, metric, name, &error))
		status = sn_command_fail("%s", error.text);
	return sn_command_close(db, status);
}

int sn_compare_input_add(struct sn_compare_input *input, const char *path)
{
	struct sonde_db *db = NULL;
	int status = sn_command_open(path, &db);
	return status ? status : add(input, db, path, path);
}

int sn_compare_input_add_range(struct sn_compare_input *input, const char *path,
			       const struct sn_epochs_wanted *wanted, const char *name,
			       bool *is_empty)
{
	struct sn_error error = {""};
	struct sonde_db *db = NULL;
	int result = sn_store_open_range(path, wanted, &db, &error);
	if (is_empty)
		*is_empty = result == SN_ERR_MISSING;
	if (result == SN_ERR_MISSING && is_empty)
		return 0;
	return result ? sn_command_fail("%s", error.text) : add(input, db, path, name);
}
