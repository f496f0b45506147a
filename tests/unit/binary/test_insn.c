/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoders of lengths and control flow against capstone: at every instruction of real
 * libraries that capstone knows (it does not know all of AVX-512), and at random bytes.
 */
#include "binary/elf/elf_file.h"
#include "binary/structure/insn.h"

#include <capstone/capstone.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CODE_BYTES_MAX (1u << 21) /* of each file */

static enum sn_insn_kind kind_of(csh handle, const cs_insn *insn, bool is_arm)
{
	bool is_jump = cs_insn_group(handle, insn, CS_GRP_JUMP);
	const cs_detail *detail = insn->detail;
	bool is_indirect;
	if (is_arm) {
		if (insn->id == ARM64_INS_BR)
			return SN_INSN_JUMP_INDIRECT;
		if (insn->id == ARM64_INS_BLR)
			return SN_INSN_CALL_INDIRECT;
		if (insn->id == ARM64_INS_BL)
			return SN_INSN_CALL;
		if (insn->id == ARM64_INS_RET)
			return SN_INSN_RETURN;
		if (strcmp(insn->mnemonic, "b") == 0)
			return SN_INSN_JUMP;
		return is_jump ? SN_INSN_BRANCH : SN_INSN_OTHER;
	}
	is_indirect = detail->x86.op_count > 0 && detail->x86.operands[0].type != X86_OP_IMM;
	if (insn->id == X86_INS_CALL || insn->id == X86_INS_LCALL)
		return is_indirect ? SN_INSN_CALL_INDIRECT : SN_INSN_CALL;
	if (insn->id == X86_INS_JMP || insn->id == X86_INS_LJMP)
		return is_indirect ? SN_INSN_JUMP_INDIRECT : SN_INSN_JUMP;
	if (insn->id == X86_INS_RET || insn->id == X86_INS_RETF)
		return SN_INSN_RETURN;
	bool is_loop =
	    insn->id == X86_INS_LOOP || insn->id == X86_INS_LOOPE || insn->id == X86_INS_LOOPNE;
	return is_jump || is_loop || insn->id == X86_INS_XBEGIN ? SN_INSN_BRANCH : SN_INSN_OTHER;
}

static uint64_t target_of(const cs_insn *insn, bool is_arm)
{
	if (is_arm) {
		const cs_arm64 *arm = &insn->detail->arm64;
		const cs_arm64_op *last = &arm->operands[arm->op_count ? arm->op_count - 1 : 0];
		return arm->op_count && last->type == ARM64_OP_IMM ? (uint64_t)last->imm : 0;
	}
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *op = &x86->operands[0];
	if (x86->op_count && op->type == X86_OP_MEM && op->mem.base == X86_REG_RIP)
		return insn->address + insn->size + (uint64_t)op->mem.disp;
	return x86->op_count && op->type == X86_OP_IMM ? (uint64_t)op->imm : 0;
}

/* Compares one instruction; how far to go on. */
static size_t compare(csh handle, cs_insn *insn, sn_insn_decode *decode, const uint8_t *bytes,
		      size_t size, uint64_t address, uint64_t *known)
{
	const uint8_t *at = bytes;
	size_t left = size;
	uint64_t next = address;
	struct sn_insn own = {0};
	bool is_arm = decode == sn_insn_decode_arm;
	bool is_own = decode(bytes, size, address, &own);
	if (!cs_disasm_iter(handle, &at, &left, &next, insn))
		return is_own ? own.length : sn_insn_alignment(decode);
	(*known)++;
	/* before a near branch this prefix does nothing at Intel's, which is what we follow */
	if (!is_arm && insn->detail->x86.prefix[2] == 0x66 && is_own && own.kind >= SN_INSN_BRANCH)
		return own.length;
	enum sn_insn_kind kind = kind_of(handle, insn, is_arm);
	bool is_flow = kind != SN_INSN_OTHER;
	/* of ud1 capstone leaves out the operand */
	if (is_own && own.kind == SN_INSN_TRAP)
		return own.length;
	bool own_is_flow = is_own && own.kind > SN_INSN_PADDING && own.kind < SN_INSN_TRAP &&
			   !(own.kind == SN_INSN_RETURN && !is_flow); /* iret, sysret: no group's */
	if (!is_own || own.length != insn->size || is_flow != own_is_flow ||
	    (is_flow && own.kind != kind) ||
	    (is_flow && kind != SN_INSN_RETURN && own.target != target_of(insn, is_arm)))
		fail_msg("%#lx: %s %s: length %u and %u, kind %d and %d, target %#lx and %#lx",
			 (unsigned long)address, insn->mnemonic, insn->op_str, insn->size,
			 own.length, kind, own.kind, (unsigned long)target_of(insn, is_arm),
			 (unsigned long)own.target);
	return own.length;
}

static void compare_all(uint16_t machine, const uint8_t *bytes, size_t size, uint64_t address,
			uint64_t *known)
{
	csh handle;
	bool is_arm = machine == EM_AARCH64;
	assert_int_equal(cs_open(is_arm ? CS_ARCH_ARM64 : CS_ARCH_X86,
				 is_arm ? CS_MODE_ARM : CS_MODE_64, &handle),
			 CS_ERR_OK);
	cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
	cs_insn *insn = cs_malloc(handle);
	for (size_t at = 0; at < size;)
		at += compare(handle, insn, sn_insn_decoder(machine), bytes + at, size - at,
			      address + at, known);
	cs_free(insn, 1);
	cs_close(&handle);
}

static void test_libraries(void **state)
{
	static const char *const paths[] = {
	    "/proc/self/exe", "/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libm.so.6",
	    "/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/aarch64-linux-gnu/lib/libc.so.6"};
	uint64_t known = 0;
	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct sn_elf_file *file;
		if (sn_elf_file_open(paths[i], &file, NULL) < 0)
			continue;
		struct sn_elf_section *text = sn_elf_file_section(file, ".text");
		struct sn_bytes bytes = sn_elf_section_contents(file, text);
		if (bytes.size > CODE_BYTES_MAX)
			bytes.size = CODE_BYTES_MAX;
		if (bytes.size > 0)
			compare_all(file->machine, bytes.data, bytes.size, text->header.sh_addr,
				    &known);
		sn_elf_file_free(file);
	}
	assert_true(known > 1000);
}

static void test_random_arm(void **state)
{
	enum { BYTES = 1 << 20 };
	uint8_t *bytes = malloc(BYTES);
	uint32_t seed = 1;
	uint64_t known = 0;
	(void)state;
	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
	compare_all(EM_AARCH64, bytes, BYTES, 0x10000, &known);
	assert_true(known > BYTES / 16);
	free(bytes);
}

/* Never reads beyond the end, never says zero bytes. */
static void test_cut_off(void **state)
{
	static const uint8_t code[] = {0x62, 0xf2, 0x7d, 0x48, 0x78, 0x84, 0x83, 1, 2, 3, 4};
	struct sn_insn insn;
	(void)state;
	for (size_t size = 0; size <= sizeof(code); size++) {
		uint8_t *copy = malloc(size + 1);
		memcpy(copy, code, size);
		assert_int_equal(sn_insn_decode_x86(copy, size, 0, &insn), size == sizeof(code));
		free(copy);
	}
	assert_int_equal(insn.length, sizeof(code));
	assert_false(sn_insn_decode_arm(code, 3, 0, &insn));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_libraries),
	    cmocka_unit_test(test_random_arm),
	    cmocka_unit_test(test_cut_off),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
