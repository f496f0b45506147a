/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checking a database from end to end; see sonde_db_verify in sonde/db.h.
 *
 * All planes, as they are checked when they are used, and that the two orders hold the same values.
 * Memory does not grow with the file's length.
 */
#include "database_reader.h"

#include <stdio.h>
#include <string.h>

static int damaged(const struct sn_db_directory *directory, const char *what,
		   struct sn_error *error)
{
	return sn_fail(error, SN_ERR_FORMAT, "damaged (%s: %s)", directory->name, what);
}

static int check_directory(const struct sonde_db *db, enum sn_db_directories which,
			   struct sn_error *error)
{
	const struct sn_db_directory *directory = db->directories + which;
	for (uint32_t major = 0; major < directory->major_count; major++) {
		const char *wrong = sn_db_check_major(db, directory, major);
		for (uint64_t i = directory->index[major].first;
		     i < directory->index[major + 1].first && !wrong; i++)
			wrong = sn_db_check_plane(directory, major, i);
		if (wrong)
			return damaged(directory, wrong, error);
	}
	return 0;
}

/* Every value of the context's rows is that of its profile's plane; *values counts them. */
static int check_rows(const struct sonde_db *db, uint32_t context, uint64_t *values,
		      struct sn_error *error)
{
	const struct sn_db_directory *directory = db->directories + SN_DB_ROWS;
	const struct sn_database_index *index = directory->index + context;
	for (uint64_t i = index->first; i < index[1].first; i++) {
		uint32_t metric = sn_db_entry(directory, i).metric;
		struct sonde_db_plane row = sonde_db_context_row(db, context, metric);
		*values += row.count;
		for (size_t j = 0; j < row.count; j++) {
			struct sonde_db_stat one = {0}, other = {0};
			struct sonde_db_plane plane =
			    sonde_db_profile_plane(db, row.ids[j], metric);
			size_t position = sonde_db_plane_find(&plane, context);
			sonde_db_plane_stat(&row, j, &one);
			if (position < plane.count)
				sonde_db_plane_stat(&plane, position, &other);
			if (position == plane.count || memcmp(&one, &other, sizeof(one)))
				return damaged(directory, "not those by profile", error);
		}
	}
	return 0;
}

static int check_transpose(const struct sonde_db *db, struct sn_error *error)
{
	uint64_t in_rows = 0, in_planes = 0;
	for (uint32_t context = 0; context < db->context_count; context++) {
		int result = check_rows(db, context, &in_rows, error);
		if (result)
			return result;
	}
	const struct sn_db_directory *planes = db->directories + SN_DB_PLANES;
	for (uint64_t i = 0; i < planes->plane_count; i++)
		in_planes += sn_db_entry(planes, i).count;
	return in_rows == in_planes
		   ? 0
		   : damaged(db->directories + SN_DB_ROWS, "fewer than by profile", error);
}

int sonde_db_verify(const struct sonde_db *db, struct sonde_db_error *error)
{
	struct sn_error why = {""};
	int result = check_directory(db, SN_DB_PLANES, &why);
	if (!result)
		result = check_directory(db, SN_DB_ROWS, &why);
	if (!result)
		result = check_directory(db, SN_DB_SUMMARIES, &why);
	if (!result)
		result = check_transpose(db, &why);
	if (result && error)
		snprintf(error->text, sizeof(error->text), SN_DB_CANNOT_READ, db->path, why.text);
	return result;
}
