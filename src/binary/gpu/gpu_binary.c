/* SPDX-License-Identifier: Apache-2.0 */
/* GPU binaries of both vendors; see gpu_binary.h. Who owns which code is decided here. */
#include "gpu_binary.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "base/vec.h"
#include "gpu_private.h"

#include <string.h>

#define MACHINE_CUDA   190
#define MACHINE_AMDGPU 224

bool sn_gpu_is_binary(const struct sn_elf_file *file)
{
	return file->machine == MACHINE_CUDA || file->machine == MACHINE_AMDGPU;
}

void sn_gpu_add_section(struct sn_gpu_binary *binary, uint64_t start, struct sn_bytes code,
			uint32_t index)
{
	struct sn_gpu_private *private = binary->private;
	if (code.size > 0 && start + code.size > start)
	private->failed |=
	    sn_vec_push(&private->sections, &private->section_capacity, &private->section_count,
			(struct sn_gpu_section){start, code, index}) < 0;
}

/* $kernel$function and $__internal_0_$function: what the compiler put in front of names that it
 * made local. */
static const char *plain_name(const char *symbol)
{
	const char *second = symbol[0] == '$' ? strchr(symbol + 1, '$') : NULL;
	return second && second[1] ? second + 1 : symbol;
}

void sn_gpu_add_function(struct sn_gpu_binary *binary, const char *symbol, uint64_t start,
			 uint64_t base, bool is_kernel)
{
	struct sn_gpu_private *private = binary->private;
	const char *kept = sn_string_pool_string(&private->pool, symbol);
	private->failed |=
	    !kept || binary->function_count >= UINT32_MAX / 2 ||
	    sn_vec_push(&binary->functions, &private->function_capacity, &binary->function_count,
			(struct sn_gpu_function){.symbol = kept,
						 .name = plain_name(kept),
						 .start = start,
						 .base = base,
						 .kernel = SN_GPU_NONE,
						 .is_kernel = is_kernel}) < 0;
}

SN_SORT_BY(sort_by_section_start, struct sn_gpu_section, const void *,
	   SN_ORDER_BY(a, b, start, index));

/* Of sections that overlap, as only damaged files have them, the first stays. */
static void sort_sections(struct sn_gpu_private *private)
{
	uint64_t end = 0;
	size_t kept = 0;
	sort_by_section_start(private->sections, private->section_count, NULL);
	for (size_t i = 0; i < private->section_count; i++) {
		struct sn_gpu_section section = private->sections[i];
		if (kept > 0 && section.start < end)
			continue;
		end = section.start + section.code.size;
		private->sections[kept++] = section;
	}
	private->section_count = kept;
}

const struct sn_gpu_section *sn_gpu_section_at(const struct sn_gpu_binary *binary, uint64_t address)
{
	const struct sn_gpu_private *private = binary->private;
	size_t next = sn_search(i, private->section_count, private->sections[i].start <= address);
	if (next == 0)
		return NULL;
	const struct sn_gpu_section *section = &private->sections[next - 1];
	return address - section->start < section->code.size ? section : NULL;
}

/* Aliases: kernels before device functions, then by name, so that the order is always one. */
SN_SORT_BY(sort_by_function_start, struct sn_gpu_function, const void *,
	   SN_ORDER(a->start, b->start)
	       ?: SN_ORDER(b->is_kernel, a->is_kernel)
	       ?: strcmp(a->symbol, b->symbol));

/* Leaves one function of those that begin at the same place, and none outside code. */
static void sort_functions(struct sn_gpu_binary *binary)
{
	uint32_t kept = 0;
	sort_by_function_start(binary->functions, binary->function_count, NULL);
	for (uint32_t i = 0; i < binary->function_count; i++) {
		struct sn_gpu_function *function = &binary->functions[i];
		if (kept > 0 && binary->functions[kept - 1].start == function->start)
			continue;
		if (!sn_gpu_section_at(binary, function->start))
			continue;
		binary->functions[kept++] = *function;
	}
	binary->function_count = kept;
}

/*
 * Each function owns the code from its start to the next one's: in NVIDIA's cubins the symbols of
 * a section leave no gaps, and what AMD's compiler leaves between two functions is padding.
 */
static void find_ends(struct sn_gpu_binary *binary)
{
	const struct sn_gpu_section *previous = NULL;
	uint32_t kernel = SN_GPU_NONE;
	for (uint32_t i = 0; i < binary->function_count; i++) {
		struct sn_gpu_function *function = &binary->functions[i];
		const struct sn_gpu_section *section = sn_gpu_section_at(binary, function->start);
		function->end = section->start + section->code.size;
		if (i + 1 < binary->function_count &&
		    binary->functions[i + 1].start < function->end)
			function->end = binary->functions[i + 1].start;
		if (section != previous)
			kernel = SN_GPU_NONE;
		previous = section;
		if (function->start == section->start)
			kernel = i;
		else if (binary->vendor == SN_GPU_NVIDIA)
			function->kernel = kernel;
	}
}

SN_SORT_BY(sort_by_jump, struct sn_gpu_jump, const void *, SN_ORDER_BY(a, b, from, to));

