/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interfaces between the parts of the OpenMP adapter.
 *
 *	gomp.c     the functions of GCC's libgomp that start parallel regions
 *	library.c  which libgomp of several a caller belongs to
 *	ompt.c     LLVM's and Intel's runtimes, which offer an interface for tools
 *	tasks.c    explicit tasks as a dataflow graph, on request
 *	openmp.c   the adapter
 *
 * docs/design/openmp.md gives reasons and costs.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: yes.
 */
#pragma once

#include "collect/unwind/origin.h"

/* The entry points of libgomp that start a region: SN_GOMP(name). */
enum sn_gomp_entry {
#define SN_GOMP(name) SN_##name,
#include "gomp.def"
#undef SN_GOMP
	SN_GOMP_COUNT
};

/* A runtime with these entry points; stays valid. */
struct sn_gomp {
	struct sn_runtime runtime;
	void *entries[SN_GOMP_COUNT]; /* NULL if this release has none */
	bool is_ompt; /* reports its regions by OMPT: LLVM's, which has libgomp's names too */
};

/* The runtime with which `function`, the outlined body of a region, was linked; NULL for none. */
const struct sn_gomp *sn_gomp_of(void (*function)(void *));
/* Clears the cache of functions and their runtimes: a module was unloaded. */
void sn_gomp_forget(void);
uint32_t sn_gomp_count(void);

/* Whether regions are followed. */
bool sn_openmp_wanted(void);

/* --- tasks.c: explicit tasks as a graph; callbacks of OMPT --- */

union sn_ompt_data {
	uint64_t value;
	void *pointer;
};

/* Whether tasks are followed; allocates their tables. MT: once, as the runtime starts. */
bool sn_ompt_tasks_wanted(void);
void sn_ompt_task_create(union sn_ompt_data *encountering, const void *frame,
			 union sn_ompt_data *task, int flags, int has_dependences,
			 const void *return_address);
void sn_ompt_task_schedule(union sn_ompt_data *prior, int status, union sn_ompt_data *next);
void sn_ompt_dependences(union sn_ompt_data *task, const void *list, int count);
/* Around a parallel region. */
void sn_ompt_tasks_begin(void);
void sn_ompt_tasks_end(void);

/* True where `address` lies in a runtime that reports by OMPT. */
bool sn_ompt_is_runtime(uintptr_t address);
/* The name and version of the runtime that reports by OMPT, NULL for none. */
const char *sn_ompt_runtime(void);
