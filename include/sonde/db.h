/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a Sonde database (.sdb): the C interface that every report, exporter and binding uses.
 * Library: libsonde-db.so (pkg-config sonde-db).
 *
 * A database is memory-mapped and immutable; all returned pointers belong to the database and stay
 * valid until sonde_db_close. The file must not be truncated meanwhile: reading the missing part
 * raises SIGBUS. MT: all functions but sonde_db_close may be called by several threads at once on
 * one database.
 *
 * Contexts are numbered in pre-order from 0, the root: the descendants of context c are exactly
 * c + 1 .. sonde_db_context(db, c)->end - 1. Strings, records and metrics are numbered from 0 as
 * well. For an invalid number, a record is NULL, a string "", a plane empty. Times are nanoseconds.
 *
 * Functions that can fail return 0 or a negative enum sonde_db_code, and store a text of one line
 * in `error`, which may be NULL.
 */
#ifndef SONDE_DB_H
#define SONDE_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_db;

#define SONDE_NONE UINT32_MAX /* the number of nothing */

enum sonde_db_code {
	SONDE_DB_CANNOT_READ = -1, /* the system refused */
	SONDE_DB_DAMAGED = -2,	   /* not a database, or damaged */
	SONDE_DB_NEWER = -3,	   /* made by a newer version */
	SONDE_DB_NO_MEMORY = -4,
	SONDE_DB_MISTAKE = -5,	 /* the caller's: an invalid formula or number */
	SONDE_DB_CANNOT_DO = -7, /* events are compressed, and this build cannot decompress */
};

struct sonde_db_error {
	char text[512]; /* ends with NUL; lower case, no full stop */
};

/* Opens a database and checks all but its values (see sonde_db_damage). *db is set only on success;
 * free it with sonde_db_close, which ignores NULL. */
int sonde_db_open(const char *path, struct sonde_db **db, struct sonde_db_error *error);
void sonde_db_close(struct sonde_db *db);

/* A string by id; "" for SONDE_NONE. Ends with NUL. UTF-8 where its source was. */
const char *sonde_db_string(const struct sonde_db *db, uint32_t string);
size_t sonde_db_string_length(const struct sonde_db *db, uint32_t string);

enum sonde_module_flags {
	SONDE_MODULE_MAIN = 1,	    /* the program itself */
	SONDE_MODULE_VDSO = 2,	    /* the kernel's shared object */
	SONDE_MODULE_UNLOADED = 4,  /* no longer mapped when the measurement ended */
	SONDE_MODULE_ANONYMOUS = 8, /* executable memory without a file: JIT code */
};

struct sonde_db_module {
	uint32_t path;	   /* string */
	uint32_t build_id; /* string, hexadecimal; SONDE_NONE without one */
	uint32_t flags;	   /* enum sonde_module_flags; ignore others */
	uint32_t reserved;
};
uint32_t sonde_db_module_count(const struct sonde_db *db);
const struct sonde_db_module *sonde_db_module(const struct sonde_db *db, uint32_t module);

/* A level of a call path. Two frames are the same frame if all fields are equal. */
struct sonde_db_frame {
	uint8_t kind; /* sonde_frame_kind_name() */
	/* 1: the offset is a return address, its call lies before it; 8: an operator that runs for
	 * a backward pass; 16: a region that is an iteration; 32: the offset is of the function's
	 * entry; 64: a line or loop that was called by its parent and does not lie in it. Ignore
	 * others. */
	uint8_t flags;
	uint16_t reserved;
	uint32_t name;	       /* string: function (demangled), operator, kernel, region, ... */
	uint32_t linkage_name; /* string: the function's symbol; SONDE_NONE if it equals the name */
	uint32_t module;       /* native, inlined: its module; else SONDE_NONE */
	uint32_t file;	       /* string: source file; SONDE_NONE unknown */
	uint32_t line;	       /* in the source file: of the call or the sample; 0 unknown */
	uint32_t function_line; /* where the function begins in its file; 0 unknown */
	uint32_t loop_number;	/* among several loops of one line, from 1; 0 the only one */
	uint64_t offset;	/* native: ELF virtual address of the instruction; else 0 */
};
/* "thread", "python", "operator", "region", "graph-node", "native", "inlined", "loop", "line",
 * "gpu-api", "kernel", "gpu-function", "gpu-loop", "gpu-line", "gpu-instruction", "os", "idle",
 * "gpu-op"; "unknown" for a kind of a later version. Static, as is the layer. */
