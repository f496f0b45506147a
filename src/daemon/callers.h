/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a sample with a copy of its stack to a call path: in which image, and where in it, each caller is. Callers are found while the process is there, since only it
 * tells what it has mapped: read soon after the sample.
 *
 * What is known of processes and files is forgotten at each flush, so it is bounded, and never older than that.
 */
#pragma once

#include "kernel/counts.h"

#include "format/epoch/epoch.h"

#include <stdbool.h>

#define SN_CALLERS_MOST	 256u
#define SN_CALLER_KERNEL UINT32_MAX /* in place of an image */

struct sn_caller {
	uint32_t image; /* sn_callers_image */
	uint32_t kind;	/* enum sn_epoch_frame_kind */
	uint64_t
	    address; /* a return address: in the image, as the store has it; of the kernel its own */
};

struct sn_callers_path {
	uint32_t count;
	bool is_whole; /* up to the thread's first function */
	/* What was executed is CPython's loop, on behalf of the first caller, which is a frame of Python. */
	bool is_interpreter;
	struct sn_caller
	    callers[SN_CALLERS_MOST]; /* of where the sample was; the innermost first */
};

struct sn_callers;

/* NULL without memory. */
struct sn_callers *sn_callers_new(void);
void sn_callers_free(struct sn_callers *callers);
/* All that it knows: numbers of images end. */
void sn_callers_forget(struct sn_callers *callers);

/* The callers of a sample. A process that has ended, or whose mappings may not be read, has none but the kernel's. */
void sn_callers_find(struct sn_callers *callers, const struct sn_stack_sample *sample,
		     struct sn_callers_path *path);
/* Code made at run time has as `inode` and `device` the process's number and its start, and no path. */
/* Whether it should forget soon, as it can keep little more. */
bool sn_callers_are_full(const struct sn_callers *callers);
uint32_t sn_callers_image_count(const struct sn_callers *callers);
const struct sn_epoch_image *sn_callers_image(const struct sn_callers *callers, uint32_t image);
