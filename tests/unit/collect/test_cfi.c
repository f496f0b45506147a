/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our decoder of call frame information against elfutils', row by row over every function of real
 * libraries, and the compiled rules against the rows. SONDE_TEST_LIBRARY names another library to
 * check.
 */
#include "collect/unwind/module_list.h"
#include "unwind/cfi.h"
#include "unwind/expression.h"
#include "collect/unwind/rule.h"
#include "collect/unwind/step.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#define FUNCTIONS_MAX 20000u /* of a library; of larger ones every n-th */

struct counts {
	unsigned long rows, wrong, expressions;
	uint64_t first_wrong;
};

/* ---- one row ---- */

static bool same_cfa(const struct sn_cfi_row *row, Dwarf_Frame *frame)
{
	Dwarf_Op *ops;
	size_t count;
	if (dwarf_frame_cfa(frame, &ops, &count))
		return false;
	if (row->cfa_is_expression)
		return count >= 1 &&
		       *(const unsigned char *)row->cfa_expression.address == ops[0].atom;
	if (count != 1)
		return false;
	if (ops[0].atom == DW_OP_bregx)
		return ops[0].number == row->cfa_register &&
		       (int64_t)ops[0].number2 == row->cfa_offset;
	return ops[0].atom == DW_OP_breg0 + row->cfa_register &&
	       (int64_t)ops[0].number == row->cfa_offset;
}

/* CFA + value: call_frame_cfa, then plus_uconst where value is not 0, then stack_value for a value.
 */
