/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints all that is read of a GPU binary, one item a line, for comparison with the vendors' tools:
 *   target sm_90
 *   function SYMBOL START END kernel|device KERNEL|- known|unknown
 *   block START END LAST
 *   edge FROM_START TO_START
 *   call ADDRESS SYMBOL|?
 *   loop DEPTH HEADER_START
 *   line START END FILE:LINE[ < FUNCTION@FILE:LINE]...   (innermost call first)
 * or, with -x FOLDER, unpacks the GPU binaries of a file into the folder:
 *   image TARGET OFFSET BYTES NAME
 * or, with -d ISA, decodes the first of each 16 bytes of a file as an instruction of AMD's:
 *   LENGTH FLOW TARGET
 */
#include "binary/gpu/bundle.h"
#include "binary/gpu/gpu_binary.h"
#include "binary/gpu/instruction.h"
#include "binary/structure/loop_forest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print_flow(const struct sn_gpu_binary *binary, const struct sn_gpu_function *function)
{
	const struct sn_flow_graph *flow = &function->flow;
	struct sn_loop_forest forest = {0};
	for (uint32_t i = 0; i < flow->block_count; i++)
		printf("block %#lx %#lx %#lx\n", flow->blocks[i].start, flow->blocks[i].end,
		       flow->blocks[i].last);
	for (uint32_t i = 0; i < flow->edge_count; i++)
		printf("edge %#lx %#lx\n", flow->blocks[flow->edges[i].from].start,
		       flow->blocks[flow->edges[i].to].start);
	for (uint32_t i = 0; i < function->call_count; i++)
		printf("%s %#lx %s\n", function->calls[i].is_tail ? "tail" : "call",
		       function->calls[i].address,
		       function->calls[i].function == SN_GPU_NONE
			   ? "?"
			   : binary->functions[function->calls[i].function].symbol);
	if (flow->block_count == 0)
		return 0;
	if (sn_loop_forest_build(&forest, flow) != 0)
		return 1;
	for (uint32_t i = 0; i < forest.loop_count; i++)
		printf("loop %u %#lx\n", forest.loops[i].depth,
		       flow->blocks[forest.loops[i].header].start);
	sn_loop_forest_release(&forest);
	return 0;
}

static void print_lines(const struct sn_gpu_binary *binary)
{
	for (uint32_t i = 0; i < binary->line_count; i++) {
		const struct sn_gpu_line *line = &binary->lines[i];
		printf("line %#lx %#lx %s:%u", line->start, line->end,
		       line->file ? line->file : "?", line->line);
		for (uint32_t j = line->inlined; j != SN_GPU_NONE; j = binary->inlined[j].parent)
			printf(" < %s@%s:%u",
			       binary->inlined[j].function ? binary->inlined[j].function : "?",
			       binary->inlined[j].call_file ? binary->inlined[j].call_file : "?",
			       binary->inlined[j].call_line);
		printf("\n");
	}
}

static int unpack(const char *path, const char *folder)
{
	struct sn_gpu_bundle bundle;
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = malloc(256 << 20);
	size_t size = file && bytes ? fread(bytes, 1, 256 << 20, file) : 0;
	int status = sn_gpu_bundle_read((struct sn_bytes){bytes, size}, &bundle);
	for (size_t i = 0; i < bundle.count && status == 0; i++) {
		char name[4096];
		snprintf(name, sizeof(name), "%s/%zu.%s.elf", folder, i, bundle.images[i].target);
		FILE *image = fopen(name, "wb");
		if (!image)
			return 128;
		fwrite(bundle.images[i].bytes.data, 1, bundle.images[i].bytes.size, image);
		fclose(image);
		printf("image %s %#lx %zu %s\n", bundle.images[i].target, bundle.images[i].offset,
		       bundle.images[i].bytes.size, name);
	}
	printf("skipped %zu\n", bundle.skipped);
	sn_gpu_bundle_release(&bundle);
	free(bytes);
	if (file)
		fclose(file);
	return status;
}

static int decode(const char *path, enum sn_gcn_isa isa)
{
	static const char *const flows[] = {[SN_GPU_NEXT] = "next",
					    [SN_GPU_BRANCH] = "branch",
					    [SN_GPU_CALL] = "call",
					    [SN_GPU_RETURN] = "return",
					    [SN_GPU_EXIT] = "exit"};
	uint8_t bytes[16];
	FILE *file = fopen(path, "rb");
	while (file && fread(bytes, 1, sizeof(bytes), file) == sizeof(bytes)) {
		struct sn_gpu_instruction instruction;
		if (sn_gcn_decode(bytes, sizeof(bytes), isa, 0, &instruction))
			printf("%u %s %#lx\n", instruction.length, flows[instruction.flow],
			       instruction.target);
		else
			printf("0 none 0\n");
	}
	if (!file)
		return 128;
	fclose(file);
	return 0;
}

int main(int argc, char **argv)
{
	struct sn_error error = {""};
	struct sn_elf_file *file;
	struct sn_gpu_binary *binary;
	int status = 0;
	if (argc == 4 && strcmp(argv[1], "-x") == 0)
		return unpack(argv[3], argv[2]);
	if (argc == 4 && strcmp(argv[1], "-d") == 0)
		return decode(argv[3], (enum sn_gcn_isa)atoi(argv[2]));
	if (argc != 2)
		return 129;
	if (sn_elf_file_open(argv[1], &file, &error) != 0) {
		fprintf(stderr, "%s\n", error.text);
		return 128;
	}
	if (sn_gpu_binary_read(file, &binary, &error) != 0 ||
	    sn_gpu_binary_read_lines(binary) != 0) {
		fprintf(stderr, "%s\n", error.text);
		sn_elf_file_free(file);
		return 128;
	}
	printf("target %s\n", binary->target);
	for (uint32_t i = 0; i < binary->function_count; i++) {
		const struct sn_gpu_function *function = &binary->functions[i];
		printf("function %s %#lx %#lx %s %s %s\n", function->symbol, function->start,
		       function->end, function->is_kernel ? "kernel" : "device",
		       function->kernel == SN_GPU_NONE ? "-"
						       : binary->functions[function->kernel].symbol,
		       function->has_unknown_jump ? "unknown" : "known");
		status |= print_flow(binary, function);
	}
	print_lines(binary);
	sn_gpu_binary_free(binary);
	sn_elf_file_free(file);
	return status;
}
