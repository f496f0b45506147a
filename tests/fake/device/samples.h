/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of instructions of kernels that compute nothing: which are planned, and the truth about those that were taken. What an interface
 * calls their reasons it has by number.
 */
#ifndef FAKE_SAMPLES_H
#define FAKE_SAMPLES_H

#include <stdint.h>

struct fake_planned {
	char pattern[256]; /* of kernels' names */
	uint64_t pc;
	int reason;
	uint32_t count;
	struct fake_planned *next;
};

/* Once, first. By FAKE_SAMPLES, "PATTERN PC REASON COUNT" a line, PC from the begin of the kernel, hexadecimal; NULL: nothing is planned. */
const struct fake_planned *fake_samples_plan(const char *const *reasons, int count);
/* Adds to the table that FAKE_SAMPLES_TABLE names (NAME.PID, when the process ends): "kernel pc reason taken lost interval", with tabs; less
 * than none takes back. One thread at a time. */
void fake_samples_count(const char *kernel, uint64_t pc, int reason, int64_t taken, int64_t lost);
extern uint64_t fake_samples_interval;

#endif
