/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device's chip can count of the user's list, by the half of CUPTI's counters that needs no device: for kernels (range_counters.c)
 * or over time (pm_sampling.c), of which a process has one.
 *
 * All functions here: AS-safe: no. MT: with the claim of CUPTI's counters, of whoever began.
 */
#pragma once

#include "cuda.h"
#include "cupti_counters.h"

#define SN_CUPTI_COUNTER_POINTER(name, parameters) sn_cupti_result(*name) parameters;
/* CUPTI's functions for counters, from when they are found on. */
extern struct sn_cupti_counters {
	SN_CUPTI_COUNTER_FUNCTIONS(SN_CUPTI_COUNTER_POINTER)
} sn_cupti_counters;

/* The list, and who asks for it; static storage. */
struct sn_cuda_counter_wish {
	const char **names;
	uint32_t count;
	uint32_t type;	      /* enum sn_cupti_profiler_type */
	bool is_added;	      /* values are: rates and shares are refused */
	const char *one_pass; /* why more than one pass is refused: " passes, and ..." */
	/* The unit of a name: "1", "bytes" or "ns". */
	void (*tell_unit)(uint32_t index, const char *unit);
	/* Nothing is counted any more, in three parts; the first reason stays. Always false. */
	bool (*refuse)(const char *why, const char *of_what, const char *how);
};

/* The user's list on one device: CUPTI's object of the host half, and how the device is set up for it. */
struct sn_cuda_counter_list {
	void *host;
	uint8_t *image;
	size_t image_bytes;
};

/* Finds the functions. False where one is missing, which is said then. */
bool sn_cuda_counter_lists_begin(void *library, const struct sn_cuda_counter_wish *wish);
/* That of a device, made when it is first asked for; NULL where it cannot be counted, which is said then. */
const struct sn_cuda_counter_list *sn_cuda_counter_list(uint32_t device);
/* All objects go. */
void sn_cuda_counter_lists_end(void);
/* The objects are the parent's. MT: the only thread. */
void sn_cuda_counter_lists_forget(void);
/* A function failed: says so by the wish's `refuse`. Always false. */
bool sn_cuda_counters_fail(const char *function, sn_cupti_result error);
/* Calls one of the functions that want an object of CUPTI's and nothing else. MT: yes. */
sn_cupti_result sn_cuda_counters_call(sn_cupti_result (*function)(struct sn_cupti_of *),
				      void *object);
/* The list's values of a range, or of a sample, in a counter data image. False where CUPTI has none. */
bool sn_cuda_counters_evaluate(uint32_t device, const uint8_t *data, size_t data_bytes,
			       size_t range, double *values);
