/* SPDX-License-Identifier: Apache-2.0 */
/* The line of the CUDA adapter, while several threads say one: each that is read is one of theirs, from its begin to its end. */
#include "collect/adapters/cuda/cuda.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 3, READS = 300000 };

static const char *const parts[THREADS][2] = {
    {"CUPTI: kernels, copies and sets below the calls that launched them", "; of the first"},
    {"another tool holds CUPTI: ", "a second that has a long name, as tools have"},
    {"third", ""}};
static _Atomic bool is_over;

static void *say(void *of)
{
	const char *const *text = of;
	while (!is_over)
		sn_cuda_say(text[0], text[1], NULL);
	return NULL;
}

static bool is_whole(const char *line)
{
	char whole[512];
	for (unsigned which = 0; which < THREADS; which++)
		if (!strcmp(line, strcat(strcpy(whole, parts[which][0]), parts[which][1])))
			return true;
	return false;
}

static void lines_are_whole(void **state)
{
	pthread_t threads[THREADS];
	unsigned broken = 0;
	assert_null(sn_cuda_said());
	for (unsigned which = 0; which < THREADS; which++)
		assert_int_equal(pthread_create(&threads[which], NULL, say, (void *)parts[which]),
				 0);
	for (unsigned reads = 0; reads < READS;) {
		char read[512] = "";
		const char *line = sn_cuda_said();
		if (!line)
			continue;
		strncpy(read, line, sizeof(read) - 1);
		broken += !is_whole(read);
		reads++;
	}
	is_over = true;
	for (unsigned which = 0; which < THREADS; which++)
		pthread_join(threads[which], NULL);
	assert_int_equal(broken, 0);
}

static void the_last_stays(void **state)
{
	char beyond[600];
	sn_cuda_say("one", NULL);
	const char *first = sn_cuda_said();
	sn_cuda_say("an", "other", NULL);
	assert_string_equal(sn_cuda_said(), "another");
	assert_string_equal(first, "one");
	memset(beyond, 'x', sizeof(beyond) - 1);
	beyond[sizeof(beyond) - 1] = 0;
	sn_cuda_say(beyond, NULL);
	assert_int_equal(strlen(sn_cuda_said()), 383);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lines_are_whole),
					   cmocka_unit_test(the_last_stays)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
