/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The print of a thread's Python frames, on frames made by hand: the same for the same codes and
 * instructions wherever the frames lie, another one as soon as anything differs by which a walk
 * would tell two paths apart, none where something cannot be read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "collect/adapters/python/walk.h"

enum { FRAMES = 4, DEEP = 1000, SHIM = 3 };

struct code {
	uintptr_t file, name, lines;
	uint32_t first_line, rest;
};
/* As CPython's bytes. */
struct table {
	uintptr_t references, type, length, hash;
	unsigned char data[40];
};
struct frame {
	const struct code *code;
	const struct frame *previous;
	uintptr_t instruction;
	uint8_t owner, is_entry, rest[6];
};
struct stack {
	struct code codes[FRAMES];
	struct frame frames[FRAMES]; /* innermost first */
};

/* what walk.c asks for besides; no print does */
uint32_t sn_cct_code(struct sn_cct *cct, const char *file, size_t file_length, const char *name,
		     size_t name_length, uint32_t first_line)
{
	fail();
	return 0;
}

uintptr_t sn_python_thread_state(const struct sn_python_target *target)
{
	fail();
	return 0;
}

static struct sn_python_cache cache;
static struct table tables[FRAMES + 2]; /* the last ones are empty */
static struct sn_python_target target;

static void take_layout(enum sn_python_frames frames)
{
	target.layout = (struct sn_python_layout){
	    .frames = frames,
	    .frame_bytes = sizeof(struct frame),
	    .frame_code = offsetof(struct frame, code),
	    .frame_previous = offsetof(struct frame, previous),
	    .frame_instruction = offsetof(struct frame, instruction),
	    .frame_owner = offsetof(struct frame, owner),
	    .frame_is_entry = offsetof(struct frame, is_entry),
	    .pointer_mask = ~(uintptr_t)1,
	    .shim_owner = SHIM,
	    .code_bytes = sizeof(struct code),
	    .code_file = offsetof(struct code, file),
	    .code_name = offsetof(struct code, name),
	    .code_lines = offsetof(struct code, lines),
	    .code_first_line = offsetof(struct code, first_line),
	    .bytes_length = offsetof(struct table, length),
	    .bytes_data = offsetof(struct table, data),
	};
}

/* Four frames, each of a code of its own; codes lie in `codes`. */
static void make(struct stack *stack, struct code *codes)
{
	*stack = (struct stack){0};
	for (uint32_t i = 0; i < FRAMES; i++) {
		tables[i] = (struct table){.length = 33};
		codes[i] = (struct code){0x7f0000001000 + 16 * i, 0x7f0000002000 + 16 * i,
					 (uintptr_t)&tables[i], 10 * i + 1, 0};
		stack->frames[i] =
		    (struct frame){.code = &codes[i],
				   .previous = i + 1 < FRAMES ? &stack->frames[i + 1] : NULL,
				   .instruction = 0x7f0000004000 + 100 * i};
	}
}

static uint64_t fingerprint_frame(const struct frame *innermost)
{
	return sn_python_fingerprint_frames(&target, &cache, (uintptr_t)innermost);
}

static const enum sn_python_frames kinds[] = {SN_FRAMES_OBJECTS, SN_FRAMES_FLAGGED,
					      SN_FRAMES_SHIMMED};

static void test_same_path_has_the_same_print_anywhere(void **state)
{
	struct stack here;
	static struct stack there;
	for (size_t kind = 0; kind < 3; kind++) {
		take_layout(kinds[kind]);
		make(&here, here.codes);
		make(&there, here.codes);
		uint64_t print = fingerprint_frame(here.frames);
		assert_int_not_equal(print, 0);
		assert_int_equal(print, fingerprint_frame(here.frames));
		assert_int_equal(print, fingerprint_frame(there.frames));
		/* a path that is the end of another is not that one */
		assert_int_not_equal(print, fingerprint_frame(here.frames + 1));
	}
}

/* The words of the stack a walk looks at: a change of any one is another path. */
static void test_whatever_differs_is_another_print(void **state)
{
	struct stack stack;
	for (size_t kind = 0; kind < 3; kind++) {
		take_layout(kinds[kind]);
		make(&stack, stack.codes);
		uint64_t print = fingerprint_frame(stack.frames);
		for (uint32_t i = 0; i < FRAMES; i++) {
			uintptr_t *words[] = {&stack.codes[i].file, &stack.codes[i].name,
					      &stack.codes[i].lines, &stack.frames[i].instruction};
			for (size_t word = 0; word < 4; word++) {
				*words[word] += 16;
				assert_int_not_equal(print, fingerprint_frame(stack.frames));
				*words[word] -= 16;
			}
			stack.codes[i].first_line++;
			assert_int_not_equal(print, fingerprint_frame(stack.frames));
			stack.codes[i].first_line--;
			/* another code object that says the same of itself */
			struct code copy = stack.codes[i];
			stack.frames[i].code = &copy;
			assert_int_not_equal(print, fingerprint_frame(stack.frames));
			stack.frames[i].code = &stack.codes[i];
			assert_int_equal(print, fingerprint_frame(stack.frames));
		}
	}
}

