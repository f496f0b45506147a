/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines and inlined calls of AMD's code objects: ordinary DWARF, asked for every fourth byte of
 * code that can be reached, which is where instructions begin.
 */
#include "base/intern.h"
#include "base/vec.h"
#include "binary/dwarf/dwarf.h"
#include "gpu_private.h"

#include <string.h>

/* Addresses asked for at once: bounds memory. */
#define BATCH 65536

struct asking {
	struct sn_gpu_binary *binary;
	struct sn_dwarf *dwarf;
	struct sn_intern inlined; /* struct sn_gpu_inlined */
	uint64_t *addresses;
	struct sn_symbol_location *locations;
	size_t count;
};

/* frames[0] is the function itself; each later one was inlined at the line of the one before. */
static int add_location(struct asking *asking, uint64_t address,
			const struct sn_symbol_location *location)
{
	struct sn_gpu_line line = {.start = address, .end = address + 4, .inlined = SN_GPU_NONE};
	if (location->depth == 0)
		return 0;
	for (uint32_t i = 1; i < location->depth; i++) {
		const struct sn_symbol_frame *call = &location->frames[i - 1];
		const struct sn_symbol_frame *frame = &location->frames[i];
		struct sn_gpu_inlined key;
		memset(&key, 0, sizeof(key));
		key.parent = line.inlined;
		key.call_line = call->line;
		key.call_file = call->file;
		key.function = frame->linkage_name ? frame->linkage_name : frame->name;
		line.inlined = sn_intern_add(&asking->inlined, &key, sizeof(key));
		if (line.inlined == SN_INTERN_NONE)
			return SN_ERR_MEMORY;
	}
	line.file = location->frames[location->depth - 1].file;
	line.line = location->frames[location->depth - 1].line;
	return sn_gpu_add_line(asking->binary, &line);
}

static int ask(struct asking *asking)
{
	memset(asking->locations, 0, asking->count * sizeof(*asking->locations));
	int status = sn_dwarf_resolve(asking->dwarf, asking->addresses, asking->count,
				      &asking->binary->private->pool, asking->locations);
	for (size_t i = 0; i < asking->count && status == 0; i++)
		status = add_location(asking, asking->addresses[i], &asking->locations[i]);
	asking->count = 0;
	return status;
}

static int ask_all(struct asking *asking)
{
	struct sn_gpu_binary *binary = asking->binary;
	int status = 0;
	for (uint32_t i = 0; i < binary->function_count && status == 0; i++) {
		const struct sn_flow_graph *flow = &binary->functions[i].flow;
		for (uint32_t j = 0; j < flow->block_count; j++) {
			for (uint64_t at = flow->blocks[j].start;
			     at < flow->blocks[j].end && status == 0; at += 4) {
				asking->addresses[asking->count++] = at;
				if (asking->count == BATCH)
					status = ask(asking);
			}
		}
	}
	return status != 0 || asking->count == 0 ? status : ask(asking);
}

static int take_inlined(struct asking *asking)
{
	struct sn_gpu_binary *binary = asking->binary;
	uint32_t count = asking->inlined.count;
	binary->inlined = calloc((size_t)count + 1, sizeof(*binary->inlined));
	if (!binary->inlined)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		memcpy(&binary->inlined[i], sn_intern_at(&asking->inlined, i, NULL),
		       sizeof(*binary->inlined));
	binary->inlined_count = count;
	return 0;
}

int sn_code_object_lines(struct sn_gpu_binary *binary)
{
	struct sn_elf_file *file = binary->private->file;
	struct asking asking = {.binary = binary, .dwarf = sn_dwarf_open(file, NULL, file)};
	if (!asking.dwarf)
		return 0;
	sn_intern_init(&asking.inlined);
	asking.addresses = malloc(BATCH * sizeof(*asking.addresses));
	asking.locations = malloc(BATCH * sizeof(*asking.locations));
	int status = asking.addresses && asking.locations ? ask_all(&asking) : SN_ERR_MEMORY;
	if (status == 0)
		status = take_inlined(&asking);
	sn_intern_release(&asking.inlined);
	free(asking.addresses);
	free(asking.locations);
	sn_dwarf_free(asking.dwarf);
	return status;
}
