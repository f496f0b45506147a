/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What no measurement tells of: processes of which there is no file, or none to the end, and the
 * CPU time they used. docs/design/losses.md explains how it is known.
 *
 * Processes are counted by what those beside them say: who executed a program and is followed by no
 * image of it, who made children of which none has a file, who met a child that could write
 * nothing. CPU time is counted by the kernel: what the children that a process waited for have used
 * in all, less what those of them that were measured say they and theirs have used. The sums are
 * of one host's clocks each, and do not depend on the order of the files.
 */
#ifndef SN_AGGREGATE_MISSING_H
#define SN_AGGREGATE_MISSING_H

#include "base/intern.h"
#include "format/measurement/measurement_reader.h"
#include "format/measurement/run_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_missing_image;
struct sn_missing_run;

/* All zeroes is empty. */
struct sn_missing {
	struct sn_missing_image *images; /* owned, as the rest */
	struct sn_missing_run *runs;
	size_t image_count, image_capacity, run_count, run_capacity;
	struct sn_intern hosts;
	uint64_t unreadable; /* files */
};

struct sn_missing_found {
	uint64_t processes; /* of which is known, measured or not */
	uint64_t missing;   /* of these, wholly or in part */
	uint64_t cpu_ns;    /* that all used, as far as they were waited for */
	uint64_t missing_cpu_ns;
	/* by reason; a process can have several */
	uint64_t unwritable, unseen, unmeasured_programs, confined, unfinished, unreadable;
	uint64_t unknown; /* 1: nothing but CPU time tells that there was one at least */
};

void sn_missing_release(struct sn_missing *missing);
/* Adds the measurement of one image, of the run-th of all runs. 0 or SN_ERR_MEMORY. */
int sn_missing_add(struct sn_missing *missing, const struct sn_measurement *measurement,
		   uint32_t run);
/* The same with what `sonde run` saw. */
int sn_missing_add_run(struct sn_missing *missing, const struct sn_run_record *record,
		       uint32_t run);
/* Adds up; all 0 where no measurement tells what this needs (written before version 1.3). 0 or
 * SN_ERR_MEMORY. */
int sn_missing_find(struct sn_missing *missing, struct sn_missing_found *found);

#endif
