/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contents of a GPU binary: functions, their basic blocks, calls and lines. NVIDIA's cubin
 * (compute capability 7.0 on) and AMD's code objects (gfx9 to gfx12).
 *
 * One address space for the whole binary: in a cubin each function begins at 0 of a section of its
 * own, so addresses are offsets in the file (K. Zhou et al., HPCToolkit, section 5); a sample at
 * `pc` in a function has the address `base` + pc. AMD's code objects have addresses already. Device
 * functions follow the kernel with which they were compiled, inside the range of its symbol: each
 * function ends where the next one begins.
 *
 * Reading is bounded and checks everything: a damaged file gives an error or fewer results, never a
 * crash.
 */
#pragma once

#include "base/error.h"
#include "binary/elf/elf_file.h"
#include "binary/structure/flow_graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_GPU_NONE UINT32_MAX

enum sn_gpu_vendor { SN_GPU_NVIDIA = 1, SN_GPU_AMD };

struct sn_gpu_call {
	uint64_t address;  /* of the instruction */
	uint32_t function; /* called; SN_GPU_NONE: not known, or outside the binary */
	bool is_tail;	   /* a jump that does not come back */
};

struct sn_gpu_function {
	const char *symbol;
	const char *name; /* the symbol without the compiler's additions; still mangled */
	uint64_t start;	  /* where it is entered */
	uint64_t end;	  /* one past its code, padding included */
	uint64_t base;	  /* of its section: the origin of pcs in the vendor's tools */
	uint32_t kernel;  /* the one into which it was compiled; SN_GPU_NONE for none */
	bool is_kernel;
	bool has_unknown_jump; /* an indirect jump without a table: blocks may lack edges */
	struct sn_flow_graph
	    flow; /* blocks that can be reached, all of them if a jump is unknown */
	struct sn_gpu_call *calls; /* by address */
	uint32_t call_count;
};

/* The source of a range of code. Ranges ascend and do not overlap. */
struct sn_gpu_line {
	uint64_t start, end;
	const char *file; /* NULL unknown */
	uint32_t line;	  /* 0 unknown */
	uint32_t inlined; /* in inlined calls: the innermost around it; SN_GPU_NONE: none */
};

/* A call that was inlined. An outer one has a smaller number. */
struct sn_gpu_inlined {
	uint32_t parent;       /* the inlined call around it, or SN_GPU_NONE */
	uint32_t call_line;    /* where it was called; 0 unknown */
	const char *call_file; /* NULL unknown */
	const char *function;  /* its symbol, or its name; NULL unknown */
};

struct sn_gpu_binary {
	enum sn_gpu_vendor vendor;
	uint32_t architecture;		   /* compute capability x 10, or AMD's enum sn_gcn_isa */
	char target[24];		   /* "sm_90", "gfx1100" */
	struct sn_gpu_function *functions; /* by start */
	struct sn_gpu_line *lines;	   /* once sn_gpu_binary_read_lines */
	struct sn_gpu_inlined *inlined;
	uint32_t function_count, line_count, inlined_count;
	struct sn_gpu_private *private;
};

/* Whether a file is for a supported GPU, by its machine. */
bool sn_gpu_is_binary(const struct sn_elf_file *file);

/*
 * Reads functions, blocks and calls. `file` stays the caller's and must outlive the result.
 * SN_ERR_FORMAT, SN_ERR_UNSUPPORTED (an older architecture), SN_ERR_MEMORY.
 */
int sn_gpu_binary_read(struct sn_elf_file *file, struct sn_gpu_binary **binary,
		       struct sn_error *error);
/* Fills in lines and inlined calls from debug information, if there is any. 0 or SN_ERR_MEMORY. */
int sn_gpu_binary_read_lines(struct sn_gpu_binary *binary);
void sn_gpu_binary_free(struct sn_gpu_binary *binary);

/* The function whose code contains an address, or SN_GPU_NONE. */
uint32_t sn_gpu_binary_function_at(const struct sn_gpu_binary *binary, uint64_t address);
/* The function of that symbol or, failing that, name; or SN_GPU_NONE. */
uint32_t sn_gpu_binary_find(const struct sn_gpu_binary *binary, const char *name);
