/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of the whole machine, counted in the kernel: loads the program (sampler.bpf.c), has it run by perf events of all processors, and takes what it counted.
 *
 * MT: one thread at a time, but for the functions that say otherwise.
 */
#pragma once

#include "base/error.h"
#include "counts.h"

#include <stdbool.h>
#include <stdint.h>

struct sn_kernel;

struct sn_kernel_options {
	unsigned rate;		/* samples a second of each processor */
	bool by_process;	/* processes of one program are told apart */
	unsigned stack_rate;	/* of these with their callers; 0: none */
	bool sees_waits;	/* threads that wait can be looked for */
	uint32_t pairs_of_turn; /* at most SN_PAIRS_OF_TURN, which 0 is; for tests */
};

/* Samples are being counted when it returns. 0 or a negative enum sn_err with what would allow it; *kernel is set only on success. */
int sn_kernel_open(const struct sn_kernel_options *options, struct sn_kernel **kernel,
		   struct sn_error *error);
void sn_kernel_close(struct sn_kernel *kernel);

/* "cycles", or "cpu-clock" where the machine counts none; of how many of these a sample is, on average; processors. */
const char *sn_kernel_event(const struct sn_kernel *kernel);
uint64_t sn_kernel_period(const struct sn_kernel *kernel);
unsigned sn_kernel_processors(const struct sn_kernel *kernel);

/* From now on so many samples a second; processors that have come since are sampled too. */
void sn_kernel_set_rate(struct sn_kernel *kernel, unsigned rate);
/* The same rate, and other periods near it, so that nothing that runs at a fixed rate meets its samples for ever. */
void sn_kernel_vary_period(struct sn_kernel *kernel);

struct sn_kernel_taker {
	void *context;
	/* Each count is of a pair that `pair` is told of before the next but one call of sn_kernel_take. Return 0 or a negative enum sn_err, which ends it. */
	int (*count)(void *context, uint32_t number, uint32_t address, uint32_t count);
	int (*pair)(void *context, const struct sn_announced *announced);
};

/*
 * Takes what processors counted: what had to leave their tables, and with `whole` all of it. When half of a turn's numbers are given out, a whole one begins the
 * next turn (0 or 1), *begun, else -1: what is taken later and has a number of that half is of the new turn, and all of the old one that had such numbers has been taken.
 * 0, or what a function of `taker` returned.
 */
int sn_kernel_take(struct sn_kernel *kernel, bool whole, const struct sn_kernel_taker *taker,
		   int *begun);
/* Readable when a sample with its callers waits: they are found while the process is there. -1: there are none. */
int sn_kernel_stacks_fd(const struct sn_kernel *kernel);

struct sn_kernel_stack_taker {
	void *context;
	/* A sample with its callers; or a thread that was found waiting (is_waiting), whose `stack` is not there. The pair of either is told as those of counts are. Valid during the call. Both return 0, or what ends it. */
	int (*stack)(void *context, const struct sn_stack_sample *sample);
	/* A thread that was told of before and has waited ever since. */
	int (*still)(void *context, uint32_t tid);
};
/* Takes what waits to be taken. MT: one thread, which may be another one than that which does the rest; so for the function below. 0, or what `taker` returned other than 0. */
int sn_kernel_take_stacks(struct sn_kernel *kernel, const struct sn_kernel_stack_taker *taker);
/* Looks which threads wait, with sees_waits: each is told of then. `anew`: also those that were told of before are told with their callers. `weight`: how often a thread that cannot be told of counts. 0 or a negative enum sn_err. */
int sn_kernel_look_for_waits(struct sn_kernel *kernel, bool anew, uint64_t weight);
/* How often a thread waited and could not be told of. */
uint64_t sn_kernel_waits_lost(const struct sn_kernel *kernel);

/* What became of all samples since it was opened. */
struct sn_kernel_sums {
	uint64_t fates[SN_FATES];
	uint64_t hits;	 /* of those counted, samples that were in the table already */
	uint64_t stacks; /* that came with their callers */
	uint64_t walks;	 /* those for which the mappings of their process had to be looked at */
};
void sn_kernel_sum(const struct sn_kernel *kernel, struct sn_kernel_sums *sums);

/* The kernel times its BPF programs while someone asks it to, which costs some ns a run: begin, and later end, which returns the nanoseconds that a sample took on average; 0: not known. */
void sn_kernel_begin_timing(struct sn_kernel *kernel);
double sn_kernel_end_timing(struct sn_kernel *kernel);
