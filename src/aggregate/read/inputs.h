/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input files of an analysis, ordered by name (HOST-PID-START), independent of the order of
 * their folders. Every rank computes the same list.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "format/measurement/run_file.h"

#include <stddef.h>
#include <stdint.h>

/* A measurement file, the position of the folder it is of, and which run that is. */
struct sn_input {
	const char *path;
	uint32_t folder, run;
	uint64_t bytes;
};

/* The record of one `sonde run` in a folder, and the number of the run. */
struct sn_input_run {
	struct sn_run_record record;
	uint32_t run;
};

struct sn_inputs {
	struct sn_input_run *records;
	size_t record_count, record_capacity;
	struct sn_input *items;
	size_t count, capacity;
	/* Each folder is a run; runs are numbered by name. The folder's name without ".sonde", or
	 * its path where two have one name. */
	const char **runs;
	uint32_t run_count;
	struct sn_arena arena; /* of paths and names */
};

/* 0 or a negative enum sn_err; release in either case. */
int sn_inputs_list(struct sn_inputs *inputs, const char *const *folders, size_t count,
		   struct sn_error *error);
void sn_inputs_release(struct sn_inputs *inputs);