/* Code made anew lies where the old one lay, with all its parts: its table of lines says so. */
static void test_lines_of_code_made_anew(void **state)
{
	static const size_t lengths[] = {1, 2, 7, 8, 9, 23, 24, 33};
	struct stack stack;
	take_layout(SN_FRAMES_SHIMMED);
	make(&stack, stack.codes);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct table *table = &tables[2];
		table->length = lengths[i];
		uint64_t print = fingerprint_frame(stack.frames);
		assert_int_not_equal(print, 0);
		for (size_t byte = 0; byte < lengths[i]; byte++) {
			table->data[byte] ^= 4;
			/* of a long table, what begins, halves and ends it */
			bool is_read = byte < 8 || byte + 8 >= lengths[i] ||
				       (byte >= lengths[i] / 2 - 4 && byte < lengths[i] / 2 + 4);
			assert_int_equal(print == fingerprint_frame(stack.frames), !is_read);
			table->data[byte] ^= 4;
		}
		table->length--;
		assert_int_not_equal(print, fingerprint_frame(stack.frames));
	}
}

static void test_order_counts(void **state)
{
	struct stack stack;
	take_layout(SN_FRAMES_FLAGGED);
	make(&stack, stack.codes);
	uint64_t print = fingerprint_frame(stack.frames);
	struct frame moved = stack.frames[1];
	stack.frames[1].code = stack.frames[2].code;
	stack.frames[1].instruction = stack.frames[2].instruction;
	stack.frames[2].code = moved.code;
	stack.frames[2].instruction = moved.instruction;
	assert_int_not_equal(print, fingerprint_frame(stack.frames));
}

static void test_native_calls_in_between_count(void **state)
{
	struct stack stack;
	take_layout(SN_FRAMES_FLAGGED);
	make(&stack, stack.codes);
	uint64_t print = fingerprint_frame(stack.frames);
	stack.frames[1].is_entry = 1;
	assert_int_not_equal(print, fingerprint_frame(stack.frames));
	take_layout(SN_FRAMES_SHIMMED);
	make(&stack, stack.codes);
	print = fingerprint_frame(stack.frames);
	/* a frame of the interpreter's own below the first, and below the second */
	struct frame shim = {.owner = SHIM, .previous = &stack.frames[1]};
	stack.frames[0].previous = &shim;
	uint64_t first = fingerprint_frame(stack.frames);
	stack.frames[0].previous = &stack.frames[1];
	stack.frames[1].previous = &shim;
	shim.previous = &stack.frames[2];
	uint64_t second = fingerprint_frame(stack.frames);
	assert_int_not_equal(print, first);
	assert_int_not_equal(print, second);
	assert_int_not_equal(first, second);
}

static void test_none_where_it_cannot_be_read(void **state)
{
	static struct frame deep[DEEP];
	struct stack stack;
	take_layout(SN_FRAMES_FLAGGED);
	make(&stack, stack.codes);
	stack.frames[FRAMES - 1].previous = stack.frames; /* a ring */
	assert_int_equal(fingerprint_frame(stack.frames), 0);
	make(&stack, stack.codes);
	stack.frames[2].previous = (const struct frame *)((uintptr_t)&stack.frames[3] + 4);
	assert_int_equal(fingerprint_frame(stack.frames), 0);
	void *closed = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	make(&stack, stack.codes);
	stack.frames[1].code = closed;
	assert_int_equal(fingerprint_frame(stack.frames), 0);
	make(&stack, stack.codes);
	stack.frames[1].previous = closed;
	assert_int_equal(fingerprint_frame(stack.frames), 0);
	munmap(closed, 4096);
	for (uint32_t i = 0; i < DEEP; i++)
		deep[i] = (struct frame){.code = stack.codes,
					 .previous = i + 1 < DEEP ? &deep[i + 1] : NULL};
	assert_int_equal(fingerprint_frame(deep), 0);
	assert_int_not_equal(fingerprint_frame(deep + DEEP - 100), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_same_path_has_the_same_print_anywhere),
	    cmocka_unit_test(test_whatever_differs_is_another_print),
	    cmocka_unit_test(test_lines_of_code_made_anew),
	    cmocka_unit_test(test_order_counts),
	    cmocka_unit_test(test_native_calls_in_between_count),
	    cmocka_unit_test(test_none_where_it_cannot_be_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
