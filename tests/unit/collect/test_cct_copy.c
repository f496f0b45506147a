/* SPDX-License-Identifier: Apache-2.0 */
/* Paths that are copied to another tree, and parts of paths that are repeated elsewhere in their own. */
#include "collect/core/cct_copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static uint32_t region(struct sn_cct *cct, uint32_t parent, const char *name)
{
	return sn_cct_named_child(cct, parent, SN_FRAME_REGION, name, strlen(name));
}

static uint32_t path(struct sn_cct *cct, uint32_t at, const char *names)
{
	char name[2] = "";
	for (; *names; names++) {
		name[0] = *names;
		at = region(cct, at, name);
	}
	return at;
}

/* The names of a path from below the root on. */
static const char *names_of(const struct sn_cct *cct, uint32_t node)
{
	static char names[64];
	char *at = names + sizeof(names) - 1;
	while (node) {
		const struct sn_cct_node *read = sn_array_at(&cct->nodes, node);
		const struct sn_cct_string *name =
		    sn_array_at(&cct->strings, read->record.frame.id);
		*--at = name->text[0];
		node = read->record.parent;
	}
	return at;
}

static void test_to_another_tree(void **state)
{
	struct sn_cct from, to;
	struct sn_copy_room room = {0};
	assert_int_equal(sn_cct_init(&from), 0);
	assert_int_equal(sn_cct_init(&to), 0);
	path(&to, SN_NODE_ROOT, "xyz"); /* so that numbers differ */
	uint32_t copy =
	    sn_cct_copy_path(&to, &from, path(&from, SN_NODE_ROOT, "abc"), SN_COPY_ALL, &room);
	assert_string_equal(names_of(&to, copy), "abc");
	assert_int_equal(sn_cct_copy_path(&to, &from, 99, SN_COPY_ALL, &room), SN_NODE_NONE);
	assert_int_equal(sn_cct_copy_path(&to, &from, SN_NODE_ROOT, SN_COPY_ALL, &room),
			 SN_NODE_ROOT);
	sn_copy_room_release(&room);
	sn_cct_release(&from);
	sn_cct_release(&to);
}

static void test_repeated_in_its_own(void **state)
{
	struct sn_cct cct;
	struct sn_copy_room room = {0};
	assert_int_equal(sn_cct_init(&cct), 0);
	uint32_t above = path(&cct, SN_NODE_ROOT, "ab"), node = path(&cct, above, "cd"),
		 to = path(&cct, above, "ef");
	uint32_t again = sn_cct_repeat_path(&cct, node, above, to, &room);
	assert_string_equal(names_of(&cct, again), "abefcd");
	assert_int_equal(sn_cct_repeat_path(&cct, node, above, to, &room), again);
	assert_int_equal(sn_cct_repeat_path(&cct, above, above, to, &room), to);
	assert_string_equal(names_of(&cct, sn_cct_repeat_path(&cct, node, SN_NODE_ROOT, to, &room)),
			    "abefabcd");
	sn_copy_room_release(&room);
	sn_cct_release(&cct);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_to_another_tree),
	    cmocka_unit_test(test_repeated_in_its_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
