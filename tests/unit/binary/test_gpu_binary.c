/* SPDX-License-Identifier: Apache-2.0 */
/* GPU binaries with known contents (gpu_fixture.h), whole and damaged. */
#include "base/search.h"
#include "binary/gpu/bundle.h"
#include "binary/gpu/gpu_binary.h"
#include "binary/gpu/instruction.h"
#include "binary/structure/loop_forest.h"
#include "../gpu_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct opened {
	struct sn_elf_file *file;
	struct sn_gpu_binary *binary;
};

static struct opened open_image(uint8_t *image, size_t bytes)
{
	struct opened opened = {0};
	struct sn_error error = {""};
	if (sn_elf_file_from_memory(image, bytes, true, &opened.file, &error) != 0 ||
	    sn_gpu_binary_read(opened.file, &opened.binary, &error) != 0)
		fail_msg("%s", error.text);
	assert_int_equal(sn_gpu_binary_read_lines(opened.binary), 0);
	return opened;
}

static void close_image(struct opened *opened)
{
	sn_gpu_binary_free(opened->binary);
	sn_elf_file_free(opened->file);
}

static void check_blocks(const struct sn_gpu_function *function, const uint64_t *bounds,
			 uint32_t count)
{
	assert_int_equal(function->flow.block_count, count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(function->flow.blocks[i].start, function->base + bounds[i]);
		assert_int_equal(function->flow.blocks[i].end, function->base + bounds[i + 1]);
	}
}

static bool has_edge(const struct sn_gpu_function *function, uint64_t from, uint64_t to)
{
	const struct sn_flow_graph *flow = &function->flow;
	for (uint32_t i = 0; i < flow->edge_count; i++)
		if (flow->blocks[flow->edges[i].from].start == function->base + from &&
		    flow->blocks[flow->edges[i].to].start == function->base + to)
			return true;
	return false;
}

static void check_edges(const struct sn_gpu_function *function, const uint64_t (*edges)[2],
			uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (!has_edge(function, edges[i][0], edges[i][1]))
			fail_msg("no edge from %#lx to %#lx", edges[i][0], edges[i][1]);
	assert_int_equal(function->flow.edge_count, count);
}

static void check_cubin(unsigned compute_capability)
{
	size_t bytes;
	uint8_t *image = gpu_fixture_cubin(compute_capability, &bytes);
	struct opened opened = open_image(image, bytes);
	const struct sn_gpu_binary *binary = opened.binary;
	assert_int_equal(binary->architecture, compute_capability);
	assert_int_equal(binary->function_count, 3);
	const struct sn_gpu_function *outer = &binary->functions[0];
	const struct sn_gpu_function *helper = outer + 1, *second = outer + 2;
	assert_string_equal(outer->name, "outer");
	assert_string_equal(helper->name, "helper");
	assert_string_equal(helper->symbol, "$outer$helper");
	assert_string_equal(second->name, "second");
	assert_true(outer->is_kernel && !helper->is_kernel && second->is_kernel);
	assert_int_equal(helper->kernel, 0);
	assert_int_equal(second->kernel, SN_GPU_NONE);
	assert_int_equal(outer->start, GPU_FIXTURE_OUTER);
	assert_int_equal(outer->end, GPU_FIXTURE_OUTER + 0x90);
	assert_int_equal(helper->start, GPU_FIXTURE_OUTER + 0x90);
	assert_int_equal(second->start, GPU_FIXTURE_SECOND);
	assert_int_equal(binary->functions[1].base + 0xa0, GPU_FIXTURE_OUTER + 0xa0);
	assert_int_equal(sn_gpu_binary_function_at(binary, GPU_FIXTURE_OUTER + 0x8f), 0);
	assert_int_equal(sn_gpu_binary_function_at(binary, GPU_FIXTURE_OUTER + 0x90), 1);
	assert_int_equal(sn_gpu_binary_function_at(binary, GPU_FIXTURE_SECOND + 0x60), SN_GPU_NONE);
	assert_int_equal(sn_gpu_binary_find(binary, "helper"), 1);

	check_blocks(outer, (uint64_t[]){0, 0x10, 0x20, 0x40, 0x50, 0x60, 0x70, 0x80, 0x90}, 8);
	static const uint64_t outer_edges[][2] = {{0, 0x10},	{0x10, 0x20}, {0x20, 0x20},
						  {0x20, 0x40}, {0x40, 0x50}, {0x50, 0x10},
						  {0x50, 0x60}, {0x60, 0x70}, {0x60, 0x80}};
	check_edges(outer, outer_edges, 9);
	check_blocks(helper, (uint64_t[]){0x90, 0xb0, 0xc0}, 2);
	static const uint64_t helper_edges[][2] = {{0x90, 0xb0}, {0xb0, 0x90}};
	check_edges(helper, helper_edges, 2);
	check_blocks(second, (uint64_t[]){0, 0x20, 0x30, 0x40, 0x50, 0x60}, 5);
	static const uint64_t second_edges[][2] = {
	    {0, 0x20}, {0, 0x30}, {0x20, 0x30}, {0x30, 0x40}, {0x40, 0x50}};
	check_edges(second, second_edges, 5);

	assert_int_equal(outer->call_count, 1);
	assert_int_equal(outer->calls[0].address, GPU_FIXTURE_OUTER + 0x40);
	assert_int_equal(outer->calls[0].function, 1);
	assert_int_equal(second->call_count, 1);
	assert_int_equal(second->calls[0].function, 1);
	close_image(&opened);
}

