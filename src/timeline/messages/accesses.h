/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses to the memory of other ranks and to files (MPI_Put, MPI_Win_lock, MPI_File_write):
 * events of threads with the attribute `access`. By process, operation and target: how many, how
 * many bytes, and the time in calls.
 */
#pragma once

#include "timeline/answers.h"

/* format/trace-file.md */
enum sn_access_kind {
	SN_ACCESS_TO = 1,
	SN_ACCESS_FROM,
	SN_ACCESS_BOTH,
	SN_ACCESS_SYNCHRONISED,
	SN_ACCESS_READ, /* this one and the next: of files */
	SN_ACCESS_WRITTEN
};

struct sn_access {
	uint64_t peer;			 /* a rank; UINT64_MAX: no single rank */
	uint32_t process, frame, number; /* process: a profile of it; number: in order of begin */
	enum sn_access_kind kind;
	double count, bytes, time_ns, apart_ns, longest_ns; /* apart: under way beside other work */
};

struct sn_accesses {
	struct sn_access *items; /* most time first */
	size_t count, capacity;
};

/* 0 or a negative enum sn_err; free the items in either case. */
int sn_accesses(const struct sn_answers *answers, struct sn_accesses *accesses,
		struct sn_error *error);
