/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database file (.sdb) on disk: a container (container.h) with the sections below.
 *
 * The records are the structs of include/sonde/db.h themselves: a reader maps the file and hands
 * out pointers into it. Values lie in planes: a plane is the values of one metric along one axis,
 * as two parallel arrays (the ids on the axis, ascending, and the statistics), and a directory of
 * planes says where each begins. Empty planes are left out. The three directories:
 *
 *   directory   one plane for each      ids on the axis   statistics
 *   PLANES      (profile, metric)       contexts          struct sonde_db_stat
 *   ROWS        (context, metric)       profiles          struct sonde_db_stat
 *   SUMMARIES   (0, metric)             contexts          struct sonde_db_summary
 *
 * ROWS is the exact transpose of PLANES. The field tables are in docs/format/database.md.
 */
#ifndef SN_FORMAT_DATABASE_H
#define SN_FORMAT_DATABASE_H

#include "container.h"
#include "sonde/db.h"

#define SN_DATABASE_MAGIC	  "SONDEDB" /* with its NUL, 8 bytes */
#define SN_DATABASE_VERSION_MAJOR 1
#define SN_DATABASE_VERSION_MINOR 0

/* All have version 1 and index 0, and all are present, if empty. */
enum sn_database_section {
	SN_DATABASE_STRINGS = 1,	   /* struct sn_database_strings and what it says */
	SN_DATABASE_MODULES = 2,	   /* struct sonde_db_module[] */
	SN_DATABASE_FRAMES = 3,		   /* struct sonde_db_frame[] */
	SN_DATABASE_CONTEXTS = 4,	   /* struct sonde_db_context[], pre-order */
	SN_DATABASE_METRICS = 5,	   /* struct sonde_db_metric[] */
	SN_DATABASE_PROFILES = 6,	   /* struct sonde_db_profile[] */
	SN_DATABASE_DROPS = 7,		   /* struct sonde_db_drop[] */
	SN_DATABASE_PROPERTIES = 8,	   /* struct sn_database_property[], by key */
	SN_DATABASE_PLANES = 9,		   /* struct sn_database_plane[], by profile, metric */
	SN_DATABASE_PLANE_CONTEXTS = 10,   /* uint32_t[] */
	SN_DATABASE_PLANE_STATS = 11,	   /* struct sonde_db_stat[] */
	SN_DATABASE_ROWS = 12,		   /* struct sn_database_plane[], by context, metric */
	SN_DATABASE_ROW_PROFILES = 13,	   /* uint32_t[] */
	SN_DATABASE_ROW_STATS = 14,	   /* struct sonde_db_stat[] */
	SN_DATABASE_SUMMARIES = 15,	   /* struct sn_database_plane[], by metric; major is 0 */
	SN_DATABASE_SUMMARY_CONTEXTS = 16, /* uint32_t[] */
	SN_DATABASE_SUMMARY_STATS = 17,	   /* struct sonde_db_summary[] */
	SN_DATABASE_SECTION_COUNT
	/* reserved: 18 traces, 19 graph, 20 findings */
};

/*
 * STRINGS: this, then uint64_t offset[count + 1] (from the first byte after that array), then the
 * bytes. String i is offset[i] .. offset[i + 1] - 1, the last byte of which is a NUL.
 */
struct sn_database_strings {
	uint32_t count;
	uint32_t reserved;
};
_Static_assert(sizeof(struct sn_database_strings) == 8, "strings are on disk");

struct sn_database_property {
	uint32_t key, value; /* strings */
};
_Static_assert(sizeof(struct sn_database_property) == 8, "property is on disk");

/* Where a plane lies in the two arrays of its directory. Planes follow each other without gaps. */
struct sn_database_plane {
	uint32_t major; /* profile or context */
	uint32_t metric;
	uint64_t first; /* element of both arrays */
	uint64_t count; /* of elements, at least 1 */
};
_Static_assert(sizeof(struct sn_database_plane) == 24, "plane is on disk");

_Static_assert(sizeof(struct sonde_db_module) == 16, "module is on disk");
_Static_assert(sizeof(struct sonde_db_frame) == 40, "frame is on disk");
_Static_assert(sizeof(struct sonde_db_context) == 16, "context is on disk");
_Static_assert(sizeof(struct sonde_db_metric) == 24, "metric is on disk");
_Static_assert(sizeof(struct sonde_db_profile) == 88, "profile is on disk");
_Static_assert(sizeof(struct sonde_db_stat) == 40, "stat is on disk");
_Static_assert(sizeof(struct sonde_db_summary) == 120, "summary is on disk");
_Static_assert(sizeof(struct sonde_db_drop) == 16, "drop is on disk");

#endif
