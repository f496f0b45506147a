/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that finds callers: it takes the samples that the kernel sends with a copy of their stack, as soon as they come, looks for threads that wait, and sums call paths of both.
 *
 * It is one apart because it asks processes and reads their files, which may not answer: a file system that is a program, or one of a machine that has gone. What is counted and
 * flushed does not wait for it.
 */
#pragma once

#include "kernel/kernel.h"
#include "paths.h"

struct sn_stacks;

/* `kernel` sends some, and lives as long. `wait_rate`: how often a second threads that wait are looked for, 0: never. 0 or a negative enum sn_err; *stacks is set only on success. */
int sn_stacks_start(struct sn_kernel *kernel, unsigned wait_rate, struct sn_stacks **stacks,
		    struct sn_error *error);
/* Ends the thread. False: it hangs, and goes on to use what it was given until the process ends. NULL is allowed. */
bool sn_stacks_end(struct sn_stacks *stacks);

/* Hands out all that there is since the last time, of what ran and of what waited; the caller's to release. The thread first takes what the kernel has sent, unless that takes too long. */
void sn_stacks_take(struct sn_stacks *stacks, struct sn_paths *ran, struct sn_paths *waited);

/* From now on threads that wait are looked for at each `ticks`th time alone. */
void sn_stacks_slow_down(struct sn_stacks *stacks, unsigned ticks);

struct sn_stacks_state {
	bool is_full;		  /* they should be taken now */
	uint64_t with_callers;	  /* samples so far whose callers were found, */
	uint64_t without_callers; /* or could not be, */
	uint64_t cut;		  /* or not the outermost ones, */
	uint64_t lost;		  /* for which there was no memory */
	uint64_t waits;		  /* how often a thread was found waiting, */
	uint64_t waits_lost;	  /* and that could not be kept */
};
void sn_stacks_look(struct sn_stacks *stacks, struct sn_stacks_state *state);
