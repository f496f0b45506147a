/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record that `sonde run` writes of a program, HOST-PID-START.sonde-run in the measurement
 * folder: docs/format/measurement.md. Each `sonde run` of a parallel job writes one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sn_run_record {
	char host[256];
	uint64_t pid; /* of the program */
	/* CLOCK_MONOTONIC of the host: before it was started, and when it had been waited for */
	uint64_t start_ns, end_ns;
	uint64_t cpu_ns; /* of the program and of all processes that were waited for below it */
};

/*
 * Reads all of a folder, by file name, into an array from malloc: *records is NULL if there are
 * none, or `folder` is no folder. Other files are ignored. 0 or SN_ERR_MEMORY.
 */
int sn_run_files_read(const char *folder, struct sn_run_record **records, size_t *count);
