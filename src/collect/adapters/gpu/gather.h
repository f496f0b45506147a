/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations of one delivery that are alike, as one: a graph's node that was replayed ten times, a kernel that was launched at one
 * place. The thread that launched them reads and adds one, in place of each. Not while events are traced, which are of each.
 *
 * All functions here: AS-safe: no. MT: one thread at a time, between sn_gpu_begin_done and sn_gpu_end_done.
 */
#pragma once

#include "gpu.h"

/* Takes an operation whose launch is known, and gives it to its thread at the latest by sn_gpu_gather_flush. */
void sn_gpu_gather(struct sn_gpu_thread *state, struct sn_gpu_operation *operation);
void sn_gpu_gather_flush(void);
/* In a child of fork: what is gathered is the parent's. */
void sn_gpu_gather_forget(void);
