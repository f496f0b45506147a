/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which interpreters are taken and which are refused, reading of str objects of every kind from
 * objects made by hand, and the guard that keeps unreadable memory from being read.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "collect/adapters/python/text.h"

/* The debug offsets of CPython 3.13.0, word by word, as the interpreter has them. */
static const uint64_t offsets_3_13[73] = {0x7970677562656478,
					  0x030d00f0,
					  0,
					  283320,
					  608,
					  632,
					  194968,
					  7272,
					  7264,
					  7344,
					  7400,
					  7656,
					  7640,
					  7648,
					  16,
					  7752,
					  0,
					  7768,
					  7760,
					  304,
					  0,
					  8,
					  16,
					  72,
					  152,
					  160,
					  232,
					  32,
					  80,
					  8,
					  0,
					  56,
					  72,
					  70,
					  208,
					  112,
					  120,
					  128,
					  136,
					  68,
					  52,
					  96,
					  104,
					  200,
					  16,
					  8,
					  416,
					  24,
					  88,
					  168,
					  32,
					  24,
					  16,
					  40,
					  24,
					  16,
					  48,
					  32,
					  40,
					  24,
					  16,
					  32,
					  16,
					  24,
					  40,
					  16,
					  32,
					  64,
					  32,
					  16,
					  40,
					  240,
					  200};

static uint64_t runtime[256];
static const char *reason;

static int find(struct sn_python_layout *layout, uint32_t hex)
{
	memset(layout, 0, sizeof(*layout));
	reason = NULL;
	return sn_python_layout_find(layout, hex, (uintptr_t)runtime, sizeof(runtime), &reason);
}

static void give_offsets(void)
{
	memset(runtime, 0, sizeof(runtime));
	memcpy(runtime, offsets_3_13, sizeof(offsets_3_13));
}

static void versions_with_tables(void **state)
{
	struct sn_python_layout layout;

	for (uint32_t minor = 9; minor <= 12; minor++) {
		assert_int_equal(find(&layout, 0x030000f0 | minor << 16), 0);
		assert_int_equal(layout.version, 0x0300 | minor);
		assert_int_equal(layout.object_type, 8);
	}
	assert_int_equal(find(&layout, 0x030c07f0), 0); /* any patch level */
	assert_int_equal(find(&layout, 0x030c00c2), 0); /* a release candidate */
}

static void refused(uint32_t hex, const char *why)
{
	struct sn_python_layout layout;

	assert_int_equal(find(&layout, hex), -ENOTSUP);
	assert_non_null(strstr(reason, why));
}

static void versions_refused(void **state)
{
	refused(0x030800f0, "older");
	refused(0x020700f0, "older");
	refused(0x030f00f0, "newer");
	refused(0x040000f0, "newer");
	refused(0x030c00a1, "pre-release");
	refused(0x030b00b4, "pre-release");
}

static void debug_offsets(void **state)
{
	struct sn_python_layout layout;

	give_offsets();
	assert_int_equal(find(&layout, 0x030d00f0), 0);
	assert_int_equal(layout.thread_frame, 72);
	assert_int_equal(layout.thread_id, 152);
	assert_int_equal(layout.frame_previous, 8);
	assert_int_equal(layout.frame_instruction, 56);
	assert_int_equal(layout.frame_owner, 70);
	assert_int_equal(layout.code_file, 112);
	assert_int_equal(layout.code_name, 128);
	assert_int_equal(layout.code_first_line, 68);
	assert_int_equal(layout.code_version, 92);
	assert_int_equal(layout.code_start, 200);
	assert_int_equal(layout.text_state, 32);
	assert_int_equal(layout.text_ascii_bytes, 40);
	assert_int_equal(layout.text_compact_bytes, 56);
}

/* Where a release puts something else before the names of local variables. */
static void version_of_code_unknown(void **state)
{
	struct sn_python_layout layout;

	give_offsets();
	runtime[41] += 8;
	assert_int_equal(find(&layout, 0x030d00f0), 0);
	assert_int_equal(layout.code_version, 0);
	assert_int_equal(layout.code_first_line, 68);
}

