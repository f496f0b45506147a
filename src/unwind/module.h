/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A load module for unwinding: the addresses of its file and of its call frame information. The
 * collector fills one in for each file in /proc/self/maps, an importer of recorded stacks for each
 * file that a recording names.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SN_MODULE_RANGES 6u

struct sn_module_range {
	uintptr_t start, end;
};

struct sn_module {
	uintptr_t start, end; /* every mapping of the file lies within [start, end) */
	uintptr_t base;	      /* where the file's first byte is mapped: its ELF header */
	uint64_t inode;	      /* of the file; identifies the module together with path and base */
	uintptr_t bias;	      /* address = bias + ELF virtual address */
	const unsigned char *eh_frame_hdr; /* in memory, or NULL */
	uintptr_t eh_frame_hdr_end;	   /* of its segment */
	struct sn_module_range
	    readable[SN_MODULE_RANGES]; /* its segments, as the file fills them */
	uint32_t readable_count;
	const char *path; /* stays valid */
	uint32_t flags;	  /* enum sn_module_flags of measurement.h */
	uint32_t build_id_bytes;
	unsigned char build_id[20];
	bool is_permanent; /* loaded at the start: the loader never unmaps it */
	_Atomic bool dead;
};
