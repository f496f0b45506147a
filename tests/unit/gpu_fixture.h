/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU binaries with known functions, blocks, loops, calls and lines, encoded here from documented
 * facts, so that tests need no vendor's tool.
 *
 * The cubin, by offsets in each section (| begins a block, * a loop):
 *   .text.outer                                   .text.second
 *    00|   work           line 10                  00|   BSSY 40
 *    10|*  work           line 11                  10    @!P0 BRA 30
 *    20|** work           line 21 in square()      20|   work
 *    30    @P0 BRA 20     line 12                  30|   BSYNC
 *    40|   CALL helper    line 13                  40|   CALL helper, by a relocation
 *    50|   @P1 BRA 10     line 11                  50|   EXIT
 *    60|   BRX {70, 80}   line 15
 *    70|   EXIT           line 15
 *    80|   EXIT           line 16
 *   $outer$helper:
 *    90|*  work           line 30
 *    a0    @P0 RET        line 31
 *    b0|   BRA 90         line 32
 *    c0    EXIT and padding: cannot be reached
 * square() was inlined at line 12 of kernel.cu, and is in square.h, both in /src.
 */
#ifndef SN_TEST_GPU_FIXTURE_H
#define SN_TEST_GPU_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

/* Where the sections of the cubin lie in the file, which is their unique address. */
#define GPU_FIXTURE_OUTER      0x400
#define GPU_FIXTURE_SECOND     0x600
#define GPU_FIXTURE_AMD_RODATA 0x1000
#define GPU_FIXTURE_AMD_TEXT   0x2000 /* address; helper is first, then the kernel */
#define GPU_FIXTURE_AMD_KERNEL 0x2040

/* Malloc'ed; ends the program without memory. compute_capability: 70 to 120. */
uint8_t *gpu_fixture_cubin(unsigned compute_capability, size_t *bytes);
/*
 * isa: 9 (gfx90a), 10 (gfx1030), 11 (gfx1100), 12 (gfx1200). Offsets from helper:
 *   helper:  00| s_nop  04  s_setpc_b64 s[30:31]       then padding up to 40
 *   kernel:  40| a long instruction whose later words look like s_endpgm
 *                s_getpc_b64, s_add_u32, s_addc_u32: the address of helper
 *              |* s_swappc_b64
 *                s_cbranch_scc1 to *
 *              | s_endpgm
 */
uint8_t *gpu_fixture_code_object(unsigned isa, size_t *bytes);
/* A fatbin of one uncompressed cubin. */
uint8_t *gpu_fixture_fatbin(unsigned compute_capability, size_t *bytes);
/* A clang offload bundle: the host, nothing, and two code objects. */
uint8_t *gpu_fixture_bundle(size_t *bytes);

#endif
