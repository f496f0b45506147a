/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions that the program marks through any interface (sonde.h, Python, NVTX, roctx, ITT).
 * docs/design/regions.md says where a region is placed among native and Python frames and why.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: the thread itself.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum sn_region_origin {
	SN_REGION_NATIVE, /* begun by compiled code; `stack` is exact */
	SN_REGION_PYTHON, /* begun by Python code through a binding */
	SN_REGION_EITHER, /* begun by compiled code or by Python through a binding: to be determined */
};

/* The interface that began a region: each ends only its own. NVTX domains are numbered from NVTX
 * on.
 */
enum sn_region_user {
	SN_REGION_SONDE,
	SN_REGION_ITT,
	SN_REGION_COMPILE,
	SN_REGION_MPI,
	SN_REGION_ROCTX,
	SN_REGION_NVTX
};
/* For nodes of a graph: this plus the node's number (graph.h). The region's time goes to the node.
 * */
#define SN_REGION_NODE 0x80000000u

struct sn_region_start {
	const char *name;
	size_t length;
	uintptr_t stack; /* between the entering function's frame and its callees' */
	enum sn_region_origin origin;
	uint32_t user; /* enum sn_region_user */
	uint8_t frame_flags;
	uint8_t frame_kind; /* 0: a region */
};

/* Begins a region of the calling thread; returns a token for sn_region_end, 0 if the thread is not
 * measured. */
uint32_t sn_region_begin(const struct sn_region_start *start);
#define SN_REGION_BEGIN(...) sn_region_begin(&(struct sn_region_start){__VA_ARGS__})

/* Ends the region of a token; for token 0 the innermost one of `user`. */
void sn_region_end(uint32_t user, uint32_t token);

/* Called between sn_enter and sn_leave: records a region that ends, instead of its interval. */
struct sn_thread;
typedef void sn_region_tracer(struct sn_thread *thread, uint32_t node, uint64_t start_ns,
			      uint64_t end_ns, void *data);
/* As sn_region_end. The tracer is not called if the region is not found. */
void sn_region_end_traced(uint32_t user, uint32_t token, sn_region_tracer *tracer, void *data);

/* Counts an instant that the program marked, at its call path. */
void sn_region_mark(const char *name, size_t length);

/* Adds the time of a range, which is no region because it may end anywhere; it is charged to the
 * context where it began. */
struct sn_range {
	uint32_t node;
	uint32_t thread; /* index in the registry */
	uint64_t start_ns;
	bool is_chosen; /* devices are sampled in it */
};
/* False if the thread is not measured. */
bool sn_range_begin(struct sn_range *range, const char *name, size_t length);
/* A range that another thread ends is counted as unbalanced. */
void sn_range_end(const struct sn_range *range);

/* ---- those in which devices are sampled: of the name that the user chose. MT: yes ---- */

/* Some thread is in a region, or a range is open. */
bool sn_region_chosen_is_open(void);
/* There was one. */
bool sn_region_chosen_came(void);

/* ---- range.c: those that are open, by the numbers that an interface gives them, never 0 ---- */

#define SN_RANGES 4096u

/* An interface has SN_RANGES of them, zero at first. */
struct sn_range_slot {
	_Atomic uint64_t id; /* 0 free; changes by compare and swap only */
	struct sn_range range;
};

/* False where nothing is measured, or too many are open, which counts as unbalanced. MT: yes. */
bool sn_range_open(struct sn_range_slot *slots, uint64_t id, const char *name, size_t length);
/* As sn_range_end. A number that is not open is counted as unbalanced; 0 is none. MT: yes. */
void sn_range_close(struct sn_range_slot *slots, uint64_t id);

/* Converts a wide string to UTF-8, truncated to fit; returns its length. MT: yes. */
size_t sn_region_narrow(const wchar_t *wide, char *narrow, size_t size);
