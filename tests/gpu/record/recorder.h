/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDER_H
#define RECORDER_H

#include "../../../src/collect/adapters/cuda/cupti_samples.h"

/* driver.c: of the driver and its devices. After cuInit. */
void record_driver(void);

/* ---- samples.c: modules and, where SONDE_RECORD_SAMPLES asks for them, samples of instructions. MT: yes ---- */

/* MT: once, before the first callback. */
void record_samples_begin(void *library, uint32_t version);
/* A context comes or goes; it is written already. */
void record_samples_on_context(uint32_t cbid, void *context);
/* A module comes or goes: writes it. */
void record_samples_on_module(uint32_t cbid, const struct sn_cupti_resource_data *data);
/* The program enters a call, before that is written, and has left it, after that. */
void record_samples_before_call(const struct sn_cupti_call *call);
void record_samples_after_call(const struct sn_cupti_call *call);
/* Reads what there still is and ends sampling. */
void record_samples_end(void);
/* In the child of a fork. */
void record_samples_forget(void);

#endif
