/* SPDX-License-Identifier: Apache-2.0 */
/* See perf_unwind.h. */
#include "perf_unwind.h"

#include <string.h>

/* DWARF numbers of registers, by the kernel's numbers (asm/perf_regs.h). */
static const uint8_t dwarf_numbers[] = {
    [0] = SN_REG_RAX,  [1] = SN_REG_RBX,  [2] = SN_REG_RCX,  [3] = SN_REG_RDX,	[4] = SN_REG_RSI,
    [5] = SN_REG_RDI,  [6] = SN_REG_RBP,  [7] = SN_REG_RSP,  [8] = SN_REG_RIP,	[16] = SN_REG_R8,
    [17] = SN_REG_R9,  [18] = SN_REG_R10, [19] = SN_REG_R11, [20] = SN_REG_R12, [21] = SN_REG_R13,
    [22] = SN_REG_R14, [23] = SN_REG_R15,
};
#define IS_KEPT(number) ((number) <= 8 || ((number) >= 16 && (number) <= 23))

static bool read_registers(const struct sn_perf_sample *sample, uint64_t mask,
			   struct sn_registers *registers)
{
	const unsigned char *at = sample->registers;
	registers->known = 0;
	for (unsigned number = 0; number < 64; number++) {
		if (!(mask >> number & 1))
			continue;
		if (number < sizeof(dwarf_numbers) && IS_KEPT(number)) {
			memcpy(&registers->value[dwarf_numbers[number]], at, 8);
			registers->known |= SN_KNOWN(dwarf_numbers[number]);
		}
		at += 8;
	}
	uint32_t needed = SN_KNOWN(SN_REG_PC) | SN_KNOWN(SN_REG_SP);
	return (registers->known & needed) == needed;
}

struct place {
	struct sn_perf_space *space;
	uint32_t pid;
	struct sn_perf_moment when;
};

static bool find(void *context, uint64_t address, const struct sn_module **module,
		 uintptr_t *inside)
{
	const struct place *place = context;
	const struct sn_perf_change *mapping =
	    sn_perf_space_mapping(place->space, place->pid, place->when, address);
	struct sn_perf_object *object = mapping ? place->space->objects + mapping->object : NULL;
	const struct sn_recorded_image *image = object ? sn_perf_object_image(object) : NULL;
	*module = image ? &image->module : NULL;
	if (image)
		*inside =
		    image->module.bias +
		    sn_elf_code_address(&object->code, address - mapping->start + mapping->offset);
	return mapping;
}

enum sn_recorded_end sn_perf_unwind(struct sn_perf_space *space,
				    const struct sn_perf_sample *sample, uint64_t mask,
				    struct sn_perf_moment when, struct sn_recorded_frame *frames,
				    size_t max, size_t *count)
{
	struct place place = {space, sample->pid, when};
	struct sn_registers registers;
	*count = 0;
	if (!sample->registers || !read_registers(sample, mask, &registers))
		return SN_RECORDED_CUT;
	return sn_recorded_unwind(&(struct sn_recorded_stack){&registers, sample->stack.data,
							      sample->stack.size, find, &place,
							      NULL},
				  frames, max, count);
}
