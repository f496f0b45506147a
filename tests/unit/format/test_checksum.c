/* SPDX-License-Identifier: Apache-2.0 */
/* Our XXH64 against libxxhash: every length, and every way to cut the data in two. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <xxhash.h>

#include "format/checksum.h"

static unsigned char data[4096];

static void equals_libxxhash_at_every_length(void **state)
{
	for (size_t length = 0; length <= sizeof(data); length++)
		assert_int_equal(sn_checksum(data, length), XXH64(data, length, 0));
}

static void pieces_equal_the_whole(void **state)
{
	for (size_t cut = 0; cut <= 200; cut++) {
		struct sn_checksum sum;
		sn_checksum_init(&sum);
		sn_checksum_update(&sum, data, cut);
		sn_checksum_update(&sum, data + cut, 200 - cut);
		assert_int_equal(sn_checksum_final(&sum), XXH64(data, 200, 0));
	}
}

int main(void)
{
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 31 + (i >> 8) * 7);
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(equals_libxxhash_at_every_length),
	    cmocka_unit_test(pieces_equal_the_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