const char *sonde_frame_kind_name(unsigned kind);
/* The layer, by which pictures are coloured: "python", "operator", "native", "gpu-api", "gpu",
 * "region", "os", "thread", "idle"; "unknown". */
const char *sonde_frame_kind_layer(unsigned kind);
uint32_t sonde_db_frame_count(const struct sonde_db *db);
const struct sonde_db_frame *sonde_db_frame(const struct sonde_db *db, uint32_t frame);

struct sonde_db_context {
	uint32_t frame;
	uint32_t parent; /* the root's is 0 */
	uint32_t end;	 /* one past the last descendant */
	uint32_t depth;	 /* the root's is 0 */
};
uint32_t sonde_db_context_count(const struct sonde_db *db);
const struct sonde_db_context *sonde_db_context(const struct sonde_db *db, uint32_t context);

enum sonde_metric_kind {
	SONDE_METRIC_TIME = 1,
	SONDE_METRIC_COUNT = 2,
	SONDE_METRIC_BYTES = 3,
	SONDE_METRIC_RATIO = 4,
	SONDE_METRIC_CALLS = 5, /* see sonde_db_metric_calls */
};

struct sonde_db_metric {
	uint32_t name;	 /* string, e.g. "cpu-time" */
	uint32_t unit;	 /* string: "ns", "bytes", "1" */
	uint32_t source; /* string: what measured it */
	uint32_t kind;	 /* enum sonde_metric_kind */
	uint64_t period; /* units between two samples; 0 if every event is measured */
};
uint32_t sonde_db_metric_count(const struct sonde_db *db);
const struct sonde_db_metric *sonde_db_metric(const struct sonde_db *db, uint32_t metric);
/* The metric of that name, or SONDE_NONE. */
uint32_t sonde_db_metric_by_name(const struct sonde_db *db, const char *name);
/*
 * Calls contain each other: a context's values of "real-time" or "operator-time" are its calls' own
 * times, so that they can be added up, and do not give the duration of a call. The metric returned
 * here has the durations of whole calls: count is the number of calls of the context's frame from
 * there, the mean that of a call including its callees. Only its exclusive values are meaningful:
 * added up over contexts, time counts twice. It is not among sonde_db_metric_count. SONDE_NONE if
 * values of `metric` do not contain each other, or calls were not recorded. Since 2.3.
 */
uint32_t sonde_db_metric_calls(const struct sonde_db *db, uint32_t metric);
/* What a statistic's count counts: "samples", "calls" (the metric above exists), "events", or
 * "sums" of another tool that does not say how many values they have. Static. Since 2.3. */
const char *sonde_db_metric_counts(const struct sonde_db *db, uint32_t metric);

/* Kinds of profiles. */
enum sonde_profile_kind {
	SONDE_PROFILE_THREAD = 0,
	SONDE_PROFILE_STREAM = 1,    /* a queue of a device */
	SONDE_PROFILE_PROCESSOR = 2, /* its number is the tid */
};
/* "thread", "stream", "processor"; "unknown" for a kind of a later version. Static. */
const char *sonde_profile_kind_name(uint32_t kind);