SN_SORT_BY(sort_by_relocation, struct sn_gpu_relocation, const void *,
	   SN_ORDER_BY(a, b, at, value));

static int read_all(struct sn_gpu_binary *binary, struct sn_error *error)
{
	struct sn_gpu_private *private = binary->private;
	int status = private->file->machine == MACHINE_CUDA ? sn_cubin_read(binary, error)
							    : sn_code_object_read(binary, error);
	if (status != 0 || private->failed)
		return status ? status : SN_ERR_MEMORY;
	sort_sections(private);
	sort_functions(binary);
	sort_by_jump(private->jumps, private->jump_count, NULL);
	sort_by_relocation(private->relocations, private->relocation_count, NULL);
	find_ends(binary);
	sn_gpu_build_flow(binary);
	return private->failed ? SN_ERR_MEMORY : 0;
}

int sn_gpu_binary_read(struct sn_elf_file *file, struct sn_gpu_binary **out, struct sn_error *error)
{
	if (!sn_gpu_is_binary(file))
		return sn_fail(error, SN_ERR_FORMAT, "not a GPU binary");
	struct sn_gpu_binary *binary = calloc(1, sizeof(*binary));
	struct sn_gpu_private *private = calloc(1, sizeof(*private));
	if (!binary || !private) {
		free(binary);
		free(private);
		return sn_fail_memory(error);
	}
	binary->private = private;
	private->file = file;
	int status = read_all(binary, error);
	if (status != 0) {
		sn_gpu_binary_free(binary);
		return sn_fail_code(error, status);
	}
	*out = binary;
	return 0;
}

void sn_gpu_binary_free(struct sn_gpu_binary *binary)
{
	if (!binary)
		return;
	struct sn_gpu_private *private = binary->private;
	sn_string_pool_release(&private->pool);
	free(private->sections);
	free(private->jumps);
	free(private->relocations);
	sn_intern_release(&private->inlined);
	free(private);
	free(binary->functions);
	free(binary->lines);
	free(binary);
}

void sn_gpu_add_line(struct sn_gpu_binary *binary, const struct sn_gpu_line *line)
{
	struct sn_gpu_private *private = binary->private;
	struct sn_gpu_line *last =
	    binary->line_count > 0 ? &binary->lines[binary->line_count - 1] : NULL;
	if (line->start >= line->end)
		return;
	if (last && last->end == line->start && last->file == line->file &&
	    last->line == line->line && last->inlined == line->inlined)
		last->end = line->end;
	else
	private->failed |=
	    binary->line_count >= UINT32_MAX / 2 ||
	    sn_vec_push(&binary->lines, &private->line_capacity, &binary->line_count, *line) < 0;
}

uint32_t sn_gpu_add_inlined(struct sn_gpu_binary *binary, uint32_t parent, const char *call_file,
			    uint32_t call_line, const char *function)
{
	struct sn_gpu_inlined key = {parent, call_line, call_file, function};
	_Static_assert(sizeof(key) == 24, "without padding: it is interned by its bytes");
	uint32_t number = sn_intern_add(&binary->private->inlined, &key, sizeof(key));
	binary->private->failed |= number == SN_INTERN_NONE;
	return number;
}

SN_SORT_BY(sort_by_line_start, struct sn_gpu_line, const void *,
	   SN_ORDER_BY(a, b, start, end, line));

/* Two sequences of one function (which only damaged files have): the first keeps its code. */
static void make_disjoint(struct sn_gpu_binary *binary)
{
	uint64_t end = 0;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < binary->line_count; i++) {
		struct sn_gpu_line line = binary->lines[i];
		if (line.start < end)
			line.start = end;
		if (line.start >= line.end)
			continue;
		end = line.end;
		binary->lines[kept++] = line;
	}
	binary->line_count = kept;
}

int sn_gpu_binary_read_lines(struct sn_gpu_binary *binary)
{
	int status =
	    binary->vendor == SN_GPU_NVIDIA ? sn_cubin_lines(binary) : sn_code_object_lines(binary);
	if (status != 0 || binary->private->failed)
		return SN_ERR_MEMORY;
	/* all of one size, they lie as an array */
	binary->inlined = (struct sn_gpu_inlined *)binary->private->inlined.bytes;
	binary->inlined_count = binary->private->inlined.count;
	sort_by_line_start(binary->lines, binary->line_count, NULL);
	make_disjoint(binary);
	return 0;
}

uint32_t sn_gpu_binary_function_at(const struct sn_gpu_binary *binary, uint64_t address)
{
	uint32_t next = sn_search(i, binary->function_count, binary->functions[i].start <= address);
	if (next == 0 || address >= binary->functions[next - 1].end)
		return SN_GPU_NONE;
	return next - 1;
}

uint32_t sn_gpu_binary_find(const struct sn_gpu_binary *binary, const char *name)
{
	for (uint32_t i = 0; i < binary->function_count; i++)
		if (strcmp(binary->functions[i].symbol, name) == 0)
			return i;
	for (uint32_t i = 0; i < binary->function_count; i++)
		if (strcmp(binary->functions[i].name, name) == 0)
			return i;
	return SN_GPU_NONE;
}
