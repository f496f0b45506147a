/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flat samples of GPU instructions to call paths, before a measurement is merged: in one thread,
 * contexts "kernel > instruction" become "kernel > call > call > instruction", by the calling
 * contexts that gpu_context.h reconstructs from the kernel's binary, and their values are divided
 * among them.
 *
 * Counts stay whole numbers, and the totals of all values stay the same: the remainder of a
 * division is carried over to the next instruction of the function, so that many instructions with
 * one sample each are divided like one with many. A kernel stays as it is if its binary cannot be
 * read or is of another build, or if neither the samples nor its name identify it. Functions of a
 * cycle are siblings below the caller of the cycle. A frame with no known call, or with too many,
 * is marked: its callers are unknown (SN_FRAME_TRUNCATED).
 */
#pragma once

#include "format/measurement/measurement_reader.h"

#include <stdbool.h>

/* Binaries that were read; one for each thread that merges. Zeroed at first. */
struct sn_gpu_calls {
	struct sn_gpu_calls_binary *binaries;
	size_t count, capacity;
};

/* What a thread became. */
struct sn_gpu_called {
	struct sn_measurement_thread thread; /* the same but for nodes and values */
	struct sn_node_record *nodes;
	struct sn_value_record *values;
	bool is_changed; /* false: the thread has no such samples, `nodes` and `values` are NULL */
};

/* 0 or SN_ERR_MEMORY; release the called in either case. */
int sn_gpu_calls_apply(struct sn_gpu_calls *calls, const struct sn_measurement *measurement,
		       const struct sn_measurement_thread *thread, struct sn_gpu_called *called);
void sn_gpu_called_release(struct sn_gpu_called *called);
void sn_gpu_calls_release(struct sn_gpu_calls *calls);
