/* SPDX-License-Identifier: Apache-2.0 */
/* What single instructions of x86-64 read, write and are, by their bytes. */
#include "binary/effect.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { RAX = 0, RCX = 1, RDX = 2, RSP = 4, RSI = 6, RDI = 7 };
#define BIT(reg)     (UINT64_C(1) << (reg))
#define DECODED(...) decoded((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static struct sn_effect_decoder *decoder;

static struct sn_insn_effect decoded(const uint8_t *bytes, size_t count)
{
	struct sn_insn_effect effect;
	assert_true(sn_effect_decode(decoder, bytes, count, 0x1000, &effect));
	return effect;
}

static void test_memory(void **unused)
{
	(void)unused;
	struct sn_insn_effect load = DECODED(0x48, 0x8b, 0x04, 0xce); /* mov rax, [rsi + 8 * rcx] */
	assert_true(load.loads && !load.stores && !load.is_stack && load.writes == BIT(RAX));
	assert_true(load.address == (BIT(RSI) | BIT(RCX)) && load.base == RSI &&
		    load.index == RCX && load.scale == 8);
	struct sn_insn_effect store = DECODED(0x48, 0x89, 0x07); /* mov [rdi], rax */
	assert_true(store.stores && !store.loads && (store.reads & BIT(RAX)) &&
		    store.address == BIT(RDI));
	struct sn_insn_effect both = DECODED(0x48, 0x83, 0x07, 0x01); /* add qword [rdi], 1 */
	assert_true(both.loads && both.stores);
	struct sn_insn_effect compared = DECODED(0x48, 0x39, 0x07); /* cmp [rdi], rax */
	assert_true(compared.loads && !compared.stores);
	struct sn_insn_effect frame =
	    DECODED(0x48, 0x8b, 0x44, 0x24, 0x08); /* mov rax, [rsp + 8] */
	assert_true(frame.loads && frame.is_stack);
	struct sn_insn_effect fixed = DECODED(0x48, 0x8b, 0x05, 0, 0, 0, 0); /* mov rax, [rip] */
	assert_true(fixed.loads && fixed.is_stack);
	struct sn_insn_effect pushed = DECODED(0x50); /* push rax */
	assert_true(pushed.stores && !pushed.loads && pushed.is_stack);
	struct sn_insn_effect address =
	    DECODED(0x48, 0x8d, 0x04, 0xce); /* lea rax, [rsi + 8 * rcx] */
	assert_false(address.loads || address.stores);
}

static void test_kinds(void **unused)
{
	(void)unused;
	assert_int_equal(DECODED(0x48, 0xf7, 0xf1).kind, SN_EFFECT_LONG); /* div rcx */
	assert_int_equal(DECODED(0xf2, 0x0f, 0x51, 0xc0).kind,
			 SN_EFFECT_LONG); /* sqrtsd xmm0, xmm0 */
	assert_int_equal(DECODED(0xf2, 0x0f, 0x58, 0xc1).kind,
			 SN_EFFECT_VECTOR); /* addsd xmm0, xmm1 */
	assert_int_equal(DECODED(0x48, 0x0f, 0xaf, 0xc1).kind,
			 SN_EFFECT_MULTIPLY);				/* imul rax, rcx */
	assert_int_equal(DECODED(0x74, 0x10).kind, SN_EFFECT_BRANCH);	/* je */
	assert_int_equal(DECODED(0xeb, 0x10).kind, SN_EFFECT_JUMP);	/* jmp */
	assert_int_equal(DECODED(0xff, 0xe0).kind, SN_EFFECT_INDIRECT); /* jmp rax */
	assert_int_equal(DECODED(0xe8, 0, 0, 0, 0).kind, SN_EFFECT_CALL);
	assert_int_equal(DECODED(0xc3).kind, SN_EFFECT_RETURN);
	assert_int_equal(DECODED(0x90).kind, SN_EFFECT_NOTHING);
	assert_int_equal(DECODED(0xf3, 0x90).kind, SN_EFFECT_WAIT);	    /* pause */
	assert_int_equal(DECODED(0x0f, 0xae, 0xf0).kind, SN_EFFECT_FENCE);  /* mfence */
	assert_int_equal(DECODED(0xf3, 0x48, 0xab).kind, SN_EFFECT_STRING); /* rep stosq */
}

static void test_atomic(void **unused)
{
	(void)unused;
	struct sn_insn_effect locked = DECODED(0xf0, 0x48, 0x01, 0x07); /* lock add [rdi], rax */
	assert_true(locked.is_atomic && locked.loads && locked.stores);
	assert_true(DECODED(0x48, 0x87, 0x07).is_atomic);  /* xchg [rdi], rax */
	assert_false(DECODED(0x48, 0x87, 0xc8).is_atomic); /* xchg rax, rcx */
	assert_false(DECODED(0x48, 0x01, 0x07).is_atomic); /* add [rdi], rax */
}

static void test_steps(void **unused)
{
	(void)unused;
	struct sn_insn_effect added =
	    DECODED(0x48, 0x81, 0xc2, 0x40, 0x10, 0, 0); /* add rdx, 0x1040 */
	assert_true(added.stepped == RDX && added.step == 0x1040);
	struct sn_insn_effect taken = DECODED(0x48, 0x83, 0xea, 0x08); /* sub rdx, 8 */
	assert_true(taken.stepped == RDX && taken.step == -8);
	struct sn_insn_effect moved = DECODED(0x48, 0x8d, 0x52, 0x40); /* lea rdx, [rdx + 0x40] */
	assert_true(moved.stepped == RDX && moved.step == 0x40);
	struct sn_insn_effect shifted = DECODED(0x48, 0xc1, 0xe0, 0x0c); /* shl rax, 12 */
	assert_true(shifted.shifted == RAX && shifted.step == 12 &&
		    shifted.stepped == SN_EFFECT_NO_REGISTER);
	assert_true(DECODED(0x48, 0x01, 0xc2).stepped == SN_EFFECT_NO_REGISTER); /* add rdx, rax */
}

/* A register that is made zero needs not be waited for; one of four bytes is the long one. */
static void test_registers(void **unused)
{
	(void)unused;
	assert_false(DECODED(0x31, 0xc0).reads & BIT(RAX)); /* xor eax, eax */
	assert_true(DECODED(0x31, 0xc0).writes & BIT(RAX));
	assert_true(DECODED(0x31, 0xc8).reads & BIT(RCX)); /* xor eax, ecx */
	assert_true(DECODED(0x74, 0x10).reads & BIT(SN_EFFECT_FLAGS));
	assert_true(DECODED(0x48, 0x39, 0xc8).writes & BIT(SN_EFFECT_FLAGS)); /* cmp rax, rcx */
}

static void test_no_instruction(void **unused)
{
	struct sn_insn_effect effect;
	(void)unused;
	assert_false(sn_effect_decode(decoder, (const uint8_t[]){0x48}, 1, 0, &effect));
	assert_int_equal(effect.kind, SN_EFFECT_NOTHING);
	assert_null(sn_effect_decoder_new(EM_AARCH64));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_memory),    cmocka_unit_test(test_kinds),
	    cmocka_unit_test(test_atomic),    cmocka_unit_test(test_steps),
	    cmocka_unit_test(test_registers), cmocka_unit_test(test_no_instruction)};
	decoder = sn_effect_decoder_new(EM_X86_64);
	if (!decoder)
		return 77; /* no capstone */
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	sn_effect_decoder_free(decoder);
	return failed;
}
