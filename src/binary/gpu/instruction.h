/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The effect of one GPU instruction on control flow, and its length. Nothing else is decoded: this
 * is enough for basic blocks, loops and calls, and does not change from chip to chip.
 *
 * The encodings were found by assembling, disassembling and changing instructions bit by bit with
 * NVIDIA's and LLVM's tools (docs/design/gpu-structure.md has the tables); tests compare with those
 * tools if they are installed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sn_gpu_flow {
	SN_GPU_NEXT,	 /* goes on with the next instruction, as most do */
	SN_GPU_BRANCH,	 /* jumps to `target` */
	SN_GPU_INDIRECT, /* jumps through a register or a table */
	SN_GPU_CALL,	 /* to `target`, or through a register; returns to the next */
	SN_GPU_RETURN,
	SN_GPU_EXIT, /* the thread ends */
	SN_GPU_MEET, /* continues; diverged threads reconverge at `target`, which therefore begins a block */
	SN_GPU_BREAK, /* continues; ends a block: threads wait for others or leave their group */
};

struct sn_gpu_instruction {
	uint64_t address;
	uint64_t target; /* with has_target */
	uint8_t length;	 /* bytes */
	uint8_t flow;	 /* enum sn_gpu_flow */
	bool has_target;
	bool is_conditional;	  /* some threads may go on with the next instruction instead */
	uint8_t target_register;  /* of a call or jump through a register; 255: none */
	uint8_t written_register; /* general register that may hold a code address; 255: none */
};

#define SN_GPU_NO_REGISTER 255

/*
 * NVIDIA SASS of compute capability 7.0 and later: 16 bytes each. `compute_capability` is 10 x
 * major + minor (70, 86, 120). Targets are relative to the same origin as `address`.
 */
void sn_sass_decode(const uint8_t bytes[16], uint32_t compute_capability, uint64_t address,
		    struct sn_gpu_instruction *instruction);

/* AMD's instruction sets, by the architecture's number: 9 is GCN 5 and CDNA, 10 to 12 RDNA. */
enum sn_gcn_isa { SN_GCN_9 = 9, SN_GCN_10 = 10, SN_GCN_11 = 11, SN_GCN_12 = 12 };

/*
 * False if the bytes are no instruction, or one longer than `left` bytes; instruction->length is
 * then 4, to continue after it.
 */
bool sn_gcn_decode(const uint8_t *bytes, size_t left, enum sn_gcn_isa isa, uint64_t address,
		   struct sn_gpu_instruction *instruction);

/* Known values of scalar registers, to find the targets of s_swappc_b64. */
struct sn_gcn_registers {
	uint32_t value[128];
	uint64_t known[2]; /* a bit for each register */
	bool carry, has_carry;
};

/*
 * Sets the target of a call or jump through two known registers; then applies the instruction to
 * the registers: addresses computed by s_getpc_b64, additions and moves become known. Instructions
 * are passed in order of address, regardless of branches, which suffices for compilers' code:
 * callers accept only targets where a function begins.
 */
void sn_gcn_follow(struct sn_gcn_registers *registers, const uint8_t *bytes, enum sn_gcn_isa isa,
		   struct sn_gpu_instruction *instruction);
