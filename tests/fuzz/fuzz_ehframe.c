/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as a module's .eh_frame_hdr and .eh_frame, as one FDE, and as an expression. The
 * bytes lie in a block of their own size, so that a read beyond them is caught; expressions run
 * with registers that point into it.
 */
#include "unwind/cfi.h"
#include "unwind/expression.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sn_window window;

static void evaluate(struct sn_cfi_expression expression, unsigned char *block, size_t size)
{
	struct sn_registers registers = {.known = 0xffff};
	struct sn_stack stack = {(uintptr_t)block, (uintptr_t)block + size, &window};
	uintptr_t cfa = (uintptr_t)block;
	struct sn_value value;
	for (unsigned number = 0; number < SN_REG_COUNT; number++)
		registers.value[number] = (uintptr_t)block + 8 * number;
	window.bytes = 0;
	struct sn_expression_input numbers = {
	    .registers = &registers, .stack = &stack, .cfa = &cfa};
	sn_expression_evaluate(expression, &numbers, &value);
	struct sn_expression_input forms = {.pc = 0x1234};
	sn_expression_evaluate(expression, &forms, &value);
}

static void use_row(const struct sn_cfi_row *row, unsigned char *block, size_t size)
{
	if (row->cfa_is_expression)
		evaluate(row->cfa_expression, block, size);
	else if (row->cfa_register >= SN_REG_COUNT)
		abort();
	for (unsigned number = 0; number < SN_REG_COUNT; number++)
		if (row->kinds[number] == SN_CFI_EXPRESSION ||
		    row->kinds[number] == SN_CFI_VALUE_EXPRESSION)
			evaluate(sn_cfi_expression_of(row, number), block, size);
}

static void find(unsigned char *block, size_t size)
{
	struct sn_cfi_row row;
	struct sn_module module = {.eh_frame_hdr = block,
				   .readable = {{(uintptr_t)block, (uintptr_t)block + size}},
				   .readable_count = 1,
				   .is_permanent = true}; /* read in place, where it is checked */
	/* functions that the table names, and the places around it */
	for (size_t place = 0; place < 64; place++) {
		int32_t start = 0;
		if (12 + 8 * place + 4 <= size)
			memcpy(&start, block + 12 + 8 * place, 4);
		uintptr_t pc = (uintptr_t)block + (uintptr_t)(intptr_t)start + place % 7;
		if (!sn_cfi_find(&module, pc, &row))
			use_row(&row, block, size);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sn_cfi_row row;
	if (size < 2)
		return 0;
	unsigned char *block = malloc(size);
	memcpy(block, data, size);
	evaluate((struct sn_cfi_expression){(uintptr_t)block, (uint32_t)size}, block, size);
	find(block, size);
	for (size_t at = 0; at < size && at < 256; at += 4)
		for (uintptr_t offset = 0; offset < 4096; offset += 256)
			if (!sn_cfi_decode(block, block + size, block + at,
					   (uintptr_t)block + at + offset, &row))
				use_row(&row, block, size);
	free(block);
	return 0;
}