static bool is_offset(const Dwarf_Op *ops, size_t count, int64_t value, bool is_value)
{
	if (is_value != (ops[count - 1].atom == DW_OP_stack_value))
		return false;
	count -= is_value;
	if (!count || ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	if (count == 1)
		return value == 0;
	return count == 2 && ops[1].atom == DW_OP_plus_uconst && (int64_t)ops[1].number == value;
}

static bool same_register(const struct sn_cfi_row *row, Dwarf_Frame *frame, unsigned number)
{
	Dwarf_Op memory[3], *ops;
	size_t count;
	if (dwarf_frame_register(frame, (int)number, memory, &ops, &count))
		return false;
	switch (row->kinds[number]) {
	case SN_CFI_UNSET:
		return number == SN_REG_SP || !count;
	case SN_CFI_SAME:
		return !count && !ops;
	case SN_CFI_UNDEFINED:
		return !count && ops == memory;
	case SN_CFI_OFFSET:
		return count && is_offset(ops, count, row->values[number], false);
	case SN_CFI_VALUE_OFFSET:
		return count && is_offset(ops, count, row->values[number], true);
	case SN_CFI_REGISTER:
		return count == 1 && ops[0].atom == DW_OP_regx &&
		       (int64_t)ops[0].number == row->values[number];
	default: /* the CFA is pushed first */
		return count >= 2 &&
		       *(const unsigned char *)sn_cfi_expression_of(row, number).address ==
			   ops[1].atom;
	}
}

/* The rule in one word says what the row says. */
static bool same_rule(const struct sn_cfi_row *row, uintptr_t pc)
{
	bool lasting;
	uint64_t rule = sn_rule_compile(pc, &lasting);
	switch (SN_RULE_KIND(rule)) {
	case SN_RULE_SP:
	case SN_RULE_FP:
		if (!row->cfa_is_expression &&
		    (SN_RULE_OFFSET(rule) != row->cfa_offset ||
		     row->cfa_register != (SN_RULE_BY_FP(rule) ? SN_REG_FP : SN_REG_SP)))
			return false;
		if (rule & SN_RULE_SAVED)
			return row->kinds[SN_REG_FP] == SN_CFI_OFFSET &&
			       row->values[SN_REG_FP] == -8 * (int64_t)SN_RULE_DISTANCE(rule);
		return row->kinds[SN_REG_FP] != SN_CFI_OFFSET;
	case SN_RULE_END:
		return row->kinds[SN_REG_PC] == SN_CFI_UNDEFINED;
	case SN_RULE_GUESS:
		return false;
	case SN_RULE_SIGNAL:
		return row->is_signal_frame;
	default:
		return true;
	}
}

static bool same_row(const struct sn_module *module, uintptr_t pc, Dwarf_Frame *frame, bool signal,
		     struct counts *counts)
{
	struct sn_cfi_row row;
	if (sn_cfi_find(module, pc, &row))
		return false;
	counts->expressions += row.cfa_is_expression;
	if (row.is_signal_frame != signal || !same_cfa(&row, frame))
		return false;
	for (unsigned number = 0; number < SN_REG_COUNT; number++)
		if (!same_register(&row, frame, number))
			return false;
	return same_rule(&row, pc);
}

/* ---- a library ---- */

/* Every row from `address` to the end of its function. */
static void check_function(const struct sn_module *module, Dwarf_CFI *cfi, Dwarf_Addr address,
			   Dwarf_Addr end, struct counts *counts)
{
	while (address < end) {
		Dwarf_Frame *frame;
		Dwarf_Addr row_start, row_end;
		bool signal;
		if (dwarf_cfi_addrframe(cfi, address, &frame))
			return;
		dwarf_frame_info(frame, &row_start, &row_end, &signal);
		uintptr_t first = module->bias + address, last = module->bias + row_end - 1;
		counts->rows++;
		if (!same_row(module, first, frame, signal, counts) ||
		    !same_row(module, last, frame, signal, counts)) {
			if (!counts->wrong++)
				counts->first_wrong = address;
		}
		free(frame);
		address = row_end;
	}
}

static void check_module(const struct sn_module *module)
{
	struct counts counts = {0};
	int fd = open(module->path, O_RDONLY);
	assert_true(fd >= 0);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Dwarf_CFI *cfi = dwarf_getcfi_elf(elf);
	assert_non_null(cfi);
	const unsigned char *header = module->eh_frame_hdr;
	assert_memory_equal(header, "\1\x1b\3\x3b", 4); /* the form every linker here writes */
	uint32_t count, stride;
	memcpy(&count, header + 8, sizeof(count));
	stride = count / FUNCTIONS_MAX + 1;
	const int32_t(*table)[2] = (const void *)(header + 12);
	for (uint32_t index = 0; index + 1 < count; index += stride) {
		uintptr_t start = (uintptr_t)header + (uintptr_t)(intptr_t)table[index][0];
		uintptr_t next = (uintptr_t)header + (uintptr_t)(intptr_t)table[index + 1][0];
		check_function(module, cfi, start - module->bias, next - module->bias, &counts);
	}
	print_message("  %-60s %6u functions, %7lu rows, %lu with expressions, %lu wrong (%#lx)\n",
		      module->path, count / stride, counts.rows, counts.expressions, counts.wrong,
		      (unsigned long)counts.first_wrong);
	assert_true(counts.rows >= count / stride / 2);
	assert_int_equal(counts.wrong, 0);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
}

static void check_named(const char *name)
{
	uint32_t index = sn_module_by_name(name);
	assert_int_not_equal(index, SN_MODULE_NONE);
	check_module(sn_module_at(index));
}

static void test_libraries(void **state)
{
	(void)state;
	dlopen("libstdc++.so.6", RTLD_LAZY);
	dlopen("libgcc_s.so.1", RTLD_LAZY);
	dlopen("libcrypto.so.3", RTLD_LAZY);
	sn_modules_init();
	elf_version(EV_CURRENT);
	check_named("libc.so");
	check_named("libstdc++.so");
	check_named("libgcc_s.so");
	check_named("ld-linux");
	check_named("libdw");
	check_named("test_cfi");
	if (sn_module_by_name("libcrypto") != SN_MODULE_NONE)
		check_named("libcrypto");
}

static void test_library_of_choice(void **state)
{
	(void)state;
	const char *path = getenv("SONDE_TEST_LIBRARY");
	if (!path)
		return;
	assert_non_null(dlopen(path, RTLD_LAZY));
	sn_modules_init();
	check_named(strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
}

/* ---- made tables ---- */

/* A CIE: data factor -8, return address in 16; CFA = rsp + 8, return address at CFA - 8. */
#define CIE 20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0

/* One function of 256 bytes with this program; its row at start + offset. */
static int decode(const unsigned char *program, size_t bytes, uintptr_t offset,
		  struct sn_cfi_row *row)
{
	static unsigned char section[512];
	static const unsigned char cie[] = {CIE};
	unsigned char *fde = section + sizeof(cie);
	uint32_t length = (uint32_t)(4 + 4 + 4 + 1 + bytes), id = sizeof(cie) + 4, range = 256;
	int32_t start = 4096;
	memcpy(section, cie, sizeof(cie));
	memcpy(fde, &length, 4);
	memcpy(fde + 4, &id, 4);
	memcpy(fde + 8, &start, 4);
	memcpy(fde + 12, &range, 4);
	fde[16] = 0;
	memcpy(fde + 17, program, bytes);
	return sn_cfi_decode(section, fde + 17 + bytes, fde, (uintptr_t)(fde + 8) + 4096 + offset,
			     row);
}

#define DECODE(offset, row, ...)                                                                   \
	decode((const unsigned char[]){__VA_ARGS__}, sizeof((const unsigned char[]){__VA_ARGS__}), \
	       offset, row)

static void test_instructions(void **state)
{
	(void)state;
	struct sn_cfi_row row;
	assert_int_equal(DECODE(0, &row, 0x41, 0x0e, 16), 0);
	assert_int_equal(row.cfa_offset, 8);
	assert_int_equal(row.cfa_register, SN_REG_RSP);
	assert_int_equal(row.kinds[SN_REG_PC], SN_CFI_OFFSET);
	assert_int_equal(row.values[SN_REG_PC], -8);
	assert_int_equal(DECODE(1, &row, 0x41, 0x0e, 16, 0x86, 2), 0);
	assert_int_equal(row.cfa_offset, 16);
	assert_int_equal(row.values[SN_REG_RBP], -16);
	/* remember, change, advance, restore */
	assert_int_equal(DECODE(3, &row, 0x0a, 0x0e, 80, 0x42, 0x0b), 0);
	assert_int_equal(row.cfa_offset, 8);
	assert_int_equal(DECODE(1, &row, 0x0a, 0x0e, 80, 0x42, 0x0b), 0);
	assert_int_equal(row.cfa_offset, 80);
	/* restore of one register, signed and negative forms, values */
	assert_int_equal(DECODE(9, &row, 0x86, 2, 0xc6), 0);
	assert_int_equal(row.kinds[SN_REG_RBP], SN_CFI_UNSET);
	assert_int_equal(DECODE(9, &row, 0x11, 3, 0x7f), 0);
	assert_int_equal(row.values[SN_REG_RBX], 8);
	assert_int_equal(DECODE(9, &row, 0x2f, 3, 2), 0);
	assert_int_equal(row.values[SN_REG_RBX], 16);
	assert_int_equal(DECODE(9, &row, 0x14, 7, 1, 0x07, 12, 0x08, 13, 0x09, 3, 14), 0);
	assert_int_equal(row.kinds[SN_REG_RSP], SN_CFI_VALUE_OFFSET);
	assert_int_equal(row.kinds[SN_REG_R12], SN_CFI_UNDEFINED);
	assert_int_equal(row.kinds[SN_REG_R13], SN_CFI_SAME);
	assert_int_equal(row.kinds[SN_REG_RBX], SN_CFI_REGISTER);
	assert_int_equal(row.values[SN_REG_RBX], SN_REG_R14);
	/* advances of every width; args_size and registers unknown here are skipped */
	assert_int_equal(
	    DECODE(9, &row, 0x02, 3, 0x03, 3, 0, 0x04, 3, 0, 0, 0, 0x2e, 16, 0x91, 5, 0x0e, 24), 0);
	assert_int_equal(row.cfa_offset, 24);
	assert_int_equal(DECODE(8, &row, 0x02, 3, 0x03, 3, 0, 0x04, 3, 0, 0, 0, 0x0e, 24), 0);
	assert_int_equal(row.cfa_offset, 8);
	/* an expression: where rbp is */
	assert_int_equal(DECODE(0, &row, 0x10, 6, 2, 0x76, 0), 0);
	assert_int_equal(row.kinds[SN_REG_RBP], SN_CFI_EXPRESSION);
	assert_int_equal(sn_cfi_expression_of(&row, SN_REG_RBP).length, 2);
	assert_int_equal(*(unsigned char *)sn_cfi_expression_of(&row, SN_REG_RBP).address, 0x76);
}

static void test_damaged(void **state)
{
	(void)state;
	struct sn_cfi_row row;
	assert_int_equal(DECODE(0, &row, 0x0b), -EINVAL);	   /* restore without remember */
	assert_int_equal(DECODE(0, &row, 0x3f), -EINVAL);	   /* no such instruction */
	assert_int_equal(DECODE(0, &row, 0x0e, 0x80), -EINVAL);	   /* ends inside a number */
	assert_int_equal(DECODE(0, &row, 0x0f, 9, 0x76), -EINVAL); /* ends inside an expression */
	assert_int_equal(DECODE(0, &row, 0x0d, 99), -EINVAL);	   /* CFA from a vector register */
	assert_int_equal(DECODE(0, &row, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a), -EINVAL);
	assert_int_equal(DECODE(256, &row, 0), -ENOENT);
	assert_int_equal(DECODE((uintptr_t)-1, &row, 0), -ENOENT);
}

/* ---- expressions ---- */

static bool compute(const unsigned char *bytes, uint32_t length, uint64_t *value)
{
	struct sn_registers registers = {.known = SN_KNOWN(SN_REG_RBP) | SN_KNOWN(SN_REG_RSP)};
	uintptr_t word = 77;
	struct sn_window window = {.start = 0};
	struct sn_stack stack = {
	    .low = (uintptr_t)&word, .high = (uintptr_t)(&word + 1), .window = &window};
	registers.value[SN_REG_RBP] = (uintptr_t)&word;
	registers.value[SN_REG_RSP] = 1000;
	struct sn_expression_input input = {.registers = &registers, .stack = &stack};
	struct sn_value result;
	bool good = sn_expression_evaluate((struct sn_cfi_expression){(uintptr_t)bytes, length},
					   &input, &result);
	*value = (uint64_t)result.offset;
	return good;
}

#define COMPUTE(value, ...)                                                                        \
	compute((const unsigned char[]){__VA_ARGS__},                                              \
		sizeof((const unsigned char[]){__VA_ARGS__}), value)

static void test_expressions(void **state)
{
	(void)state;
	uint64_t value;
	assert_true(COMPUTE(&value, 0x77, 8)); /* rsp + 8 */
	assert_int_equal(value, 1008);
	assert_true(COMPUTE(&value, 0x76, 0, 0x06)); /* the word at rbp */
	assert_int_equal(value, 77);
	assert_true(COMPUTE(&value, 0x35, 0x33, 0x1c)); /* 5 - 3 */
	assert_int_equal(value, 2);
	assert_true(COMPUTE(&value, 0x35, 0x33, 0x2a, 0x33, 0x24)); /* (5 >= 3) << 3 */
	assert_int_equal(value, 8);
	assert_true(COMPUTE(&value, 0x31, 0x32, 0x33, 0x17, 0x1c)); /* rot: 3 1 2, 1 - 2 */
	assert_int_equal(value, (uint64_t)-1);
	assert_true(COMPUTE(&value, 0x31, 0x28, 1, 0, 0x39, 0x34)); /* a branch over lit9 */
	assert_int_equal(value, 4);
	assert_true(COMPUTE(&value, 0x09, 0xff, 0x1f)); /* -(-1) */
	assert_int_equal(value, 1);
	assert_false(COMPUTE(&value, 0x73, 0));		 /* rbx is not known */
	assert_false(COMPUTE(&value, 0x22));		 /* nothing to add */
	assert_false(COMPUTE(&value, 0x31, 0x30, 0x1b)); /* 1 / 0 */
	assert_false(COMPUTE(&value, 0x31, 0x06));	 /* the word at 1 */
	assert_false(COMPUTE(&value, 0x2f, 0xfd, 0xff)); /* a loop */
	assert_false(COMPUTE(&value, 0x2f, 0x70, 0xff)); /* out of the expression */
	assert_false(COMPUTE(&value, 0xe0));		 /* no such operation */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_instructions),      cmocka_unit_test(test_damaged),
	    cmocka_unit_test(test_expressions),	      cmocka_unit_test(test_libraries),
	    cmocka_unit_test(test_library_of_choice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
