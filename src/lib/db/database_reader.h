/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of an open database: database_reader.c opens it, database_values.c returns its values
 * and database_verify.c checks all of it. Private to these files.
 */
#pragma once

#include "base/error.h"
#include "format/database/database.h"
#include "format/database/database_blocks.h"

#include <stdatomic.h>
#include <sys/types.h>

#define SN_DB_CANNOT_READ "cannot read '%.300s': %.190s"

enum sn_db_directories { SN_DB_PLANES, SN_DB_ROWS, SN_DB_SUMMARIES, SN_DB_DIRECTORIES };

/* The state of the planes of a profile, context or metric: unknown before their first use.
 */
enum sn_db_checked { SN_DB_UNKNOWN, SN_DB_SOUND, SN_DB_DAMAGED };

/* A directory is ordered by its "majors": profiles, contexts or metrics. */
struct sn_db_directory {
	const char *name; /* for texts */
	const struct sn_database_index *index;
	const unsigned char *planes; /* entries */
	size_t entry_bytes, plane_count;
	const unsigned char *data;
	uint64_t data_bytes;
	uint32_t major_count, id_count;
	unsigned scopes;
	/* enum sn_db_checked of each major, and of each plane with large blocks */
	_Atomic unsigned char *checked, *planes_checked;
	struct sonde_db_error damage; /* the text if one is damaged */
};

struct sonde_db {
	char *path;
	uid_t owner;
	const unsigned char *bytes;
	size_t length;
	const struct sn_section_entry *sections[SN_DATABASE_TYPE_END];
	const uint64_t *string_offsets;
	const char *string_bytes;
	uint32_t string_count;
	const struct sonde_db_module *modules;
	const struct sonde_db_frame *frames;
	const struct sonde_db_context *contexts;
	const struct sonde_db_metric *metrics;
	const struct sonde_db_profile *profiles;
	const struct sonde_db_drop *drops;
	const struct sn_database_property *properties;
	uint32_t module_count, frame_count, context_count, metric_count, profile_count, drop_count,
	    property_count;
	struct sn_db_directory directories[SN_DB_DIRECTORIES];
	_Atomic(const char *) damage; /* of the first directory that was found damaged */
};

/* Whether the section of findings, which may be missing, is whole and its references are valid. */
bool sn_db_check_findings(const struct sonde_db *db);
/* Finds the sections of values. 0 or a negative enum sn_err. */
int sn_db_find_values(struct sonde_db *db, struct sn_error *error);
/* A plane by its number among those of all majors. */
struct sn_database_summary sn_db_entry(const struct sn_db_directory *directory, uint64_t plane);
/* NULL, or the text of an error in the planes of a major: their checksum, order, places or ids.
 * Large blocks are not read. */
const char *sn_db_check_major(const struct sonde_db *db, const struct sn_db_directory *directory,
			      uint32_t major);
/* Likewise of the large blocks of a plane, of a major that is sound. */
const char *sn_db_check_plane(const struct sn_db_directory *directory, uint32_t major,
			      uint64_t plane);
