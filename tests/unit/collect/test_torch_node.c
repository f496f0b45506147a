/* SPDX-License-Identifier: Apache-2.0 */
/* Where an autograd node keeps its numbers, found by what they must be; and its name, by its table.
 */
#include "collect/adapters/torch/torch.h"
#include "collect/intercept/real_symbol.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <dlfcn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS	16
#define THREADS 3

static uint64_t given[THREADS + 1]; /* how many numbers each thread has been given */

bool sn_torch_was_given(uint64_t torch_id, uint64_t sequence)
{
	return torch_id >= 1 && torch_id <= THREADS && sequence < given[torch_id];
}

struct cxx_string {
	char *data;
	size_t length;
	char local[16];
};

static void base_name(struct cxx_string *text, const void *node)
{
	text->data = text->local;
	text->length = 4;
	memcpy(text->local, "base", 4);
}

static int names_asked;

static void derived_name(struct cxx_string *text, const void *node)
{
	static char name[] = "torch::autograd::AccumulateGrad";
	names_asked++;
	/* whoever asked gives the text back by C++'s delete where the process has one (a
	 * sanitizer's) */
	void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "_Znwm");
	text->data = allocate ? strcpy(allocate(sizeof(name)), name) : name;
	text->length = sizeof(name) - 1;
}

struct table {
	const void *offset, *type;
	const void *slots[6];
};
struct type {
	const void *table;
	const char *name;
};

static const struct type base_type = {NULL, "N5torch8autograd4NodeE"};
static const struct type derived_type = {NULL, "N5torch8autograd14AccumulateGradE"};
static const struct type root_type = {NULL, "N5torch8autograd9GraphRootE"};
static const struct type python_type = {NULL, "N5torch8autograd6PyNodeE"};
static struct table base_table = {NULL, &base_type, {NULL, NULL, NULL, base_name}};
static struct table derived_table = {NULL, &derived_type, {NULL, NULL, NULL, derived_name}};
static struct table root_table = {NULL, &root_type, {NULL, NULL, NULL, derived_name}};
static struct table python_table = {NULL, &python_type, {NULL, NULL, NULL, derived_name}};
static bool has_names;

uintptr_t sn_torch_symbol(const char *name)
{
	if (!has_names)
		return 0;
	return strstr(name, "_ZTV") ? (uintptr_t)&base_table : (uintptr_t)base_name;
}

void *sn_real_symbol(const char *name)
{
	return NULL;
}

static uint64_t next_random;

static uint64_t noise(void)
{
	next_random = next_random * 6364136223846793005u + 1442695040888963407u;
	return next_random >> 16;
}

/* A node whose sequence number lies in word `where`; all else looks like pointers and small
 * numbers. */
static void make_node(uint64_t words[WORDS], struct table *table, uint32_t where, uint64_t sequence,
		      uint64_t thread)
{
	for (uint32_t index = 0; index < WORDS; index++)
		words[index] = noise() % 2 ? 0x7f0000000000u + noise() % 65536 : noise() % 5;
	words[0] = (uintptr_t)table->slots;
	words[where] = sequence;
	words[where + 3] = thread;
}

static void numbers_are_found_wherever_they_lie(void **state)
{
	uint32_t where = (uint32_t)(uintptr_t)*state;
	uint64_t words[WORDS], wrong = 0;
	char storage[64];
	struct sn_torch_node node;
	for (uint32_t count = 0; count < 300; count++) {
		uint64_t thread = 1 + noise() % THREADS, sequence = given[thread]++;
		make_node(words, &derived_table, where, sequence, thread);
		sn_torch_node_read(words, &node, storage, sizeof(storage));
		if (node.sequence != sequence || node.torch_id != thread)
			wrong++;
		/* an accidental pair elsewhere may mislead the first few */
		if (count > 20)
			assert_int_equal(node.sequence, sequence);
	}
	assert_true(wrong < 10);
	assert_true(sn_torch_node_readable());
	make_node(words, &derived_table, where, SN_TORCH_NO_SEQUENCE, 1);
	sn_torch_node_read(words, &node, storage, sizeof(storage));
	assert_true(node.sequence == SN_TORCH_NO_SEQUENCE && !node.unproved);
}

static void names_are_asked_once_for_a_class(void **state)
{
	uint64_t words[WORDS];
	char storage[64];
	struct sn_torch_node node;
	has_names = true;
	sn_torch_node_init();
	for (int count = 0; count < 3; count++) {
		make_node(words, &derived_table, 3, 0, 1);
		sn_torch_node_read(words, &node, storage, sizeof(storage));
		assert_int_equal(node.name_length, 31);
		assert_memory_equal(node.name, "torch::autograd::AccumulateGrad", 31);
	}
	assert_int_equal(names_asked, 1);
	for (int count = 0; count < 3; count++) {
		make_node(words, &python_table, 3, 0, 1);
		sn_torch_node_read(words, &node, storage, sizeof(storage));
		assert_ptr_equal(node.name, storage);
	}
	assert_int_equal(names_asked, 4);
	make_node(words, &root_table, 3, 0, 1);
	sn_torch_node_read(words, &node, storage, sizeof(storage));
	assert_null(node.name);
	/* cut where there is no room */
	make_node(words, &python_table, 3, 0, 1);
	sn_torch_node_read(words, &node, storage, 5);
	assert_int_equal(node.name_length, 5);
}

/* The type's name, where the node cannot be asked. Own process: see main. */
static void names_from_the_type(void **state)
{
	uint64_t words[WORDS];
	char storage[64];
	struct sn_torch_node node;
	make_node(words, &derived_table, 3, 0, 1);
	sn_torch_node_read(words, &node, storage, sizeof(storage));
	assert_int_equal(node.name_length, 14);
	assert_memory_equal(node.name, "AccumulateGrad", 14);
}

static void garbage_is_refused(void **state)
{
	uint64_t words[WORDS];
	char storage[64];
	struct sn_torch_node node;
	for (uint32_t count = 0; count < 100; count++) {
		make_node(words, &derived_table, 3, 0x7f1234560000u + count, 0x7f0000001234u);
		for (uint32_t index = 1; index < WORDS; index++)
			words[index] |= 1ull << 40;
		sn_torch_node_read(words, &node, storage, sizeof(storage));
		assert_true(node.unproved && node.sequence == SN_TORCH_NO_SEQUENCE);
	}
	assert_false(sn_torch_node_readable());
}

/* What node.c has learned stays for the process, so each test is a process of its own. */
int main(int argc, char **argv)
{
	const struct CMUnitTest each[] = {
	    cmocka_unit_test_prestate(numbers_are_found_wherever_they_lie, (void *)2),
	    cmocka_unit_test_prestate(numbers_are_found_wherever_they_lie, (void *)3),
	    cmocka_unit_test_prestate(numbers_are_found_wherever_they_lie, (void *)6),
	    cmocka_unit_test(names_are_asked_once_for_a_class),
	    cmocka_unit_test(names_from_the_type),
	    cmocka_unit_test(garbage_is_refused),
	};
	int failed = 0;
	for (size_t index = 0; index < sizeof(each) / sizeof(*each); index++) {
		pid_t child = fork();
		if (!child) {
			const struct CMUnitTest tests[] = {each[index]};
			exit(cmocka_run_group_tests(tests, NULL, NULL));
		}
		int status = 0;
		waitpid(child, &status, 0);
		failed += status != 0;
	}
	return failed;
}