struct sonde_db_profile {
	uint32_t host;	  /* string */
	uint32_t program; /* string: the process's executable */
	uint32_t thread;  /* string: the thread's or the stream's name; SONDE_NONE */
	int32_t rank;	  /* -1 outside a parallel run */
	uint64_t pid, tid;
	uint32_t kind;				 /* enum sonde_profile_kind */
	uint32_t device, device_context, stream; /* SONDE_NONE for a CPU thread */
	uint64_t start_ns, end_ns;		 /* since the Unix epoch */
	uint64_t cpu_ns;			 /* CPU time used, measured or not */
	uint64_t samples;
	uint64_t own_ns; /* time the collector itself spent */
	uint32_t run;	 /* which of several measurements, from 0; the property "run.N" names it */
	uint32_t reserved;
};
uint32_t sonde_db_profile_count(const struct sonde_db *db);
const struct sonde_db_profile *sonde_db_profile(const struct sonde_db *db, uint32_t profile);

/* A statistic of `count` values: their sum, least, greatest and sum of squares. */
struct sonde_db_stat {
	double count, sum, min, max, sum_squares;
};
double sonde_db_stat_mean(const struct sonde_db_stat *stat);	  /* 0 without values */
double sonde_db_stat_deviation(const struct sonde_db_stat *stat); /* of the population; likewise */
/* Merges `other` into `stat`; a stat of all zeroes is empty. */
void sonde_db_stat_merge(struct sonde_db_stat *stat, const struct sonde_db_stat *other);

/* The five numbers of a statistic, in the order in which struct sonde_db_stat has them. */
enum sonde_db_part {
	SONDE_DB_COUNT,
	SONDE_DB_SUM,
	SONDE_DB_MIN,
	SONDE_DB_MAX,
	SONDE_DB_SUM_SQUARES,
	SONDE_DB_PART_COUNT
};

/* Numbers as stored in the file: in 1 to 8 bytes each, or implied by others. Not for callers. */
struct sonde_db_columns {
	const unsigned char *numbers[SONDE_DB_PART_COUNT];
	uint32_t forms;
	double period;
};

/*
 * Exclusive values of one metric along one axis: of one profile by ascending context, or of one
 * context by ascending profile. Zeroes are left out. Reading any element takes constant time.
 */
struct sonde_db_plane {
	size_t count;
	const uint32_t *ids; /* contexts or profiles */
	struct sonde_db_columns columns;
};
/* The contexts of a profile. Empty if the metric was not measured there. */
struct sonde_db_plane sonde_db_profile_plane(const struct sonde_db *db, uint32_t profile,
					     uint32_t metric);
/* The profiles of a context: the transpose, with equal values bit by bit. */
struct sonde_db_plane sonde_db_context_row(const struct sonde_db *db, uint32_t context,
					   uint32_t metric);
/* The position of an id, or plane->count. Binary search. */
size_t sonde_db_plane_find(const struct sonde_db_plane *plane, uint32_t id);
/* At a position < plane->count; numbers are always finite. */
double sonde_db_plane_sum(const struct sonde_db_plane *plane, size_t position);
void sonde_db_plane_stat(const struct sonde_db_plane *plane, size_t position,
			 struct sonde_db_stat *stat);
/* One part of `count` elements from `first`, all within the plane, as an array numbers[count]:
 * faster than single calls. */
void sonde_db_plane_numbers(const struct sonde_db_plane *plane, enum sonde_db_part part,
			    size_t first, size_t count, double *numbers);

/* A metric at a context over all profiles. */
struct sonde_db_summary {
	struct sonde_db_stat exclusive; /* of the context itself, all profiles' values as one set */
	struct sonde_db_stat inclusive; /* with all its descendants */
	struct sonde_db_stat
	    across; /* of the profiles' inclusive sums: count is the profiles with a value */
};
enum sonde_db_scope { SONDE_DB_EXCLUSIVE, SONDE_DB_INCLUSIVE, SONDE_DB_ACROSS, SONDE_DB_SCOPES };

struct sonde_db_summary_plane {
	size_t count;
	const uint32_t *contexts; /* ascending; contexts missing here are zero */
	struct sonde_db_columns columns[SONDE_DB_SCOPES];
};
struct sonde_db_summary_plane sonde_db_summary_plane(const struct sonde_db *db, uint32_t metric);
/* One of the three statistics of an element; the others are not read. */
void sonde_db_summary_stat(const struct sonde_db_summary_plane *plane, size_t position,
			   enum sonde_db_scope scope, struct sonde_db_stat *stat);
