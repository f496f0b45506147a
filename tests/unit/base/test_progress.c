/* SPDX-License-Identifier: Apache-2.0 */
/* What long work tells: nothing before somebody watches, then each step and its share, from child
 * processes too. */
#include "base/progress/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static void expect(const char *step, uint64_t done, uint64_t total)
{
	struct sn_progress now = sn_progress_now();
	if (step)
		assert_string_equal(now.step, step);
	else
		assert_null(now.step);
	assert_int_equal(now.done, done);
	assert_int_equal(now.total, total);
}

static void test_steps(void **unused)
{
	(void)unused;
	sn_progress_begin("unseen", 3);
	sn_progress_add(1);
	expect(NULL, 0, 0);
	assert_int_equal(sn_progress_watch(), 0);
	expect(NULL, 0, 0);
	sn_progress_begin("reading", 10);
	sn_progress_add(4);
	struct sn_progress outer = sn_progress_begin("ordering", 0);
	sn_progress_add(1);
	expect("ordering", 1, 0);
	sn_progress_resume(&outer);
	sn_progress_add(2);
	expect("reading", 6, 10);
}

static void test_a_child_process(void **unused)
{
	(void)unused;
	pid_t child = fork();
	if (!child) {
		sn_progress_begin("reading apart", 5);
		sn_progress_add(2);
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	expect("reading apart", 2, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_steps),
	    cmocka_unit_test(test_a_child_process),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
