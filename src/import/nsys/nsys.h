/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the importer of Nsight Systems' exports: nsys.c reads processes, threads and their
 * calls, nsys_device.c operations of devices, nsys_range.c NVTX, nsys_sample.c call-path samples.
 * All use one sink.
 */
#pragma once

#include "base/intern.h"
#include "base/table.h"
#include "import/core/track_sink.h"
#include "import/sqlite/sqlite_table.h"

enum sn_nsys_key {
	SN_NSYS_KEY_RETURNED,
	SN_NSYS_KEY_GRAPH_NODE,
	SN_NSYS_KEY_GRAPH,
	SN_NSYS_KEY_LOCAL,
	SN_NSYS_KEY_SOURCE,
	SN_NSYS_KEY_TARGET,
	SN_NSYS_KEY_FILL,
	SN_NSYS_KEY_PAYLOAD,
	SN_NSYS_KEY_CATEGORY,
	SN_NSYS_KEY_SIZES,
	SN_NSYS_KEYS
};

struct sn_nsys {
	struct sn_db_builder *builder;
	struct sn_track_sink *sink;
	const uint32_t *known; /* the sink's keys */
	uint32_t keys[SN_NSYS_KEYS];
	/* of the file being read */
	struct sn_sqlite file;
	sqlite3_stmt *strings;	   /* a string by its id; NULL without any */
	struct sn_table contexts;  /* of processes: devices of contexts, by what ran there */
	struct sn_table processes; /* numbers for the upper bits of global ids */
	uint32_t *programs;	   /* builder's string by process */
	size_t program_count, program_capacity;
	struct sn_intern name_ids; /* {category, id} */
	uint32_t *name_numbers;	   /* the sink's */
	size_t name_capacity;
	struct sn_intern domains; /* of NVTX: "number/process" */
	uint32_t *domain_names;	  /* builder's string by domain */
	size_t domain_capacity;
	int64_t end_ns; /* of the session; 0 unknown */
};

/* A string of the file; valid until the next call. */
const char *sn_nsys_string(struct sn_nsys *nsys, int64_t id);
/* The number of the process of a global id. */
uint32_t sn_nsys_process(struct sn_nsys *nsys, int64_t global);
/* Tracks; SONDE_NONE without memory. */
uint32_t sn_nsys_thread(struct sn_nsys *nsys, int64_t global);
uint32_t sn_nsys_stream(struct sn_nsys *nsys, int64_t global, int64_t device, int64_t context,
			int64_t stream);
/* A link that no other process has. */
uint64_t sn_nsys_correlation(struct sn_nsys *nsys, int64_t global, int64_t correlation);
/* The sink's number of a string of the file. 0 or SN_ERR_MEMORY. */
int sn_nsys_name(struct sn_nsys *nsys, enum sn_activity_category category, int64_t id,
		 uint32_t *number);
/* Adds an interval. A track of SONDE_NONE gives SN_ERR_MEMORY. */
int sn_nsys_add(struct sn_nsys *nsys, uint32_t track, uint32_t name, int64_t start_ns,
		int64_t end_ns, uint64_t link, const struct sn_track_attributes *attributes);
/* Adds the graphics operations of devices, from a table of this kind. */
int sn_nsys_workloads(struct sn_nsys *nsys, const char *table, struct sn_error *error);
int sn_nsys_devices(struct sn_nsys *nsys, struct sn_error *error);
int sn_nsys_ranges(struct sn_nsys *nsys, struct sn_error *error);
int sn_nsys_samples(struct sn_nsys *nsys, struct sn_error *error);
