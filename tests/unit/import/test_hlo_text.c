/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of XLA as text: a module whose contents are known, several in one file, damage at every byte. */
#include "import/xplane/hlo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define HEAD                                                                                       \
	"HloModule jit_wave, is_scheduled=true, "                                                  \
	"entry_computation_layout={(f32[8]{0})->f32[8]{0}}\n\n"
#define PLACES                                                                                     \
	"FileNames\n1 \"/home/a/main.py\"\n2 \"/home/a/net \\\"b\\\".py\"\n\n"                     \
	"FunctionNames\n1 \"<module>\"\n2 \"wave\"\n\n"                                            \
	"FileLocations\n"                                                                          \
	"1 {file_name_id=1 function_name_id=1 line=12 end_line=12 column=0 end_column=9}\n"        \
	"2 {file_name_id=2 function_name_id=2 line=3 end_line=4 column=4 end_column=30}\n\n"
#define FUSED                                                                                      \
	"%fused (a: f32[8]) -> f32[8] {\n"                                                         \
	"  %a = f32[8]{0} parameter(0)\n"                                                          \
	"  %c = f32[] constant({calls=%nothing})\n"                                                \
	"  %sin.1 = f32[8]{0} sine(%a), metadata={op_name=\"jit(wave)/sin\" stack_frame_id=2}\n"   \
	"  ROOT %add = f32[8]{0} add(%sin.1, %c), metadata={op_name=\"jit(wave)/add\" "            \
	"source_file=\"own.py\" source_line=7}\n"                                                  \
	"}\n\n"
#define ENTRY                                                                                      \
	"ENTRY %main.5 (x.1: f32[8]) -> (f32[8], s8[2,3]) {\n"                                     \
	"  %x.1 = f32[8]{0} parameter(0), metadata={op_name=\"x\"}\n"                              \
	"  %fusion = f32[8]{0:T(8)} fusion(%x.1), kind=kLoop, calls=%fused\n"                      \
	"  ROOT %call = (f32[8]{0}, s8[2,3]{1,0}) custom-call(%fusion, %x.1), "                    \
	"custom_call_target=\"own_call\", backend_config={\"a\":\"}\"}\n"                          \
	"}\n\n"

static const char whole[] = HEAD PLACES "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n2 "
					"{file_location_id=2 parent_frame_id=2}\n\n\n" FUSED ENTRY;

static struct sn_db_builder *builder;
static struct sn_hlo hlo;

static int read_all(const char *text, size_t length, const char **rest)
{
	*rest = text;
	return sn_hlo_read_text(&hlo, builder, rest, text + length);
}

static const char *text_of(uint32_t string)
{
	return string == SONDE_NONE ? "(none)" : sn_db_builder_text(builder, string);
}

static const struct sn_hlo_instruction *named(const char *name)
{
	for (size_t i = 0; i < hlo.instruction_count; i++)
		if (!strcmp(text_of(hlo.instructions[i].name), name))
			return hlo.instructions + i;
	fail_msg("no instruction %s", name);
	return NULL;
}

static int make_builder(void **state)
{
	(void)state;
	builder = sn_db_builder_new();
	return !builder;
}

static int free_builder(void **state)
{
	(void)state;
	sn_db_builder_free(builder);
	return 0;
}

static void check_parts(void)
{
	assert_string_equal(text_of(hlo.name), "jit_wave");
	assert_int_equal(hlo.computation_count, 2);
	assert_int_equal(hlo.computations[0].count, 4);
	assert_int_equal(hlo.computations[1].count, 3);
	assert_int_equal(sn_hlo_computation(&hlo, hlo.entry), 1);
	const struct sn_hlo_instruction *fusion = named("fusion"), *call = named("call");
	assert_string_equal(text_of(fusion->opcode), "fusion");
	assert_int_equal(fusion->bytes, 32);
	assert_int_equal(fusion->called_count, 1);
	assert_int_equal(sn_hlo_computation(&hlo, hlo.ids[fusion->first_called]), 0);
	assert_int_equal(call->bytes, 38);
	assert_int_equal(call->operand_count, 2);
	assert_string_equal(text_of(call->target), "own_call");
	assert_int_equal(sn_hlo_instruction(&hlo, 1, hlo.ids[call->first_operand]),
			 fusion - hlo.instructions);
	assert_int_equal(named("c")->called_count + named("c")->operand_count, 0);
}

