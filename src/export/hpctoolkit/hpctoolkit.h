/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the HPCToolkit exporter: its tree, profiles, values and files. See
 * docs/design/hpctoolkit.md.
 *
 * The same database gives the same bytes, also after importing and exporting them again: everything
 * is ordered by its contents, never by numbers that an import would change.
 */
#pragma once

#include "export/exporter.h"

#include "base/arena.h"
#include "base/buffer.h"
#include "base/spill.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The begin of the description, by which `sonde import` recognises the numbering of contexts.
 * Formulas follow, because the format has no other place for them: a line each, as literal text in
 * Markdown. */
#define SN_HPCX_DESCRIPTION "Written by Sonde: sonde export --to hpctoolkit."
#define SN_HPCX_FORMULA	    "\n    %s = %s"

enum sn_hpcx_scope {
	SN_HPCX_POINT,
	SN_HPCX_FUNCTION,
	SN_HPCX_LEX_AWARE,
	SN_HPCX_EXECUTION,
	SN_HPCX_SCOPES
};
/* Hatchet takes the last of those that add up for the sum. */
enum sn_hpcx_statistic {
	SN_HPCX_COUNT,
	SN_HPCX_SQUARES,
	SN_HPCX_SUM,
	SN_HPCX_MIN,
	SN_HPCX_MAX,
	SN_HPCX_STATISTICS
};
struct sn_hpcx_scope_form {
	const char *name;
	uint8_t type, index; /* as meta.db numbers them */
};
/* How a statistic is computed: from each value, and how these are combined, as meta.db numbers it.
 */
struct sn_hpcx_statistic_form {
	const char *name, *formula, *combine;
	uint8_t combine_number;
};
extern const struct sn_hpcx_scope_form sn_hpcx_scopes[SN_HPCX_SCOPES];
extern const struct sn_hpcx_statistic_form sn_hpcx_statistics[SN_HPCX_STATISTICS];
/* Of values in memory: of a loop, what "lex_aware" adds up to in statistics. */
#define SN_HPCX_LOOP_ALONE     SN_HPCX_SCOPES
/* Numbers of a metric's scopes and statistics: a metric has this many. */
#define SN_HPCX_IDS_PER_METRIC (SN_HPCX_SCOPES * SN_HPCX_STATISTICS)

/* A text with its NUL. */
static inline void sn_hpcx_put_text(struct sn_buffer *out, const char *text)
{
	sn_buffer_put(out, text, strlen(text) + 1);
}
/* Zeroes. */
static inline void sn_hpcx_put_room(struct sn_buffer *out, size_t bytes)
{
	void *room = sn_buffer_room(out, bytes);
	if (room)
		memset(room, 0, bytes);
}
/* As sn_buffer_number and sn_buffer_align, for data that is too large for memory. */
static inline void sn_hpcx_spill_number(struct sn_spill *out, uint64_t number, unsigned bytes)
{
	sn_spill_write(out, &number, bytes); /* little endian, as all we support */
}
static inline void sn_hpcx_spill_align(struct sn_spill *out, unsigned alignment)
{
	sn_hpcx_spill_number(out, 0, (unsigned)(-out->length % alignment));
}
/* The start of a file: its format and space for `sections` sizes and positions. */
void sn_hpcx_begin_file(struct sn_buffer *out, const char *format, unsigned sections);
/* Records a section from `start` to the present end. */
void sn_hpcx_end_section(struct sn_buffer *out, unsigned section, size_t start);

/* A function as HPCToolkit describes it; strings are the database's. */
struct sn_hpcx_function {
	uint32_t name, module, file; /* SONDE_NONE without; the module is a string as well */
	uint32_t line;
	uint64_t offset;
};

enum sn_hpcx_lexical {
	SN_HPCX_LEX_FUNCTION,
	SN_HPCX_LEX_LOOP,
	SN_HPCX_LEX_LINE,
	SN_HPCX_LEX_INSTRUCTION
};

