/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORD_ROCM_RECORDER_H
#define RECORD_ROCM_RECORDER_H

#include "../../../../src/collect/adapters/rocm/rocprofiler_samples.h"
#include "../tool.h"

/* ---- recorder.c ---- */

struct record_sdk {
#define RECORD_POINTER(name, parameters) sn_rocprofiler_status(*name) parameters;
	SN_ROCPROFILER_FUNCTIONS(RECORD_POINTER)
	SN_ROCPROFILER_SAMPLING_FUNCTIONS(RECORD_POINTER)
#undef RECORD_POINTER
};
/* The SDK's functions: those of samples may be NULL, and others are not. */
extern struct record_sdk record_sdk;

/* A context and its buffer: RECORDING_PART_... */
struct record_part {
	uint32_t part;
	uint64_t context, buffer;
};

/* Writes what a call of the recorder's, of this part, answered, and whether it succeeded; or that it begins. */
bool record_service(const struct record_part *of, const char *name, int32_t kind,
		    sn_rocprofiler_status result);
void record_service_begins(const struct record_part *of, const char *name);
/* Makes its context and its buffer. False where the SDK refuses. */
bool record_create(struct record_part *part);
/* Asks for callbacks of a kind; of all operations, or of those. */
bool record_callbacks(const struct record_part *of, int kind, const int32_t *operations,
		      size_t count);
/* Starts it. */
bool record_start(const struct record_part *of);
/* Stops it, and has its last records delivered. May never return. */
void record_stop(const struct record_part *of);

/* ---- code.c ---- */

/* A code object is loaded: writes it, and the name of where it is from. */
void record_code(const struct sn_rocprofiler_code_object *loaded);

/* ---- samples.c: where SONDE_RECORD_SAMPLES asks for them ---- */

/* An agent that may be sampled. MT: once for each, before the next. */
void record_samples_of(uint64_t agent);
/* Asks for them. MT: once. */
void record_samples_begin(void);
void record_samples_end(void);

/* ---- counters.c: where SONDE_RECORD_COUNTERS names some ---- */

/* Finds the SDK's functions, whose presence is written in any case. MT: once. */
void record_counters_find(void *library);
/* An agent that may count. MT: once for each, before the next. */
void record_counters_of(uint64_t agent);
/* Asks for them. MT: once. */
void record_counters_begin(void);
/* Waits for what has begun. May never return. */
void record_counters_end(void);

#endif
