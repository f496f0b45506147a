/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python frames that `sonde record` reads beside the kernel's samples (system/perf_data.h). Files of perf have none.
 */
#pragma once

#include "perf_file.h"
#include "perf_space.h"
#include "remote/python_join.h"
#include "system/perf_data.h"
#include "unwind/python/eval_parts.h"

/* As many as a record has room for. */
#define SN_PERF_PYTHON_MOST 5400u

/* CPython in a process. */
struct sn_perf_interpreter {
	uint64_t eval, eval_bytes, since_ns;
	uint32_t before; /* the one that the process had before; SONDE_NONE: none */
	uint32_t object; /* of the space; SONDE_NONE: its mapping is not known */
	bool is_known;	 /* these: */
	struct sn_address_range *ranges;
	uint32_t range_count;
};

struct sn_perf_python {
	struct sn_merge *merge;
	struct sn_perf_space *space;
	uint32_t *codes; /* of the merge, by the recording's number; SN_INTERN_NONE: none */
	size_t code_count, code_capacity;
	struct sn_table pids; /* to the last interpreter of a process, by its number */
	uint32_t *last;
	struct sn_perf_interpreter *interpreters;
	size_t last_capacity, interpreter_count, interpreter_capacity;
	struct sn_intern samples; /* time and thread */
	struct sn_bytes *records; /* of each of these, what is behind the time */
	size_t record_capacity;
	struct sn_arena bytes;
};

void sn_perf_python_init(struct sn_perf_python *python, struct sn_merge *merge,
			 struct sn_perf_space *space);
void sn_perf_python_release(struct sn_perf_python *python);
/* What a record says, if it is one of those. 0 or SN_ERR_MEMORY. */
int sn_perf_python_add(struct sn_perf_python *python, const struct sn_perf_raw *record);

/* The frames of a sample, innermost first, into frames[SN_PERF_PYTHON_MOST]. Their number. */
uint32_t sn_perf_python_frames(const struct sn_perf_python *python, uint32_t tid, uint64_t time_ns,
			       struct sn_numbered_frame *frames);
/* What an address of a process's code is part of. */
enum sn_python_part sn_perf_python_part(struct sn_perf_python *python, uint32_t pid,
					struct sn_perf_moment when, uint64_t address);
