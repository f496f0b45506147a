/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PJRT adapter's parts, to each other: compilations, executions and copies of any accelerator's plugin for XLA.
 *
 *	plugin.c      finds plugins as the program does, and gives it a table of functions that leads to ours
 *	call.c        what is measured of each function
 *	executable.c  names and devices of what is executed
 *	done.c        executions that devices have completed
 *	program.c     keeps compiled programs for the analysis
 *	pjrt.c        the adapter, and what it says of itself
 *
 * docs/design/pjrt.md gives reasons.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes.
 */
#pragma once

#include "abi.h"
#include "lookup.h"

#include "collect/adapters/gpu/gpu.h"

#define SN_PJRT_PLUGINS 8u

struct sn_pjrt_plugin {
	_Atomic(void *) get; /* its GetPjrtApi; NULL: the place is free */
	struct sn_pjrt_made *_Atomic made;
	_Atomic bool is_other; /* it has returned a table that is not wrapped */
};

/* What was made of a plugin's table; constant. */
struct sn_pjrt_made {
	const struct sn_pjrt_api *real;
	sn_pjrt_function
	    *functions[SN_PJRT_WRAPPED_COUNT]; /* the plugin's; NULL where it has none */
	size_t bytes;			       /* of the copy, which lies behind */
	struct sn_pjrt_api copy;
};

extern struct sn_pjrt_plugin sn_pjrt_plugins[SN_PJRT_PLUGINS];
extern struct sn_gpu_interface sn_pjrt_interface;

/* A call of a plugin's function. */
struct sn_pjrt_call {
	const struct sn_pjrt_made *plugin;
	sn_pjrt_function *real;
	void *record;
	uintptr_t stack, pc; /* as for sn_context */
	uint32_t number;     /* of the plugin */
};

/* ---- plugin.c ---- */

/* A function of the plugin's; NULL where it has none. AS-safe: yes. */
sn_pjrt_function *sn_pjrt_function_at(const struct sn_pjrt_made *plugin, enum sn_pjrt_place place);
/* Asks the plugin; false where it has no such function, or that fails. */
bool sn_pjrt_ask(const struct sn_pjrt_made *plugin, enum sn_pjrt_place place, void *record);

/* ---- call.c ---- */

/* Does what the function does, and measures it. */
void *sn_pjrt_measured(const struct sn_pjrt_call *call, enum sn_pjrt_wrapped function);

/* ---- executable.c ---- */

#define SN_PJRT_DEVICES 16u

struct sn_pjrt_executable {
	struct sn_pjrt_executable *next;
	uint64_t hash;
	uint32_t length, device_count;
	uint16_t devices[SN_PJRT_DEVICES];
	char name[]; /* terminated */
};

/* What the program executes, asked of the plugin the first time; NULL where nothing is known. Lasts. */
const struct sn_pjrt_executable *sn_pjrt_executable(const struct sn_pjrt_made *plugin,
						    void *loaded);
/* It is destroyed: another may lie there. */
void sn_pjrt_executable_forget(void *loaded);
/* The number of a device. */
uint16_t sn_pjrt_device(const struct sn_pjrt_made *plugin, void *device);
/* MT: once. */
void sn_pjrt_executables_init(void);

/* ---- done.c ---- */

struct sn_pjrt_execution {
	const struct sn_pjrt_made *plugin;
	const struct sn_pjrt_executable *executable; /* NULL: not known */
	uint64_t start_ns;
	uint32_t correlation, number; /* of the call, of the plugin */
	uint16_t device;
};

/* The event says when the execution is complete. */
void sn_pjrt_follow(const struct sn_pjrt_execution *execution, void *event);
/* How many are not complete. AS-safe: yes. */
uint32_t sn_pjrt_pending(void);
/* The parent's are not the child's. MT: the only thread. */
void sn_pjrt_done_after_fork(void);

/* ---- program.c ---- */

/* Keeps the program of what has been compiled, where the plugin gives it. Outside sn_enter. */
void sn_pjrt_program_keep(const struct sn_pjrt_made *plugin, void *loaded);
/* The child of a fork keeps its own. MT: the only thread. */
void sn_pjrt_programs_after_fork(void);
