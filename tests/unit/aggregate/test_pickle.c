/* SPDX-License-Identifier: Apache-2.0 */
/* Reading pickles: what Python's pickle module wrote, whole, cut at each byte, and with each byte changed. */
#include "aggregate/unify/pickle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* pickle.dumps({"key": "same", "list": [(7, "same"), (300, None), (70000, "é")], "class": int}, protocol=4) */
static const uint8_t known[] =
    "\x80\x04\x95\x43\x00\x00\x00\x00\x00\x00\x00}\x94("
    "\x8c\x03key\x94\x8c\x04same\x94\x8c\x04list\x94]\x94("
    "K\x07h\x02\x86\x94M\x2c\x01N\x86\x94J\x70\x11\x01\x00\x8c\x02\xc3\xa9\x94\x86\x94"
    "e\x8c\x05"
    "class\x94\x8c\x08"
    "builtins\x94\x8c\x03int\x94\x93\x94u.";
/* The same, protocol 2: a class by its name in two lines, places in the memo by number. */
static const uint8_t old[] = "\x80\x02}q\x00(X\x03\x00\x00\x00keyq\x01X\x04\x00\x00\x00sameq\x02"
			     "c__builtin__\nint\nq\x03h\x02u.";

/* "text", 7 or ] for the end of a list; what is neither is left out. */
static void read_all(const uint8_t *bytes, size_t length, char *all, size_t size)
{
	struct sn_pickle pickle = {.at = bytes, .end = bytes + length};
	struct sn_pickle_item item;
	size_t used = 0;
	while (sn_pickle_next(&pickle, &item) && used < size) {
		if (item.kind == SN_PICKLE_TEXT) {
			/* a changed byte may make a text of what follows, but not of more than there is */
			assert_true(item.text >= (const char *)bytes);
			assert_true(item.length <= length);
			assert_true(item.text + item.length <= (const char *)bytes + length);
			used += (size_t)snprintf(all + used, size - used, "%.*s ", (int)item.length,
						 item.text);
		} else if (item.kind == SN_PICKLE_NUMBER) {
			used += (size_t)snprintf(all + used, size - used, "%lld ",
						 (long long)item.number);
		} else if (item.kind == SN_PICKLE_LIST_END) {
			used += (size_t)snprintf(all + used, size - used, "] ");
		}
	}
	assert_false(sn_pickle_next(&pickle, &item));
	sn_pickle_release(&pickle);
}

static void test_known(void **state)
{
	char all[1000];
	read_all(known, sizeof(known) - 1, all, sizeof(all));
	assert_string_equal(all, "key same list 7 same 300 70000 é ] class builtins int ");
	read_all(old, sizeof(old) - 1, all, sizeof(all));
	assert_string_equal(all, "key same same ");
}

static void test_cut_and_changed(void **state)
{
	char all[4000];
	for (size_t length = 0; length < sizeof(known); length++) {
		/* of its own, so that a sanitizer sees what is read beyond */
		uint8_t *bytes = malloc(length ? length : 1);
		memcpy(bytes, known, length);
		read_all(bytes, length, all, sizeof(all));
		for (int value = 0; length > 60 && value < 256; value++) {
			for (size_t at = 0; at < length; at++) {
				bytes[at] = (uint8_t)value;
				read_all(bytes, length, all, sizeof(all));
				bytes[at] = known[at];
			}
		}
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_known),
	    cmocka_unit_test(test_cut_and_changed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