static void check_places(const char *callers)
{
	const struct sn_hlo_instruction *sine = named("sin.1"), *add = named("add");
	assert_string_equal(text_of(sine->path), "jit(wave)/sin");
	assert_string_equal(text_of(sine->file), "/home/a/net \\\"b\\\".py");
	assert_string_equal(text_of(sine->function), "wave");
	assert_int_equal(sine->line, 3);
	assert_string_equal(text_of(sine->callers), callers);
	assert_string_equal(text_of(add->file), "own.py");
	assert_int_equal(add->line, 7);
	assert_string_equal(text_of(add->callers), "(none)");
	assert_string_equal(text_of(named("fusion")->file), "(none)");
}

#define CALLERS "/home/a/main.py:12 <module> > /home/a/net \\\"b\\\".py:3 wave"

static void test_module(void **state)
{
	(void)state;
	const char *rest;
	assert_int_equal(read_all(whole, strlen(whole), &rest), 0);
	assert_ptr_equal(rest, whole + strlen(whole));
	check_parts();
	check_places(CALLERS);
	sn_hlo_release(&hlo);
}

/* The same path in the other numbering of callers, in which 0 is none. */
static void test_numbering(void **state)
{
	(void)state;
	static const char text[] =
	    HEAD PLACES "StackFrames\n1 {file_location_id=1 parent_frame_id=0}\n"
			"2 {file_location_id=2 parent_frame_id=1}\n\n" FUSED ENTRY;
	const char *rest;
	assert_int_equal(read_all(text, strlen(text), &rest), 0);
	check_places(CALLERS);
	sn_hlo_release(&hlo);
}

static void test_several(void **state)
{
	(void)state;
	static const char text[] =
	    "HloModule empty\n\n\n" HEAD FUSED ENTRY "HloModule last\n\n" ENTRY;
	const char *rest = text, *end = text + strlen(text);
	assert_int_equal(sn_hlo_read_text(&hlo, builder, &rest, end), SN_ERR_FORMAT);
	sn_hlo_release(&hlo);
	assert_int_equal(sn_hlo_read_text(&hlo, builder, &rest, end), 0);
	check_parts();
	sn_hlo_release(&hlo);
	assert_int_equal(sn_hlo_read_text(&hlo, builder, &rest, end), 0);
	assert_string_equal(text_of(hlo.name), "last");
	assert_ptr_equal(rest, end);
	sn_hlo_release(&hlo);
}

/* Cut, or with a byte of every kind in any place: it ends, and all that refers to something does. */
static void test_damage(void **state)
{
	(void)state;
	static const char bytes[] = "\0\n\"{}()%,=[9 \\H";
	size_t length = strlen(whole);
	char *copy = malloc(length);
	for (size_t at = 0; at < length; at++)
		for (size_t kind = 0; kind < sizeof(bytes); kind++) {
			const char *rest = copy;
			memcpy(copy, whole, length);
			copy[at] = bytes[kind];
			const char *end = copy + (kind ? length : at);
			while (rest < end) {
				sn_hlo_read_text(&hlo, builder, &rest, end);
				for (size_t i = 0; i < hlo.instruction_count; i++)
					assert_true(hlo.instructions[i].computation <
						    hlo.computation_count);
				sn_hlo_release(&hlo);
			}
		}
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_module), cmocka_unit_test(test_numbering),
	    cmocka_unit_test(test_several), cmocka_unit_test(test_damage)};
	return cmocka_run_group_tests(tests, make_builder, free_builder);
}
