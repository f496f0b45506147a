/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of the kernel's functions: what is one, what is none, and which is at an address. */
#include "system/kallsyms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char text[] = "ffffffff81000000 T _text\n"
			   "ffffffffc0000100 t in_module\t[nvme]\n"
			   "ffffffff81000200 W later\n"
			   "ffffffff81000100 D some_data\n"
			   "0000000000000000 T hidden\n"
			   "ffffffffc0100000 t bpf_prog_1_x\t[bpf]\n"
			   "no address T name\n"
			   "ffffffff81000300\n"
			   "ffffffff81000300 T\n"
			   "ffffffff81000300 T \n"
			   "ffffffff81000180 t unclosed\t[module";

static struct sn_kallsyms read_list(const char *lines, size_t bytes)
{
	struct sn_kallsyms list;
	FILE *file = fmemopen((void *)lines, bytes, "r");
	assert_int_equal(sn_kallsyms_read(&list, file), 0);
	fclose(file);
	return list;
}

static void expect(const struct sn_kallsyms *list, uint64_t address, const char *name,
		   const char *module)
{
	const struct sn_kallsym *found = sn_kallsyms_find(list, address);
	assert_non_null(found);
	assert_string_equal(sn_kallsyms_name(list, found->name), name);
	assert_string_equal(sn_kallsyms_name(list, found->module), module);
}

static void test_functions_by_address(void **state)
{
	struct sn_kallsyms list = read_list(text, sizeof(text) - 1);
	(void)state;
	assert_int_equal(list.count, 5);
	assert_null(sn_kallsyms_find(&list, 0xffffffff80ffffff));
	expect(&list, 0xffffffff81000000, "_text", "");
	expect(&list, 0xffffffff8100017f, "_text", "");
	expect(&list, 0xffffffff81000180, "unclosed", "module");
	expect(&list, 0xffffffff81000200, "later", "");
	expect(&list, 0xffffffffc0000fff, "in_module", "nvme");
	expect(&list, UINT64_MAX, "bpf_prog_1_x", "bpf");
	assert_true(sn_kallsyms_address(&list, "later") == 0xffffffff81000200);
	assert_true(sn_kallsyms_address(&list, "hidden") == 0);
	assert_true(sn_kallsyms_address(&list, "late") == 0);
	sn_kallsyms_release(&list);
}

static void test_no_list(void **state)
{
	struct sn_kallsyms list;
	(void)state;
	assert_int_equal(sn_kallsyms_read(&list, NULL), 0);
	assert_null(sn_kallsyms_find(&list, 1));
	assert_true(sn_kallsyms_address(&list, "x") == 0);
	sn_kallsyms_release(&list);
}

/* Lines longer than the reader's are pieces, of which none may be taken for a function. */
static void test_a_long_line(void **state)
{
	char line[2000];
	(void)state;
	memset(line, 'a', sizeof(line));
	memcpy(line, "ffffffff81000000 T ", 19);
	line[sizeof(line) - 1] = '\n';
	struct sn_kallsyms list = read_list(line, sizeof(line));
	assert_int_equal(list.count, 1);
	sn_kallsyms_release(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_functions_by_address),
					   cmocka_unit_test(test_no_list),
					   cmocka_unit_test(test_a_long_line)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