static void cubins_of_all_encodings(void **state)
{
	check_cubin(70);
	check_cubin(75);
	check_cubin(89);
	check_cubin(90);
	check_cubin(100);
	check_cubin(121);
}

static void loops_of_a_cubin(void **state)
{
	size_t bytes;
	uint8_t *image = gpu_fixture_cubin(90, &bytes);
	struct opened opened = open_image(image, bytes);
	const struct sn_flow_graph *flow = &opened.binary->functions[0].flow;
	struct sn_loop_forest forest = {0};
	assert_int_equal(sn_loop_forest_build(&forest, flow), 0);
	assert_int_equal(forest.loop_count, 2);
	assert_int_equal(flow->blocks[forest.loops[0].header].start, GPU_FIXTURE_OUTER + 0x10);
	assert_int_equal(flow->blocks[forest.loops[1].header].start, GPU_FIXTURE_OUTER + 0x20);
	assert_int_equal(forest.loops[1].parent, 0);
	sn_loop_forest_release(&forest);
	close_image(&opened);
}

/* The line of an address, or NULL. */
static const struct sn_gpu_line *line_at(const struct sn_gpu_binary *binary, uint64_t address)
{
	uint32_t next = sn_search(i, binary->line_count, binary->lines[i].start <= address);
	if (next == 0 || address >= binary->lines[next - 1].end)
		return NULL;
	return &binary->lines[next - 1];
}

static void check_line(const struct sn_gpu_binary *binary, uint64_t offset, const char *file,
		       uint32_t line)
{
	const struct sn_gpu_line *found = line_at(binary, GPU_FIXTURE_OUTER + offset);
	assert_non_null(found);
	assert_string_equal(found->file, file);
	assert_int_equal(found->line, line);
}

static void lines_and_inlined_calls_of_a_cubin(void **state)
{
	size_t bytes;
	uint8_t *image = gpu_fixture_cubin(80, &bytes);
	struct opened opened = open_image(image, bytes);
	const struct sn_gpu_binary *binary = opened.binary;
	static const uint8_t expected[] = {10, 11, 0, 12, 13, 11, 15, 15, 16, 30, 31, 32};
	for (unsigned i = 0; i < sizeof(expected); i++)
		if (expected[i])
			check_line(binary, i * 0x10, "/src/kernel.cu", expected[i]);
	check_line(binary, 0x20, "/src/square.h", 21);
	assert_null(line_at(binary, GPU_FIXTURE_OUTER + 0xc0));
	assert_null(line_at(binary, GPU_FIXTURE_SECOND));
	assert_int_equal(binary->inlined_count, 1);
	uint32_t inlined = line_at(binary, GPU_FIXTURE_OUTER + 0x20)->inlined;
	assert_int_equal(inlined, 0);
	assert_string_equal(binary->inlined[0].function, "square");
	assert_string_equal(binary->inlined[0].call_file, "/src/kernel.cu");
	assert_int_equal(binary->inlined[0].call_line, 12);
	assert_int_equal(binary->inlined[0].parent, SN_GPU_NONE);
	assert_int_equal(line_at(binary, GPU_FIXTURE_OUTER + 0x30)->inlined, SN_GPU_NONE);
	close_image(&opened);
}

static void check_code_object(unsigned isa, uint64_t long_bytes)
{
	size_t bytes;
	uint8_t *image = gpu_fixture_code_object(isa, &bytes);
	struct opened opened = open_image(image, bytes);
	const struct sn_gpu_binary *binary = opened.binary;
	assert_int_equal(binary->architecture, isa);
	assert_int_equal(binary->function_count, 2);
	const struct sn_gpu_function *helper = &binary->functions[0], *kernel = helper + 1;
	assert_true(kernel->is_kernel && !helper->is_kernel);
	check_blocks(helper, (uint64_t[]){GPU_FIXTURE_AMD_TEXT, GPU_FIXTURE_AMD_TEXT + 8}, 1);
	uint64_t start = GPU_FIXTURE_AMD_KERNEL;
	uint64_t call = start + long_bytes + 8 + 4 + 8 + 4;
	check_blocks(kernel, (uint64_t[]){start, call, call + 8, call + 12}, 3);
	const uint64_t edges[][2] = {{start, call}, {call, call}, {call, call + 8}};
	check_edges(kernel, edges, 3);
	assert_int_equal(kernel->call_count, 1);
	assert_int_equal(kernel->calls[0].address, call);
	assert_int_equal(kernel->calls[0].function, 0);
	close_image(&opened);
}

