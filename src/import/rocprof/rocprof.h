/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the importer of rocprofv3's files: rocprof_csv.c, rocprof_json.c and rocpd.c read,
 * rocprof.c joins their data to one recording.
 *
 * Times are of the clock since boot; the files do not contain the time of boot. Sizes of grids are
 * in work-items there and in workgroups here.
 */
#pragma once

#include "base/intern.h"
#include "base/table.h"
#include "base/vec.h"
#include "import/core/track_sink.h"
#include "import/core/importer.h"

enum sn_rocprof_key {
	SN_ROCPROF_KEY_ACCUM,
	SN_ROCPROF_KEY_SCALAR,
	SN_ROCPROF_KEY_SCRATCH,
	SN_ROCPROF_KEY_DISPATCH,
	SN_ROCPROF_KEY_COUNT, /* value of a counter */
	SN_ROCPROF_KEYS
};

/* Fields of a sample of program counters beside its instruction; the first of them are texts. */
enum sn_rocprof_sample_field {
	SN_ROCPROF_SAMPLE_TYPE,
	SN_ROCPROF_SAMPLE_STALL,
	SN_ROCPROF_SAMPLE_TEXTS,
	SN_ROCPROF_SAMPLE_MASK = SN_ROCPROF_SAMPLE_TEXTS,
	SN_ROCPROF_SAMPLE_DISPATCH,
	SN_ROCPROF_SAMPLE_CORRELATION,
	SN_ROCPROF_SAMPLE_ISSUED,
	SN_ROCPROF_SAMPLE_WAVES,
	SN_ROCPROF_SAMPLE_FIELDS
};

/* Texts as the file has them, "" for none. */
struct sn_rocprof_sample {
	int64_t time_ns;
	const char *instruction, *comment; /* comment: its place in the source */
	const char *fields[SN_ROCPROF_SAMPLE_FIELDS];
};

struct sn_rocprof {
	struct sn_db_builder *builder;
	struct sn_track_sink *sink;
	const uint32_t *known; /* the sink's keys */
	uint32_t keys[SN_ROCPROF_KEYS], sample_keys[SN_ROCPROF_SAMPLE_FIELDS];
	/* of the recording being read */
	struct sn_table dispatches; /* those that counters made events of */
	bool has_kernels; /* the dispatches themselves are read from a file of their own */
	uint32_t process; /* owner of the streams, if a file has several */
	struct sn_intern addresses;
	int64_t *sizes; /* of what was allocated there */
	size_t size_capacity;
	/* of all files */
	uint64_t summaries; /* files of sums */
	size_t plain_files; /* files without any activity */
};

/* The files' data of an activity; 0 if missing. */
struct sn_rocprof_activity {
	int64_t start_ns, end_ns, correlation;
	int64_t pid, tid;
	int64_t agent, queue, stream;
	int64_t workgroup[3], grid[3]; /* work-items */
	int64_t vector_registers, accumulation_registers, scalar_registers;
	int64_t shared_bytes, scratch_bytes, dispatch;
	int64_t bytes; /* of a copy; -1 unknown */
};

int sn_rocprof_call(struct sn_rocprof *rocprof, enum sn_activity_category category,
		    const char *name, const struct sn_rocprof_activity *activity);
int sn_rocprof_dispatch(struct sn_rocprof *rocprof, const char *kernel,
			const struct sn_rocprof_activity *activity);
/* `direction` as in "MEMORY_COPY_HOST_TO_DEVICE". */
int sn_rocprof_copy(struct sn_rocprof *rocprof, const char *direction,
		    const struct sn_rocprof_activity *activity);
/* A counter's value for a dispatch. */
int sn_rocprof_counter(struct sn_rocprof *rocprof, const char *kernel, const char *counter,
		       double value, const struct sn_rocprof_activity *activity);
/* An allocation of `bytes`, or the release of what lies at that address; who does either is known
 * where the activity's tid is not 0. */
int sn_rocprof_allocation(struct sn_rocprof *rocprof, bool is_release, int64_t address,
			  int64_t bytes, const struct sn_rocprof_activity *activity);
int sn_rocprof_sample(struct sn_rocprof *rocprof, const struct sn_rocprof_sample *sample);
/* The category of a domain's calls: "HIP_RUNTIME_API", "MARKER_CORE_API", ... */
enum sn_activity_category sn_rocprof_category(const char *domain);

bool sn_rocprof_is_csv(const char *head, size_t length);
int sn_rocprof_read_csv(struct sn_rocprof *rocprof, const char *path, struct sn_error *error);
bool sn_rocprof_is_json(const char *path);
int sn_rocprof_read_json(struct sn_rocprof *rocprof, const char *path, struct sn_error *error);

/* rocpd: a database of rocprofiler-sdk, SQLite (rocpd.c). */
bool sn_rocprof_is_rocpd(const struct sn_import_input *input);
int sn_rocprof_read_rocpd(struct sn_rocprof *rocprof, const char *path, struct sn_error *error);