/* A context of the exported tree. Node 0 is the root. */
struct sn_hpcx_node {
	uint32_t parent;
	uint32_t order;	  /* among siblings that are alike: of the first database context */
	uint8_t relation; /* 0 lies in its parent, 1 called, 2 inlined */
	uint8_t lexical;
	uint8_t entry_kind; /* 1 of the main thread, 2 of another, 0 unknown */
	bool is_entry, has_function, has_line, has_point, has_hidden;
	struct sn_hpcx_function function; /* entry: the name */
	uint32_t letters;		  /* string: of a placeholder; distinguishes equal names */
	uint32_t file, line;		  /* string; has_line */
	uint32_t module;		  /* string; has_point */
	uint64_t offset;
	uint32_t id;			   /* in the file; its hidden values have the next one */
	uint32_t first_child, child_count; /* in `children` */
};

struct sn_hpcx_out_tree {
	struct sn_hpcx_node *nodes;
	size_t node_count, node_capacity;
	uint32_t *children; /* nodes, by parent and order */
	uint32_t *node_of;  /* of each database context: where its values are */
	bool *is_hidden;    /* of each database context: hidden in that node */
	uint32_t id_count;
	/* by id: the parent's id, and the scopes in which it counts */
	uint32_t *parent_of;
	uint8_t *flags;
};
enum { SN_HPCX_IS_CALL = 1, SN_HPCX_IS_LOOP = 2, SN_HPCX_IS_KNOWN = 4 };

/* The name of an entry point. */
const char *sn_hpcx_entry_name(const struct sonde_db *db, const struct sn_hpcx_node *node);

/* A metric of the file. */
struct sn_hpcx_out_metric {
	const char *name;
	uint32_t metric; /* of the database */
	bool is_count;	 /* the number of values, not their sum */
	double divisor;	 /* from the database's unit to the file's */
};

struct sn_hpcx_out_id {
	char name[32];
	bool is_physical;
	uint64_t number;
	uint32_t logical;
	uint8_t kind;
};
enum { SN_HPCX_MOST_IDS = 16 };
struct sn_hpcx_out_profile {
	uint32_t profile; /* of the database */
	size_t id_count;
	struct sn_hpcx_out_id ids[SN_HPCX_MOST_IDS];
};

struct sn_hpcx_out {
	const struct sonde_db *db;
	struct sn_arena arena;	      /* of all but nodes and the description */
	struct sn_buffer description; /* with a NUL */
	struct sn_hpcx_out_tree tree;
	struct sn_hpcx_out_metric *metrics; /* by name */
	size_t metric_count;
	struct sn_hpcx_out_profile *profiles; /* by identifiers */
	size_t profile_count;
	char kinds[256][32]; /* names of kinds of identifiers */
	size_t kind_count;
};

/* In this order; all return 0 or a negative enum sn_err. */
int sn_hpcx_metrics_build(struct sn_hpcx_out *out, const struct sn_export_request *request);
/* The description, with the database's formulas in the names of the file's metrics. */
int sn_hpcx_description_build(struct sn_hpcx_out *out, const struct sn_export_request *request);
int sn_hpcx_profiles_build(struct sn_hpcx_out *out);
int sn_hpcx_tree_build(struct sn_hpcx_out *out);

/* The files. */
/* Writes one of them: its head, what is spilled, in that order (ends with NULL), and the 8
 * characters that end it, aligned; NULL: none. Errors of these have their text, but for
 * SN_ERR_MEMORY. */
int sn_hpcx_save(const char *folder, const char *name, const struct sn_buffer *head,
		 const struct sn_spill *const *bodies, const char *end, struct sn_error *error);
void sn_hpcx_write_meta(struct sn_hpcx_out *out, struct sn_buffer *meta);
/* profile.db and cct.db. */
int sn_hpcx_write_values(struct sn_hpcx_out *out, const char *folder, struct sn_error *error);
/* trace.db, if the database has events. */
int sn_hpcx_write_trace(struct sn_hpcx_out *out, const char *folder, struct sn_error *error);
void sn_hpcx_write_yaml(const struct sn_hpcx_out *out, struct sn_buffer *yaml);