static void code_objects_of_all_generations(void **state)
{
	check_code_object(9, 8);
	check_code_object(10, 16);
	check_code_object(11, 12);
	check_code_object(12, 12);
}

static void too_old_or_unknown(void **state)
{
	size_t bytes;
	struct sn_error error = {""};
	struct sn_elf_file *file;
	struct sn_gpu_binary *binary;
	uint8_t *image = gpu_fixture_cubin(61, &bytes);
	assert_int_equal(sn_elf_file_from_memory(image, bytes, true, &file, &error), 0);
	assert_int_equal(sn_gpu_binary_read(file, &binary, &error), SN_ERR_UNSUPPORTED);
	assert_string_equal(error.text, "code for sm_61: sm_70 is the oldest that is read");
	sn_elf_file_free(file);
	image = gpu_fixture_code_object(9, &bytes);
	image[48] = 0x20; /* gfx600 */
	assert_int_equal(sn_elf_file_from_memory(image, bytes, true, &file, &error), 0);
	assert_int_equal(sn_gpu_binary_read(file, &binary, &error), SN_ERR_UNSUPPORTED);
	sn_elf_file_free(file);
}

static void images_of_a_fatbin(void **state)
{
	size_t bytes;
	struct sn_gpu_bundle bundle;
	uint8_t *image = gpu_fixture_fatbin(86, &bytes);
	assert_true(sn_gpu_is_bundle((struct sn_bytes){image, bytes}));
	assert_int_equal(sn_gpu_bundle_read((struct sn_bytes){image, bytes}, &bundle), 0);
	assert_int_equal(bundle.count, 1);
	assert_string_equal(bundle.images[0].target, "sm_86");
	assert_int_equal(bundle.images[0].offset, 80);
	assert_int_equal(bundle.images[0].bytes.size, bytes - 80);
	assert_memory_equal(bundle.images[0].bytes.data, image + 80, bytes - 80);
	sn_gpu_bundle_release(&bundle);
	free(image);
}

static void images_of_an_offload_bundle(void **state)
{
	size_t bytes;
	struct sn_gpu_bundle bundle;
	uint8_t *image = gpu_fixture_bundle(&bytes);
	assert_int_equal(sn_gpu_bundle_read((struct sn_bytes){image, bytes}, &bundle), 0);
	assert_int_equal(bundle.count, 2);
	assert_string_equal(bundle.images[0].target, "gfx90a:xnack-");
	assert_string_equal(bundle.images[1].target, "gfx1100");
	assert_int_equal(bundle.images[0].offset, 512);
	sn_gpu_bundle_release(&bundle);
	free(image);
}

/* Whatever happens, without a crash: the sanitizers and valgrind look on. */
static void read_damaged(const uint8_t *image, size_t bytes)
{
	struct sn_elf_file *file;
	struct sn_gpu_binary *binary;
	struct sn_gpu_bundle bundle;
	uint8_t *copy = malloc(bytes + 1);
	assert_non_null(copy);
	memcpy(copy, image, bytes);
	assert_int_equal(sn_gpu_bundle_read((struct sn_bytes){copy, bytes}, &bundle), 0);
	sn_gpu_bundle_release(&bundle);
	if (sn_elf_file_from_memory(copy, bytes, true, &file, NULL) != 0)
		return;
	if (sn_gpu_is_binary(file) && sn_gpu_binary_read(file, &binary, NULL) == 0) {
		assert_int_equal(sn_gpu_binary_read_lines(binary), 0);
		sn_gpu_binary_free(binary);
	}
	sn_elf_file_free(file);
}

static void damage(uint8_t *image, size_t bytes)
{
	uint32_t random = 12345;
	for (size_t cut = 0; cut < bytes; cut += 7)
		read_damaged(image, cut);
	for (unsigned round = 0; round < 4000; round++) {
		uint8_t kept[4];
		size_t at[4];
		for (unsigned i = 0; i < 4; i++) {
			random = random * 1103515245 + 12345;
			at[i] = (random >> 4) % bytes;
			kept[i] = image[at[i]];
			image[at[i]] = (uint8_t)(random >> 20);
		}
		read_damaged(image, bytes);
		for (unsigned i = 4; i-- > 0;)
			image[at[i]] = kept[i];
	}
	free(image);
}

static void damaged_files(void **state)
{
	size_t bytes;
	uint8_t *image = gpu_fixture_cubin(90, &bytes);
	damage(image, bytes);
	image = gpu_fixture_code_object(11, &bytes);
	damage(image, bytes);
	image = gpu_fixture_fatbin(70, &bytes);
	damage(image, bytes);
	image = gpu_fixture_bundle(&bytes);
	damage(image, bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(cubins_of_all_encodings),
	    cmocka_unit_test(loops_of_a_cubin),
	    cmocka_unit_test(lines_and_inlined_calls_of_a_cubin),
	    cmocka_unit_test(code_objects_of_all_generations),
	    cmocka_unit_test(too_old_or_unknown),
	    cmocka_unit_test(images_of_a_fatbin),
	    cmocka_unit_test(images_of_an_offload_bundle),
	    cmocka_unit_test(damaged_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
