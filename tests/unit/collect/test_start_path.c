/* SPDX-License-Identifier: Apache-2.0 */
/* The path below which a program begins, as text: what is written is read, as far as it fits, and a
 * text that somebody changed is read within its bounds or not at all. */
#include "collect/core/start_path.h"

#include "collect/core/adapter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROUNDS = 2000, DEPTH = 120, FILE_BYTES = 4000 };

struct sn_config sn_config = {.sources = SN_SOURCE_PYTHON};
static struct sn_thread thread;
static uint32_t begins_below;

struct sn_thread *sn_enter(void)
{
	return &thread;
}

void sn_leave(struct sn_thread *left)
{
	(void)left;
}

bool sn_python_may_run(void)
{
	return false;
}

uint32_t sn_callpath_of_start(struct sn_thread *started)
{
	(void)started;
	return SN_NODE_ROOT;
}

void sn_callpath_begin_below(struct sn_thread *begun, const struct sn_cct *from, uint32_t node)
{
	assert_ptr_equal(from, &begun->cct);
	begins_below = node;
}

static uint32_t read_text(const char *text)
{
	begins_below = SN_NODE_ROOT;
	sn_start_path_begin(&thread, text);
	return begins_below;
}

/* On the heap and no longer than it is, so that a sanitizer sees what is read beyond. */
static uint32_t read_copy(const char *text)
{
	char *copy = strdup(text);
	uint32_t node = read_text(copy);
	free(copy);
	return node;
}

static uint32_t add_python(uint32_t parent, const char *file, const char *name, uint32_t line)
{
	struct sn_frame frame = {.kind = SN_FRAME_PYTHON, .value = line};
	frame.id = sn_cct_code(&thread.cct, file, strlen(file), name, strlen(name), 3);
	return sn_cct_child(&thread.cct, parent, &frame);
}

/* The value of the variable, on the heap. */
static char *written(uint32_t node)
{
	void *room = malloc(sn_start_path_room(&thread.cct, node));
	const char *text = sn_start_path_write(&thread.cct, node, room);
	assert_memory_equal(text, SN_START_PATH, strlen(SN_START_PATH));
	assert_true(strlen(text) < SN_START_PATH_BYTES);
	char *value = strdup(text + strlen(SN_START_PATH));
	free(room);
	return value;
}

static uint32_t random_path(unsigned depth, unsigned file_bytes)
{
	uint32_t node = SN_NODE_ROOT;
	char file[FILE_BYTES + 1], name[20];
	for (unsigned level = 0; level < depth; level++) {
		size_t bytes = (size_t)rand() % file_bytes, name_bytes = (size_t)rand() % 19;
		for (size_t at = 0; at < bytes; at++)
			file[at] = "/abc:,p019\xc3"[rand() % 11];
		for (size_t at = 0; at < name_bytes; at++)
			name[at] = "p<>r:,09"[rand() % 8];
		file[bytes] = name[name_bytes] = '\0';
		if (rand() % 8)
			node = add_python(node, file, name, (uint32_t)rand());
		else
			node = sn_cct_named_child(&thread.cct, node, SN_FRAME_REGION, name,
						  name_bytes);
	}
	return node;
}

static bool is_above(uint32_t node, uint32_t below)
{
	while (below != node && below != SN_NODE_ROOT)
		below =
		    ((struct sn_cct_node *)sn_array_at(&thread.cct.nodes, below))->record.parent;
	return below == node;
}

static void change(char *text)
{
	size_t length = strlen(text);
	for (int count = 1 + rand() % 4; length && count; count--)
		text[(size_t)rand() % length] =
		    rand() % 3 ? "p0123456789:,r-\xff"[rand() % 16] : '\0';
}

static void test_there_and_back(void **state)
{
	unsigned whole = 0, cut = 0;
	(void)state;
	srand(5);
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t node = random_path((unsigned)rand() % DEPTH, round % 20 ? 60 : FILE_BYTES);
		char *text = written(node);
		uint32_t back = read_copy(text);
		assert_true(is_above(back, node));
		whole += *text && back == node;
		cut += *text && back != node;
		change(text);
		read_copy(text);
		free(text);
	}
	assert_true(whole > ROUNDS / 4 && cut > ROUNDS / 4);
}

static const char users[] = "/home/u/train.py";

static bool is_handed_on(const char *first, const char *second)
{
	uint32_t node = add_python(SN_NODE_ROOT, first, "<module>", 7);
	char *text = written(second ? add_python(node, second, "main", 8) : node);
	bool has_any = *text;
	free(text);
	return has_any;
}

static void test_whose_frames(void **state)
{
	static const char package[] =
	    "/opt/v/lib/python3.12/site-packages/torch/distributed/run.py";
	(void)state;
	assert_true(is_handed_on(users, NULL));
	assert_true(is_handed_on(users, package));
	assert_true(is_handed_on("<frozen runpy>", users));
	assert_true(is_handed_on("<string>", "/usr/lib/python3.12/subprocess.py"));
	assert_true(is_handed_on("<stdin>", NULL));
	/* a command that no package is known to own */
	assert_true(is_handed_on("/home/u/bin/launch", package));
	assert_false(is_handed_on(package, NULL));
	assert_false(
	    is_handed_on("/usr/lib64/python3.12/runpy.py", "/usr/lib/python3/dist-packages/x.py"));
	assert_false(is_handed_on("<frozen runpy>", package));
	assert_false(is_handed_on("/opt/v/bin/torchrun", package));
	assert_false(is_handed_on("/opt/v/bin/pip3.11", package));
	assert_false(is_handed_on("<string>", "/usr/lib/python3.12/multiprocessing/spawn.py"));
	assert_false(is_handed_on("/usr/lib/python3.12/x.py", "<string>"));
}

static void test_no_text(void **state)
{
	char longer[SN_START_PATH_BYTES + 1];
	(void)state;
	assert_int_equal(read_text(NULL), SN_NODE_ROOT);
	assert_int_equal(read_text(""), SN_NODE_ROOT);
	assert_int_not_equal(read_text("p7,5,0,1:a1:b"), SN_NODE_ROOT);
	/* as much as the variable holds, and a byte more */
	memset(longer, 'f', sizeof(longer));
	memcpy(longer, "p1,1,0,4076:", 12);
	memcpy(longer + 12 + 4076, "1:b", 4);
	assert_int_not_equal(read_text(longer), SN_NODE_ROOT);
	memset(longer, 'f', sizeof(longer));
	memcpy(longer, "p1,1,0,4081:", 12);
	memcpy(longer + 12 + 4081, "1:b", 4);
	assert_int_equal(strlen(longer), SN_START_PATH_BYTES);
	assert_int_equal(read_text(longer), SN_NODE_ROOT);
	/* without Python frames in its paths */
	sn_config.sources = SN_SOURCE_NATIVE;
	assert_int_equal(read_text("p7,5,0,1:a1:b"), SN_NODE_ROOT);
	sn_config.sources = SN_SOURCE_PYTHON;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_there_and_back),
	    cmocka_unit_test(test_whose_frames),
	    cmocka_unit_test(test_no_text),
	};
	if (sn_cct_init(&thread.cct))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
