/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of libraries that are known by their names and where their arguments are: those of accelerators that the user describes
 * (sonde-gpu-api(5)), which are calls of a GPU's interface, with frames and times, like those of CUDA; and those of which another
 * adapter wants to hear. The parts: what is known (table.c), the places through which the program calls the
 * functions (entry.c), and the code that stands in between (stub.c). docs/design/configured.md gives reasons.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes.
 */
#pragma once

#include "collect/adapters/gpu/gpu.h"
#include "description.h"

/* Of a call that begins: the registers of arguments, and the words of the stack after them. */
struct sn_configured_arguments {
	const uint64_t *registers, *stack;
};

struct sn_configured_call {
	char name[128];
	_Atomic uintptr_t function; /* the library's; 0 while that is not loaded */
	uint8_t words;		    /* of arguments on the stack */
	/* another adapter sets `function`, and gives the program the stub: nothing is looked up by the name */
	bool is_given;
	const _Atomic bool *is_heard; /* while it is false calls pass by; NULL: all are heard */
	/* one that the user describes: where its arguments are (description.h) */
	struct sn_gpu_interface *interface;
	uint8_t stream, bytes, kernel;
	/* one of another adapter, which hears of it instead; `result` is what it returned */
	void (*enter)(const struct sn_configured_call *call,
		      const struct sn_configured_arguments *arguments);
	void (*leave)(const struct sn_configured_call *call,
		      const struct sn_configured_arguments *arguments, uint64_t result);
	uint8_t of_adapter; /* that adapter's number for it */
};

/* A library. */
struct sn_configured_device {
	char name[64], library[64]; /* the library: how its file's name begins */
	struct sn_gpu_interface interface;
	uint32_t first, end; /* its calls */
};

/* ---- table.c ---- */

/* As many as the user may describe, and those of other adapters. */
enum { SN_CONFIGURED_STUBS = 256, SN_CONFIGURED_LIBRARIES = SN_CONFIGURED_DEVICES + 7 };

extern struct sn_configured_call sn_configured_calls[SN_CONFIGURED_STUBS];
extern struct sn_configured_device sn_configured_devices[SN_CONFIGURED_LIBRARIES];
/* Grow only; what is counted does not change, but for addresses. */
extern _Atomic uint32_t sn_configured_call_count, sn_configured_device_count;

/* Adds a library, and copies of its calls, of which others hear when they are complete. NULL or false where there is no room. The
 * calls of one library are added before another library. MT: one thread at a time. */
struct sn_configured_device *sn_configured_add_device(const char *name, const char *library);
bool sn_configured_add_call(struct sn_configured_device *device,
			    const struct sn_configured_call *call);
/* How many of its calls the library has; 0 while it is not loaded. */
uint32_t sn_configured_found(const struct sn_configured_device *device);

/* ---- entry.c ---- */

/* A library is loaded whose file's name begins so. */
bool sn_configured_is_loaded(const char *library);
/* Puts the stubs between the calls and whatever modules have been loaded since it was last called. */
void sn_configured_find(void);
/* The program looks a name up in a library (`handle`, or RTLD_DEFAULT or RTLD_NEXT): the stub that it is to get; 0: what dlsym
 * finds. */
uintptr_t sn_configured_lookup(void *handle, const char *name);

/* ---- stub.c ---- */

/* Where the stub of a call begins. */
uintptr_t sn_configured_stub(uint32_t call);
bool sn_configured_is_stub(uintptr_t address);
/* The argument at a place of description.h; 0 for nowhere. */
uint64_t sn_configured_argument(const struct sn_configured_arguments *arguments, unsigned place);