static void debug_offsets_refused(void **state)
{
	give_offsets();
	refused(0x030d01f0, "debug offsets"); /* of another version */
	runtime[2] = 1;
	refused(0x030d00f0, "free-threaded");
	give_offsets();
	runtime[0] ^= 1;
	refused(0x030d00f0, "debug offsets");
	give_offsets();
	memmove(&runtime[20], &runtime[19], 60 * sizeof(*runtime)); /* a field more */
	refused(0x030d00f0, "unknown shape");
}

/* ---- text ---- */

static struct sn_guard guard;

/* A str object as 3.12 lays it out. */
struct text {
	uint64_t references, type, length, hash;
	uint32_t state, padding;
	union {
		char ascii[64];
		struct {
			uint64_t utf8_length, utf8;
			union {
				uint8_t one[32];
				uint16_t two[32];
				uint32_t four[32];
				const void *outside;
			};
		};
	};
};

static const struct sn_python_layout *text_layout(void)
{
	static struct sn_python_layout layout;

	assert_int_equal(find(&layout, 0x030c00f0), 0);
	layout.text_type = 0x1234560;
	return &layout;
}

static uint32_t state_of(unsigned kind, bool compact, bool ascii)
{
	/* interned 2 bits, kind 3, compact, ascii, static; above it, padding that may hold anything
	 */
	return 3u | kind << 2 | (unsigned)compact << 5 | (unsigned)ascii << 6 | 0xabcdef00u;
}

static void expect(const struct text *text, const char *expected)
{
	char out[128];
	ssize_t length = sn_python_text(text_layout(), &guard, (uintptr_t)text, out, sizeof(out));

	assert_int_equal(length, strlen(expected));
	assert_memory_equal(out, expected, strlen(expected));
}

static void text_kinds(void **state)
{
	struct text text = {.type = 0x1234560, .length = 5, .state = state_of(1, true, true)};

	strcpy(text.ascii, "hello");
	expect(&text, "hello");
	text.length = 3;
	text.state = state_of(1, true, false);
	memcpy(text.one, "caf\xe9", 4);
	text.length = 4;
	expect(&text, "caf\xc3\xa9");
	text.state = state_of(2, true, false);
	memcpy(text.two, (uint16_t[]){0x6f22, 'x', 0xdcff, 0xd800}, 8);
	expect(&text, "\xe6\xbc\xa2x\xff\xef\xbf\xbd");
	text.state = state_of(4, true, false);
	memcpy(text.four, (uint32_t[]){0x1f40d, '.', 'p', 0x110000}, 16);
	expect(&text, "\xf0\x9f\x90\x8d.p\xef\xbf\xbd");
	text.state = state_of(2, false, false);
	text.outside = (uint16_t[]){'o', 'u', 't', 0x3b1};
	expect(&text, "out\xce\xb1");
	text.length = 0;
	expect(&text, "");
}

static void text_cut(void **state)
{
	struct text text = {.type = 0x1234560, .length = 4, .state = state_of(2, true, false)};
	char out[8];

	memcpy(text.two, (uint16_t[]){0x6f22, 0x6f22, 0x6f22, 0x6f22}, 8);
	/* whole characters only */
	assert_int_equal(sn_python_text(text_layout(), &guard, (uintptr_t)&text, out, 8), 6);
	assert_int_equal(sn_python_text(text_layout(), &guard, (uintptr_t)&text, out, 2), 0);
}

