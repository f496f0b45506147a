/* SPDX-License-Identifier: Apache-2.0 */
/* Opening databases, traces and tables; see variability_input.h. */
#include "variability_input.h"

#include "base/vec.h"
#include "import/core/import_files.h"
#include "show/label.h"

#include "sonde/db.h"

#include <stdlib.h>

/* ---- databases ---- */

static int add_input(struct sn_variability_inputs *inputs, const struct sn_variability_wish *wish,
		     struct sonde_db *db, const char *path)
{
	struct sonde_db_error why = {""};
	struct sn_error error = {""};
	struct sonde_trace *trace = NULL;
	bool *contexts = NULL;
	if (sonde_trace_open(db, &trace, &why))
		return sn_command_fail("cannot read '%s': %s", path, why.text);
	struct sn_variability_input input = {.db = db, .trace = trace, .name = sn_label_base(path)};
	if (sn_query_select(wish->queries, wish->query_count, db, &contexts, &error) ||
	    sn_vec_push(&inputs->items, &inputs->capacity, &inputs->count, input)) {
		free(contexts);
		sonde_trace_close(trace);
		return sn_command_fail("cannot read '%s': %s", path,
				       *error.text ? error.text : "out of memory");
	}
	inputs->items[inputs->count - 1].contexts = contexts;
	if (!sonde_trace_event_count(trace))
		return sn_command_fail("'%s' has no events: it is a profile without a trace", path);
	return 0;
}

static int open_one(struct sn_variability_inputs *inputs, const struct sn_variability_wish *wish,
		    const char *const *paths, size_t count)
{
	struct sonde_db *db;
	int status = sn_command_open_trace(paths, count, &db);
	if (status)
		return status;
	size_t before = inputs->count;
	status = add_input(inputs, wish, db, paths[0]);
	if (inputs->count == before)
		sonde_db_close(db);
	return status;
}

/* Each database by itself; files of other tools together, as they are of one run. */
static int open_traces(struct sn_variability_inputs *inputs, const struct sn_variability_wish *wish)
{
	const char *const *paths = wish->paths;
	size_t count = wish->path_count;
	const char **others = calloc(count + 1, sizeof(*others));
	size_t other_count = 0;
	int status = others ? 0 : sn_command_fail("out of memory");
	for (size_t i = 0; i < count && !status; i++) {
		if (count == 1 || sn_is_database(paths[i]))
			status = open_one(inputs, wish, paths + i, 1);
		else
			others[other_count++] = paths[i];
	}
	if (other_count && !status)
		status = open_one(inputs, wish, others, other_count);
	free(others);
	return status;
}

/* ---- tables ---- */

struct making {
	const struct sn_counted *counted;
	size_t file;
};

static int make_database(void *context, const char *path, struct sn_error *error)
{
	const struct making *making = context;
	return sn_counted_write(making->counted, making->file, path, error);
}

/* Launches of each file as a database, so that they have the same statistics. */
static int open_launches(struct sn_variability_inputs *inputs,
			 const struct sn_variability_wish *wish)
{
	int status = 0;
	for (size_t file = 0; file < wish->path_count && !status; file++) {
		struct making making = {&inputs->counted, file};
		struct sn_error error = {""};
		struct sonde_db *db;
		if (sn_command_open_hidden(make_database, &making, &db, &error))
			return sn_command_fail("%s", error.text);
		size_t before = inputs->count;
		status = add_input(inputs, wish, db, wish->paths[file]);
		if (inputs->count == before)
			sonde_db_close(db);
	}
	return status;
}

static int open_tables(struct sn_variability_inputs *inputs, const struct sn_variability_wish *wish)
{
	struct sn_counted *counted = &inputs->counted;
	struct sn_error error = {""};
	inputs->are_tables = true;
	if (wish->query_count || wish->has_sample)
		return sn_command_misuse(&sn_command_variability,
					 "'%s' is a table of counters, of which all rows are "
					 "taken: no %s",
					 wish->paths[0],
					 wish->query_count ? "--where" : "--sample");
	if (sn_counted_read(counted, wish->paths, wish->path_count, &error) ||
	    sn_counted_choose(counted, wish->target, &error))
		return sn_command_fail("%s", error.text);
	if (wish->has_bins && !counted->has_times)
		return sn_command_fail("'%s' has no start times, so that there are no bins of them",
				       wish->paths[0]);
	return counted->has_statistics ? open_launches(inputs, wish) : 0;
}

/* ---- all of them ---- */

int sn_variability_open(struct sn_variability_inputs *inputs,
			const struct sn_variability_wish *wish)
{
	size_t tables = 0, table = 0, other = 0;
	for (size_t i = 0; i < wish->path_count; i++) {
		bool is_table = sn_counted_is_table(wish->paths[i]);
		tables += is_table;
		*(is_table ? &table : &other) = i;
	}
	if (tables && tables < wish->path_count)
		return sn_command_fail(
		    "'%s' is a table of counters, and '%s' is not: take them one by one",
		    wish->paths[table], wish->paths[other]);
	return tables ? open_tables(inputs, wish) : open_traces(inputs, wish);
}

int sn_variability_close(struct sn_variability_inputs *inputs, int status)
{
	for (size_t i = 0; i < inputs->count; i++) {
		free((void *)inputs->items[i].contexts);
		sonde_trace_close((struct sonde_trace *)inputs->items[i].trace);
		status = sn_command_close((struct sonde_db *)inputs->items[i].db, status);
	}
	free(inputs->items);
	sn_counted_release(&inputs->counted);
	return status;
}
