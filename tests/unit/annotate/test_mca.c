/* SPDX-License-Identifier: Apache-2.0 */
/* What llvm-mca, or a program in its place, says of blocks, and what is said where it fails. */
#include "annotate/mca.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/sonde-mca-XXXXXX", usual[8192];

/* A program called llvm-mca that does this, before all others. */
static void put_in_place(const char *script)
{
	char file[256], path[9000];
	snprintf(file, sizeof(file), "%s/llvm-mca-21", folder);
	FILE *out = fopen(file, "w");
	assert_non_null(out);
	fprintf(out, "#!/bin/sh\n%s\n", script);
	fclose(out);
	chmod(file, 0755);
	snprintf(path, sizeof(path), "%s:%s", folder, usual);
	setenv("PATH", path, 1);
}

static int restore(void **unused)
{
	char file[256];
	(void)unused;
	snprintf(file, sizeof(file), "%s/llvm-mca-21", folder);
	unlink(file);
	setenv("PATH", usual, 1);
	return 0;
}

static const char *ask(struct sn_mca_block *block, int limit_ms)
{
	static struct sn_arena texts;
	return sn_mca_ask(block, 1, "skylake", limit_ms, &texts);
}

static struct sn_mca_instruction chase[] = {{.text = "movq (%rax), %rax"},
					    {.text = NULL},
					    {.text = "nonsense %rax"},
					    {.text = "addq $1, %rcx"}};

static struct sn_mca_block fresh(void)
{
	for (int i = 0; i < 4; i++)
		chase[i] = (struct sn_mca_instruction){.text = chase[i].text};
	return (struct sn_mca_block){.instructions = chase, .count = 4};
}

static void test_pointer_chase(void **unused)
{
	struct sn_mca_block block = fresh();
	(void)unused;
	if (system("command -v llvm-mca >/dev/null || command -v llvm-mca-19 >/dev/null"))
		skip();
	assert_null(ask(&block, 60000));
	assert_true(block.is_known && chase[0].is_known && chase[3].is_known);
	assert_false(chase[1].is_known || chase[2].is_known);
	assert_true(chase[0].latency >= 4 && chase[0].head >= 4 && chase[3].head < 2);
	assert_true(block.cycles >= 4 && block.cycles < 8);
}

static void test_absent(void **unused)
{
	struct sn_mca_block block = fresh();
	(void)unused;
	setenv("PATH", folder, 1);
	assert_non_null(strstr(ask(&block, 1000), "no llvm-mca"));
	assert_false(block.is_known);
}

static void test_failing(void **unused)
{
	struct sn_mca_block block = fresh();
	(void)unused;
	put_in_place("echo 'error: nothing goes' >&2; exit 1");
	assert_non_null(strstr(ask(&block, 10000), "llvm-mca failed (error: nothing goes)"));
	put_in_place("echo '{\"CodeRegions\": [{\"InstructionInfoView\": [{\"Latency\": '");
	assert_null(ask(&block, 10000));
	assert_false(block.is_known || chase[0].is_known);
}

static void test_too_slow(void **unused)
{
	struct sn_mca_block block = fresh();
	(void)unused;
	put_in_place("exec sleep 100");
	assert_non_null(strstr(ask(&block, 200), "too long"));
	assert_false(block.is_known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_pointer_chase, restore),
					   cmocka_unit_test_teardown(test_absent, restore),
					   cmocka_unit_test_teardown(test_failing, restore),
					   cmocka_unit_test_teardown(test_too_slow, restore)};
	snprintf(usual, sizeof(usual), "%s", getenv("PATH"));
	if (!mkdtemp(folder))
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return failed;
}