static void text_refused(void **state)
{
	const struct sn_python_layout *layout = text_layout();
	struct text text = {.type = 0x1234560, .length = 4, .state = state_of(2, false, false)};
	char out[8];
	void *closed = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	text.outside = closed;
	assert_int_equal(sn_python_text(layout, &guard, (uintptr_t)&text, out, 8), -EFAULT);
	assert_int_equal(sn_python_text(layout, &guard, (uintptr_t)closed, out, 8), -EFAULT);
	assert_int_equal(sn_python_text(layout, &guard, 0, out, 8), -EFAULT);
	assert_int_equal(sn_python_text(layout, &guard, UINTPTR_MAX - 8, out, 8), -EFAULT);
	text.state = state_of(3, true, false);
	assert_int_equal(sn_python_text(layout, &guard, (uintptr_t)&text, out, 8), -EINVAL);
	text.state = state_of(1, true, true);
	text.length = UINT64_MAX;
	assert_int_equal(sn_python_text(layout, &guard, (uintptr_t)&text, out, 8), -EINVAL);
	text.length = 4;
	text.type = 0x1234568;
	assert_int_equal(sn_python_text(layout, &guard, (uintptr_t)&text, out, 8), -EINVAL);
}

static void guard_pages(void **state)
{
	unsigned char *pages =
	    mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static struct sn_guard fresh;

	assert_int_equal(sn_guard_test(), 0);
	mprotect(pages + 4096, 4096, PROT_NONE);
	assert_true(sn_guard_readable(&fresh, (uintptr_t)pages, 4096));
	assert_false(sn_guard_readable(&fresh, (uintptr_t)pages, 4097));
	assert_false(sn_guard_readable(&fresh, (uintptr_t)pages + 4096, 1));
	assert_true(sn_guard_readable(&fresh, (uintptr_t)pages + 8192, 4096));
	assert_false(sn_guard_readable(&fresh, (uintptr_t)pages, 3 * 4096));
	uint32_t probes = fresh.probes;
	assert_true(sn_guard_readable(&fresh, (uintptr_t)pages + 100, 8));
	assert_int_equal(fresh.probes, probes); /* remembered */
	/* forgotten in time, so that an unmapped page is noticed */
	munmap(pages, 4096);
	for (int i = 0; i < SN_GUARD_WALKS; i++)
		sn_guard_begin(&fresh);
	assert_false(sn_guard_readable(&fresh, (uintptr_t)pages + 100, 8));
}

/* Pages of one set stay known together: none is asked for again while others are in use. */
static void guard_keeps_a_set(void **state)
{
	struct sn_guard fresh = {0};
	size_t apart = (size_t)SN_GUARD_SETS << SN_GUARD_PAGE_SHIFT;
	size_t bytes = apart * SN_GUARD_WAYS + 4096;
	char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	(void)state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	for (int round = 0; round < 10; round++)
		for (size_t way = 0; way < SN_GUARD_WAYS; way++)
			assert_true(sn_guard_readable(&fresh, (uintptr_t)pages + way * apart, 8));
	assert_int_equal(fresh.probes, SN_GUARD_WAYS);
	/* one more than the set holds displaces the one that was longest not asked for */
	assert_true(sn_guard_readable(&fresh, (uintptr_t)pages + SN_GUARD_WAYS * apart, 8));
	assert_true(sn_guard_readable(&fresh, (uintptr_t)pages + apart, 8));
	assert_int_equal(fresh.probes, SN_GUARD_WAYS + 1);
	assert_true(sn_guard_readable(&fresh, (uintptr_t)pages, 8));
	assert_int_equal(fresh.probes, SN_GUARD_WAYS + 2);
	sn_guard_forget(&fresh, (uintptr_t)pages + apart, 8);
	assert_true(sn_guard_readable(&fresh, (uintptr_t)pages + apart, 8));
	assert_int_equal(fresh.probes, SN_GUARD_WAYS + 3);
	munmap(pages, bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(versions_with_tables),
	    cmocka_unit_test(versions_refused),
	    cmocka_unit_test(debug_offsets),
	    cmocka_unit_test(version_of_code_unknown),
	    cmocka_unit_test(debug_offsets_refused),
	    cmocka_unit_test(text_kinds),
	    cmocka_unit_test(text_cut),
	    cmocka_unit_test(text_refused),
	    cmocka_unit_test(guard_pages),
	    cmocka_unit_test(guard_keeps_a_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
