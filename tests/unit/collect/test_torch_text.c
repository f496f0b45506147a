/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of operators by their address: the same id while the text there is the same, another one as
 * soon as any of it differs, whatever its length, also where it lies at the end of readable memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "collect/adapters/torch/torch.h"

enum { LONGEST = 80, PAGE = 4096 };

static struct sn_thread thread;
static struct sn_torch_thread self = {.thread = &thread};

struct sn_torch_thread *sn_torch_thread(struct sn_thread *of)
{
	assert_ptr_equal(of, &thread);
	return &self;
}

static uint32_t id_of(const char *text)
{
	return sn_cct_string(&thread.cct, text, strlen(text));
}

static void test_another_text_at_one_address(void **state)
{
	char text[LONGEST + 1];
	for (size_t length = 1; length <= LONGEST; length++) {
		memset(text, 'a', length);
		text[length] = 0;
		assert_int_equal(sn_torch_name_id(&self, text), id_of(text));
		assert_int_equal(sn_torch_name_id(&self, text), id_of(text));
		for (size_t at = 0; at < length; at++) {
			text[at] = 'b';
			assert_int_equal(sn_torch_name_id(&self, text), id_of(text));
			text[at] = 'a';
			assert_int_equal(sn_torch_name_id(&self, text), id_of(text));
		}
	}
}

static void test_another_length_at_one_address(void **state)
{
	char text[LONGEST + 1];
	memset(text, 'a', sizeof(text));
	for (size_t step = 1; step < LONGEST; step += 3)
		for (size_t length = 1; length <= LONGEST; length++) {
			size_t end = length * step % LONGEST;
			text[end] = 0;
			assert_int_equal(sn_torch_name_id(&self, text), id_of(text));
			text[end] = 'a';
		}
}

/* A shorter text in the place of a longer one, with nothing readable behind it. */
static void test_at_the_end_of_memory(void **state)
{
	char *pages =
	    mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t length = 40; length--;) {
		char *text = pages + PAGE - 1 - length;
		memset(text, 'x', length + 30);
		text[length + 29] = 0;
		assert_int_equal(sn_torch_name_id(&self, text), id_of(text));
		mprotect(pages + PAGE, PAGE, PROT_NONE);
		text[length] = 0;
		assert_int_equal(sn_torch_name_id(&self, text), id_of(text));
		assert_int_equal(sn_torch_name_id(&self, text), id_of(text));
		mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE);
	}
	munmap(pages, 2 * PAGE);
}

static int set_up(void **state)
{
	return sn_cct_init(&thread.cct);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_another_text_at_one_address),
	    cmocka_unit_test(test_another_length_at_one_address),
	    cmocka_unit_test(test_at_the_end_of_memory),
	};
	return cmocka_run_group_tests(tests, set_up, NULL);
}
