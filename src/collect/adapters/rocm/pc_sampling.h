/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of the instructions that a device executes: the SDK's service for them (pc_sampling.c), and the code that they lie in
 * (code_object.c). docs/design/rocm.md gives reasons.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes.
 */
#pragma once

#include "rocm.h"
#include "rocprofiler_samples.h"

/* ---- pc_sampling.c ---- */

/* Where the user wants samples and devices offer them: configures and starts. Takes 3 seconds at most. MT: once, while the SDK
 * initialises its tools. */
void sn_rocm_samples_begin(void *library);
/* Instructions are being sampled. */
bool sn_rocm_samples_are_on(void);
/* What becomes of it, for the adapter's status: "" where the user does not want it. AS-safe: yes. */
const char *sn_rocm_samples_said(void);
/* Stops sampling and takes what there still is. May never return. */
void sn_rocm_samples_end(void);

/* ---- code_object.c ---- */

/* A code object was loaded: it is kept in the measurement, if instructions are to be sampled. */
void sn_rocm_code_object_loaded(const struct sn_rocprofiler_code_object *loaded);

/* Where a code object lies. */
struct sn_rocm_code {
	uint32_t module; /* SN_ID_NONE: not kept */
	uint64_t bias;	 /* an offset from its load_base plus this is an address in its file */
};
/* By the SDK's number. */
struct sn_rocm_code sn_rocm_find_code(uint64_t code_object);
