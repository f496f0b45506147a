/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database file (.sdb) on disk: a container (container.h) with the sections below.
 *
 * The records are the structs of include/sonde/db.h themselves: a reader maps the file and hands
 * out pointers into it. Values lie in planes (database_plane.h): a plane is the values of one
 * metric along one axis, as ids on the axis, ascending, and columns of numbers. Three directories
 * say where each plane lies; empty planes are left out.
 *
 *   directory   one plane for each      ids on the axis   columns
 *   PLANES      (profile, metric)       contexts          a statistic: 5
 *   ROWS        (context, metric)       profiles          a statistic: 5
 *   SUMMARIES   (metric)                contexts          a summary: 3 statistics, 15
 *
 * ROWS is the exact transpose of PLANES. The field tables are in docs/format/database.md.
 */
#pragma once

#include "format/container.h"
#include "sonde/db.h"
#include "sonde/graph.h"

#define SN_DATABASE_MAGIC	  "SONDEDB" /* with its NUL, 8 bytes */
#define SN_DATABASE_VERSION_MAJOR 3
#define SN_DATABASE_VERSION_MINOR 3

/* All have version 1 and index 0; the first ones, up to the count, are present, if empty. */
enum sn_database_section {
	SN_DATABASE_STRINGS = 1,	/* struct sn_database_strings and what it says */
	SN_DATABASE_MODULES = 2,	/* struct sonde_db_module[] */
	SN_DATABASE_FRAMES = 3,		/* struct sonde_db_frame[] */
	SN_DATABASE_CONTEXTS = 4,	/* struct sonde_db_context[], pre-order */
	SN_DATABASE_METRICS = 5,	/* struct sonde_db_metric[] */
	SN_DATABASE_PROFILES = 6,	/* struct sonde_db_profile[] */
	SN_DATABASE_DROPS = 7,		/* struct sonde_db_drop[] */
	SN_DATABASE_PROPERTIES = 8,	/* struct sn_database_property[], by key */
	SN_DATABASE_PLANE_INDEX = 9,	/* struct sn_database_index[profiles + 1] */
	SN_DATABASE_PLANES = 10,	/* struct sn_database_plane[], by profile, metric */
	SN_DATABASE_PLANE_DATA = 11,	/* planes */
	SN_DATABASE_ROW_INDEX = 12,	/* struct sn_database_index[contexts + 1] */
	SN_DATABASE_ROWS = 13,		/* struct sn_database_plane[], by context, metric */
	SN_DATABASE_ROW_DATA = 14,	/* planes */
	SN_DATABASE_SUMMARY_INDEX = 15, /* struct sn_database_index[metrics + 1] */
	SN_DATABASE_SUMMARIES = 16,	/* struct sn_database_summary[], by metric */
	SN_DATABASE_SUMMARY_DATA = 17,	/* planes */
	SN_DATABASE_SECTION_COUNT,

	/* These need not be there. */
	SN_DATABASE_FINDINGS = 19, /* struct sn_database_findings and what it says; since 3.2 */
	SN_DATABASE_FORMULAS = 21, /* struct sn_database_formulas and what it says; since 2.1 */

	/* Events (sonde/trace.h), missing where nothing was traced. */
	SN_DATABASE_EVENT_TRACKS = 22,	  /* struct sonde_track[] */
	SN_DATABASE_EVENT_KEYS = 23,	  /* struct sonde_attribute_key[] */
	SN_DATABASE_EVENT_BLOCKS = 24,	  /* struct sn_block_entry[], by track */
	SN_DATABASE_EVENT_DATA = 25,	  /* blocks */
	SN_DATABASE_EVENT_SUMMARIES = 26, /* struct sn_summary[], by track */

