/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes without a measurement, or with an incomplete one, and their CPU time.
 * docs/design/losses.md explains how they are found.
 *
 * Such processes are counted from three observations: an image executed a program and no image of
 * it follows; a process created children without files; a child could not write a file. Missing CPU
 * time follows from the kernel's accounts: the time of all children that a process waited for, less
 * the time that its measured children record for themselves and their descendants. The sums are of
 * one host's clocks each, and do not depend on the order of the files.
 */
#pragma once

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
	uint64_t unwritable, unseen, unmeasured_programs, confined, stopped, unfinished, unreadable;
	uint64_t unknown; /* 1: nothing but CPU time tells that there was one at least */
};

void sn_missing_release(struct sn_missing *missing);
/* Adds the measurement of one image, of the run-th of all runs. 0 or SN_ERR_MEMORY. */
int sn_missing_add(struct sn_missing *missing, const struct sn_measurement *measurement,
		   uint32_t run);
/* The same with what `sonde run` saw. */
int sn_missing_add_run(struct sn_missing *missing, const struct sn_run_record *record,
		       uint32_t run);
/* Adds up; all 0 if no measurement has the needed data (written before version 1.3). 0 or
 * SN_ERR_MEMORY. */
int sn_missing_find(struct sn_missing *missing, struct sn_missing_found *found);
