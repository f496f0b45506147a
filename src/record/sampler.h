/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples running processes, or the whole machine, from outside: the kernel interrupts whatever runs at a rate, and keeps the registers and the upper part of the
 * user's stack, from which callers are found later. Nothing is loaded into the processes, and none is stopped.
 *
 * What the kernel writes is handed out as it is, in the form of perf's pipes: struct sn_perf_file reads it.
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"
#include "python/python_thread.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A copy of the stack is a multiple of 8 bytes, and a record has 64 KiB. */
#define SN_SAMPLER_STACK_MOST 65000u

struct sn_sampler_options {
	const pid_t *processes; /* with what they start from now on; none: the whole machine */
	size_t process_count;
	unsigned rate;	      /* samples a second that each processor runs them */
	uint32_t stack_bytes; /* that are kept of each stack; 0: callers by frame pointers alone */
	bool reads_python;    /* frames of Python, from the processes' memory */
	/* Recordings follow each other (sn_sampler_turn). Of what was there before, each has the processes that were sampled in it alone. */
	bool in_turns;
	const char *const *command; /* what the recording says that it is of */
	size_t command_count;
};

struct sn_sampler;

/* What is sampled is running when this returns. 0 or a negative enum sn_err; *sampler is set only on success. */
int sn_sampler_start(const struct sn_sampler_options *options, struct sn_sampler **sampler,
		     struct sn_error *error);
/* Whether the kernel's own part of call paths is there; the event: "cycles" or "cpu-clock"; samples a second, which may be fewer than were asked for. */
bool sn_sampler_sees_kernel(const struct sn_sampler *sampler);
const char *sn_sampler_event(const struct sn_sampler *sampler);
unsigned sn_sampler_rate(const struct sn_sampler *sampler);
/* Waits until there is much to take, a process has ended, `wake_fd` is readable, or the time is over. */
void sn_sampler_wait(struct sn_sampler *sampler, int wake_fd, int timeout_ms);
/* Whether all processes that were asked for have ended; never of the whole machine. */
bool sn_sampler_is_over(const struct sn_sampler *sampler);
/* Hands out what there is to take, the first time what was there before; `take` returns 0 or a negative enum sn_err, which ends it and is returned. */
typedef int sn_sampler_taker(void *context, const void *bytes, size_t count);
int sn_sampler_take(struct sn_sampler *sampler, sn_sampler_taker *take, void *context);
/* The same for the rest of a recording, with `in_turns`: what is taken next is another one. */
int sn_sampler_turn(struct sn_sampler *sampler, sn_sampler_taker *take, void *context);
/* No more samples are taken; what there is can still be taken. *python gets how much of Python could be read. */
void sn_sampler_stop(struct sn_sampler *sampler, struct sn_python_result *python);
void sn_sampler_free(struct sn_sampler *sampler);
