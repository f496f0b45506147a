/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines and inlined calls of AMD's code objects: ordinary DWARF, asked for every fourth byte of
 * code that can be reached, which is where instructions begin.
 */
#include "binary/dwarf/dwarf.h"
#include "gpu_private.h"

#include <stdlib.h>
#include <string.h>

/* Addresses asked for at once: bounds memory. */
#define BATCH 65536

struct asking {
	struct sn_gpu_binary *binary;
	struct sn_dwarf *dwarf;
	uint64_t *addresses;
	struct sn_symbol_location *locations;
	size_t count;
};

/* frames[0] is the function itself; each later one was inlined at the line of the one before. */
static void add_location(struct sn_gpu_binary *binary, uint64_t address,
			 const struct sn_symbol_location *location)
{
	struct sn_gpu_line line = {.start = address, .end = address + 4, .inlined = SN_GPU_NONE};
	if (location->depth == 0)
		return;
	for (uint32_t i = 1; i < location->depth; i++) {
		const struct sn_symbol_frame *call = &location->frames[i - 1], *frame = call + 1;
		line.inlined =
		    sn_gpu_add_inlined(binary, line.inlined, call->file, call->line,
				       frame->linkage_name ? frame->linkage_name : frame->name);
	}
	line.file = location->frames[location->depth - 1].file;
	line.line = location->frames[location->depth - 1].line;
	sn_gpu_add_line(binary, &line);
}

static void ask(struct asking *asking)
{
	struct sn_gpu_private *private = asking->binary->private;
	memset(asking->locations, 0, asking->count * sizeof(*asking->locations));
	private->failed |= sn_dwarf_resolve(asking->dwarf, asking->addresses, asking->count,
					    &private->pool, asking->locations) < 0;
	for (size_t i = 0; i < asking->count && !private->failed; i++)
		add_location(asking->binary, asking->addresses[i], &asking->locations[i]);
	asking->count = 0;
}

static void ask_all(struct asking *asking)
{
	const struct sn_gpu_binary *binary = asking->binary;
	for (uint32_t i = 0; i < binary->function_count && !binary->private->failed; i++) {
		const struct sn_flow_graph *flow = &binary->functions[i].flow;
		for (uint32_t j = 0; j < flow->block_count; j++) {
			for (uint64_t at = flow->blocks[j].start; at < flow->blocks[j].end;
			     at += 4) {
				asking->addresses[asking->count++] = at;
				if (asking->count == BATCH)
					ask(asking);
			}
		}
	}
	if (asking->count > 0)
		ask(asking);
}

int sn_code_object_lines(struct sn_gpu_binary *binary)
{
	struct sn_elf_file *file = binary->private->file;
	struct asking asking = {.binary = binary, .dwarf = sn_dwarf_open(file, NULL, file)};
	if (!asking.dwarf)
		return 0;
	asking.addresses = malloc(BATCH * sizeof(*asking.addresses));
	asking.locations = malloc(BATCH * sizeof(*asking.locations));
	int status = asking.addresses && asking.locations ? 0 : SN_ERR_MEMORY;
	if (status == 0)
		ask_all(&asking);
	free(asking.addresses);
	free(asking.locations);
	sn_dwarf_free(asking.dwarf);
	return status;
}