/* One part of `count` elements from `first`, all within the plane, as an array numbers[count]. */
void sonde_db_summary_numbers(const struct sonde_db_summary_plane *plane, enum sonde_db_scope scope,
			      enum sonde_db_part part, size_t first, size_t count, double *numbers);
/* The summary of one context; false, and all zeroes, if there is none. Binary search. */
bool sonde_db_summary(const struct sonde_db *db, uint32_t context, uint32_t metric,
		      struct sonde_db_summary *summary);

/*
 * Opening checks everything but the values, so that its time does not grow with them; values are
 * checked when they are first used. A damaged plane reads as empty, and the text of the first one
 * is stored here: NULL, or "cannot read 'x.sdb': damaged (values by profile)". Call it after the
 * last value has been read.
 */
const char *sonde_db_damage(const struct sonde_db *db);
/* Reads and checks the whole file: checksums, values, and that values by context equal those by
 * profile. 0, or a negative code with the first error. */
int sonde_db_verify(const struct sonde_db *db, struct sonde_db_error *error);

/* Formulas that are stored by name, numbered from 0; each may use earlier ones (sonde-formula(7)).
 * False, and nothing is set, for an invalid number. Both texts end with NUL. */
bool sonde_db_formula(const struct sonde_db *db, uint32_t formula, const char **name,
		      const char **text);

/*
 * Findings: conclusions of the analyses of events when the database was written
 * (docs/design/findings.md), numbered from 0 in the order of output. Since 2.2.
 */
enum sonde_severity {				/* by the affected part of the time */
		      SONDE_SEVERITY_NOTE = 0,	/* below 5 % */
		      SONDE_SEVERITY_MINOR = 1, /* below 25 % */
		      SONDE_SEVERITY_MAJOR = 2,
};
struct sonde_db_finding {
	const char *rule;	/* that found it: "device_waits", ...; newer versions have others */
	const char *suggestion; /* what to do, a clause; NULL for none */
	uint32_t severity;	/* enum sonde_severity */
	uint32_t evidence_count;
};
/* A number on which a finding is based, in "ns", as a "ratio" or a "count"; or the number of what
 * its unit names: an existing "context" or "profile" of the database, a "wait" (a reason of
 * docs/design/answers.md), or a "cause" (of a critical path, also there). Ignore unknown units.
 * Texts may hold any bytes, like all texts of a database. */
struct sonde_db_evidence {
	const char *name, *unit;
	double value; /* finite */
};
/* The version of the rules that were applied; 0: no findings are stored. */
uint32_t sonde_db_finding_rules(const struct sonde_db *db);
uint32_t sonde_db_finding_count(const struct sonde_db *db);
/* False, and nothing is set, for an invalid number. */
bool sonde_db_finding(const struct sonde_db *db, uint32_t finding, struct sonde_db_finding *found);
bool sonde_db_evidence(const struct sonde_db *db, uint32_t finding, uint32_t number,
		       struct sonde_db_evidence *evidence);

/* What was not measured, by cause. */
struct sonde_db_drop {
	uint32_t cause; /* string: stable name */
	uint32_t text;	/* string: what it means */
	uint64_t count; /* in the unit that the text says */
};
uint32_t sonde_db_drop_count(const struct sonde_db *db);
const struct sonde_db_drop *sonde_db_drop(const struct sonde_db *db, uint32_t drop);

/* Provenance and environment, as KEY and VALUE: "command", "program", "host", "duration_ns",
 * "complete" ("true": every process ended in order), "sonde.version", "adapter.python", ... */
uint32_t sonde_db_property_count(const struct sonde_db *db);
const char *sonde_db_property_key(const struct sonde_db *db, uint32_t property);
const char *sonde_db_property_value(const struct sonde_db *db, uint32_t property);
/* The value of `key`, or NULL. */
const char *sonde_db_property(const struct sonde_db *db, const char *key);

#ifdef __cplusplus
}
#endif
#endif
