/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the texts that XLA's profiler writes about kernels and copies. */
#include "xla_details.h"

#include <ctype.h>
#include <string.h>

unsigned sn_xla_numbers(const char *begin, size_t size, const char *name, uint64_t numbers[3])
{
	size_t length = strlen(name);
	if (!size)
		return 0;
	const char *end = begin + size;
	const char *at = begin;
	while (at && end - at >= (ptrdiff_t)length) {
		at = memmem(at, (size_t)(end - at), name, length);
		if (!at || at == begin || at[-1] == ' ')
			break;
		at++;
	}
	if (!at || end - at < (ptrdiff_t)length)
		return 0;
	unsigned count = 0;
	at += length;
	for (; count < 3 && at < end && isdigit((unsigned char)*at); count++) {
		for (numbers[count] = 0; at < end && isdigit((unsigned char)*at); at++)
			numbers[count] = 10 * numbers[count] + (uint64_t)(*at - '0');
		at += at < end && *at == ',';
	}
	return count;
}

unsigned sn_xla_details(const char *text, size_t length, const uint32_t *keys,
			struct sn_attribute attributes[SN_XLA_DETAILS_MAX])
{
	uint64_t numbers[3], dynamic[3] = {0};
	unsigned count = 0;
	if (sn_xla_numbers(text, length, "grid:", numbers) == 3)
		for (unsigned i = 0; i < 3; i++)
			attributes[count++] =
			    (struct sn_attribute){keys[SN_TRACK_KEY_GRID_X + i], 0, numbers[i]};
	if (sn_xla_numbers(text, length, "block:", numbers) == 3)
		for (unsigned i = 0; i < 3; i++)
			attributes[count++] =
			    (struct sn_attribute){keys[SN_TRACK_KEY_BLOCK_X + i], 0, numbers[i]};
	if (sn_xla_numbers(text, length, "regs:", numbers))
		attributes[count++] =
		    (struct sn_attribute){keys[SN_TRACK_KEY_REGISTERS], 0, numbers[0]};
	bool has_shared = sn_xla_numbers(text, length, "group_mem:", numbers);
	if (!has_shared && sn_xla_numbers(text, length, "static_shared:", numbers)) {
		has_shared = true;
		sn_xla_numbers(text, length, "dynamic_shared:", dynamic);
	}
	if (has_shared)
		attributes[count++] =
		    (struct sn_attribute){keys[SN_TRACK_KEY_SHARED], 0, numbers[0] + dynamic[0]};
	if (sn_xla_numbers(text, length, "size:", numbers))
		attributes[count++] =
		    (struct sn_attribute){keys[SN_TRACK_KEY_BYTES], 0, numbers[0]};
	return count;
}