	/* Dataflow graphs (sonde/graph.h), missing where none is known. */
	SN_DATABASE_GRAPH_MODELS = 27,	   /* struct sonde_graph_model[] */
	SN_DATABASE_GRAPH_NODES = 28,	   /* struct sonde_graph_node[], by model */
	SN_DATABASE_GRAPH_EDGES = 29,	   /* struct sonde_graph_edge[], by the node they lead to */
	SN_DATABASE_GRAPH_STATS = 30,	   /* struct sonde_graph_stat[], by node, kind */
	SN_DATABASE_GRAPH_ITERATIONS = 31, /* struct sonde_graph_iteration[], by model, start */
	SN_DATABASE_TYPE_END
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

/* FORMULAS: this, then for each its name and its text, each ended by NUL. */
struct sn_database_formulas {
	uint32_t count;
	uint32_t reserved;
};
_Static_assert(sizeof(struct sn_database_formulas) == 8, "formulas are on disk");

/*
 * FINDINGS: this, then struct sn_database_finding[count], struct sn_database_evidence
 * [evidence_count], then texts, each ended by NUL; a text's number is the place of its first byte.
 */
struct sn_database_findings {
	uint32_t count, evidence_count;
	uint32_t rules; /* the version of the rules by which they were found, from 1 */
	uint32_t reserved;
};
_Static_assert(sizeof(struct sn_database_findings) == 16, "findings are on disk");

/* Findings share out all evidence among them, in order. */
struct sn_database_finding {
	uint32_t rule;	     /* text */
	uint32_t suggestion; /* text, or SONDE_NONE */
	uint32_t severity;   /* enum sonde_severity */
	uint32_t first_evidence, evidence_count;
	uint32_t reserved;
};
_Static_assert(sizeof(struct sn_database_finding) == 24, "finding is on disk");

struct sn_database_evidence {
	uint32_t name, unit; /* texts */
	double value;	     /* finite */
};
_Static_assert(sizeof(struct sn_database_evidence) == 16, "evidence is on disk");

/* The property of a run and rank (-1: none) that was recorded to explain another: what of it. */
#define SN_EVIDENCE_PROPERTY "evidence.%u.%d"

struct sn_database_property {
	uint32_t key, value; /* strings */
};
_Static_assert(sizeof(struct sn_database_property) == 8, "property is on disk");

/*
 * Where the planes of one profile, context or metric begin; they end where the next one's begin.
 * The last of the array is one past all.
 */
struct sn_database_index {
	uint64_t first;	   /* its first entry in the directory */
	uint64_t data;	   /* its first byte in the data section; a multiple of 4 */
	uint64_t checksum; /* XXH64, seed 0, of its entries and its small blocks; 0 without any */
};
_Static_assert(sizeof(struct sn_database_index) == 24, "index is on disk");

/*
 * A plane. Positions are words of 4 bytes from where the data of its profile or context begin. The
 * ids lie directly before the columns or, where several metrics were measured at the same contexts,
 * are an earlier plane's.
 *
 * Ids and columns are a block each. A block of SN_DATABASE_LARGE_BLOCK bytes or more is followed by
 * its own checksum and no part of the index's, so that one metric of a context with many profiles
 * is read without the others; small ones need no checksums of their own.
 */
#ifndef SN_DATABASE_LARGE_BLOCK /* the fuzzer has small inputs */
#define SN_DATABASE_LARGE_BLOCK (64u << 10)
#endif
struct sn_database_plane {
	uint32_t metric;
	uint32_t count;	 /* of elements, at least 1 */
	uint32_t ids;	 /* where they begin */
	uint32_t values; /* where the columns begin */
	uint32_t forms;	 /* of the columns; see database_plane.h */
};
_Static_assert(sizeof(struct sn_database_plane) == 20, "plane is on disk");

/* The same with the columns of a summary. */
struct sn_database_summary {
	uint32_t metric;
	uint32_t count;
	uint32_t ids;
	uint32_t values;
	uint32_t forms[3]; /* of enum sonde_db_scope */
};
_Static_assert(sizeof(struct sn_database_summary) == 28, "summary is on disk");

_Static_assert(sizeof(struct sonde_db_module) == 16, "module is on disk");
_Static_assert(sizeof(struct sonde_db_frame) == 40, "frame is on disk");
_Static_assert(sizeof(struct sonde_db_context) == 16, "context is on disk");
_Static_assert(sizeof(struct sonde_db_metric) == 24, "metric is on disk");
_Static_assert(sizeof(struct sonde_db_profile) == 96, "profile is on disk");
_Static_assert(sizeof(struct sonde_db_drop) == 16, "drop is on disk");
_Static_assert(sizeof(struct sonde_graph_model) == 112, "model is on disk");
_Static_assert(sizeof(struct sonde_graph_node) == 56, "node is on disk");
_Static_assert(sizeof(struct sonde_graph_edge) == 32, "edge is on disk");
_Static_assert(sizeof(struct sonde_graph_stat) == 48, "statistic of a node is on disk");
_Static_assert(sizeof(struct sonde_graph_iteration) == 32, "iteration is on disk");
