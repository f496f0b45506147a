/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accelerators that the user describes (sonde-gpu-api(5)): functions of their libraries are calls of a GPU's interface, with
 * frames and times, like those of CUDA. The parts: the description (table.c), the places through which the program calls the
 * functions (entry.c), and the code that stands in between (stub.c). docs/design/configured.md gives reasons.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes.
 */
#pragma once

#include "collect/adapters/gpu/gpu.h"
#include "description.h"

struct sn_configured_call {
	char name[128];
	struct sn_gpu_interface *interface;
	_Atomic uintptr_t function; /* the library's; 0 while that is not loaded */
	uint8_t words, stream, bytes, kernel;
};

struct sn_configured_device {
	char name[64], library[64];
	struct sn_gpu_interface interface;
	uint32_t first, end; /* its calls */
};

/* ---- table.c: constant once the adapter has begun, but for addresses ---- */

extern struct sn_configured_call sn_configured_calls[SN_CONFIGURED_CALLS];
extern struct sn_configured_device sn_configured_devices[SN_CONFIGURED_DEVICES];
extern uint32_t sn_configured_call_count, sn_configured_device_count;

/* ---- entry.c ---- */

/* Puts the stubs between the calls and whatever modules have been loaded since it was last called. */
void sn_configured_find(void);
/* The program looks a name up in a library (`handle`, or RTLD_DEFAULT or RTLD_NEXT): the stub that it is to get; 0: what dlsym
 * finds. */
uintptr_t sn_configured_lookup(void *handle, const char *name);

/* ---- stub.c ---- */

/* Where the stub of a call begins. */
uintptr_t sn_configured_stub(uint32_t call);
