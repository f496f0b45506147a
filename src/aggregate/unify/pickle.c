/* SPDX-License-Identifier: Apache-2.0 */
/* The opcodes are those of CPython's pickletools; see pickle.h. */
#include "pickle.h"

#include "base/vec.h"

#include <string.h>

/* Of what follows an opcode. */
enum argument {
	UNKNOWN,
	NOTHING,
	BYTES,	 /* that many, see struct operation */
	COUNTED, /* a length of that many bytes, then so many bytes */
	LINES,	 /* two lines */
};

struct operation {
	uint8_t argument, bytes;
};

/* clang-format off */
static const struct operation operations[256] = {
	['('] = {NOTHING}, ['.'] = {NOTHING}, ['0'] = {NOTHING}, ['1'] = {NOTHING}, ['2'] = {NOTHING},
	['N'] = {NOTHING}, ['Q'] = {NOTHING}, ['R'] = {NOTHING}, ['a'] = {NOTHING}, ['b'] = {NOTHING},
	['d'] = {NOTHING}, ['e'] = {NOTHING}, ['l'] = {NOTHING}, ['o'] = {NOTHING}, ['s'] = {NOTHING},
	['t'] = {NOTHING}, ['u'] = {NOTHING}, [')'] = {NOTHING}, [']'] = {NOTHING}, ['}'] = {NOTHING},
	[0x81] = {NOTHING}, [0x85] = {NOTHING}, [0x86] = {NOTHING}, [0x87] = {NOTHING},
	[0x88] = {NOTHING}, [0x89] = {NOTHING}, [0x8f] = {NOTHING}, [0x90] = {NOTHING},
	[0x91] = {NOTHING}, [0x92] = {NOTHING}, [0x93] = {NOTHING}, [0x94] = {NOTHING},
	[0x97] = {NOTHING}, [0x98] = {NOTHING},
	['K'] = {BYTES, 1}, ['M'] = {BYTES, 2}, ['J'] = {BYTES, 4}, ['G'] = {BYTES, 8},
	['h'] = {BYTES, 1}, ['q'] = {BYTES, 1}, ['j'] = {BYTES, 4}, ['r'] = {BYTES, 4},
	[0x80] = {BYTES, 1}, [0x82] = {BYTES, 1}, [0x83] = {BYTES, 2}, [0x84] = {BYTES, 4},
	[0x95] = {BYTES, 8},
	['U'] = {COUNTED, 1}, ['C'] = {COUNTED, 1}, [0x8c] = {COUNTED, 1}, [0x8a] = {COUNTED, 1},
	['T'] = {COUNTED, 4}, ['B'] = {COUNTED, 4}, ['X'] = {COUNTED, 4}, [0x8b] = {COUNTED, 4},
	[0x8d] = {COUNTED, 8}, [0x8e] = {COUNTED, 8}, [0x96] = {COUNTED, 8},
	['c'] = {LINES},
};
/* clang-format on */

static uint64_t number_at(const uint8_t *at, size_t bytes)
{
	uint64_t number = 0;
	memcpy(&number, at, bytes);
	return number;
}

/* What follows the opcode: where it begins and its bytes. False where there are not so many. */
static bool take(struct sn_pickle *pickle, uint8_t code, const uint8_t **begin, uint64_t *length)
{
	struct operation operation = operations[code];
	uint64_t left = (uint64_t)(pickle->end - pickle->at);
	*begin = pickle->at;
	*length = operation.bytes;
	if (operation.argument == UNKNOWN || operation.bytes > left)
		return false;
	if (operation.argument == COUNTED) {
		*begin += operation.bytes;
		*length = number_at(pickle->at, operation.bytes);
		left -= operation.bytes;
	}
	for (int line = 0; operation.argument == LINES && line < 2; line++) {
		const uint8_t *from = *begin + *length;
		const uint8_t *found = memchr(from, '\n', left - *length);
		if (!found)
			return false;
		*length += (uint64_t)(found - from) + 1;
	}
	if (*length > left)
		return false;
	pickle->at = *begin + *length;
	return true;
}

static bool remember(struct sn_pickle *pickle, uint64_t place)
{
	/* places are given in turn, or nearly so */
	enum { GAP = 4096 };
	if (place > pickle->memo_count + GAP ||
	    sn_vec_reserve_zeroed(&pickle->memo, &pickle->memo_capacity, place + 1) < 0)
		return false;
	for (size_t i = pickle->memo_count; i < place; i++)
		pickle->memo[i] = (struct sn_pickle_item){SN_PICKLE_OTHER};
	pickle->memo[place] = pickle->last;
	if (place >= pickle->memo_count)
		pickle->memo_count = place + 1;
	return true;
}

static struct sn_pickle_item pushed(const struct sn_pickle *pickle, uint8_t code,
				    const uint8_t *begin, uint64_t length)
{
	struct sn_pickle_item item = {SN_PICKLE_OTHER};
	switch (code) {
	case 'K':
	case 'M':
		item.kind = SN_PICKLE_NUMBER;
		item.number = (int64_t)number_at(begin, length);
		break;
	case 'J':
		item.kind = SN_PICKLE_NUMBER;
		item.number = (int32_t)number_at(begin, length);
		break;
	case 'X':
	case 0x8c:
	case 0x8d:
		item.kind = SN_PICKLE_TEXT;
		item.text = (const char *)begin;
		item.length = length;
		break;
	case 'a':
	case 'e':
		item.kind = SN_PICKLE_LIST_END;
		break;
	case 'h':
	case 'j': {
		uint64_t place = number_at(begin, length);
		if (place < pickle->memo_count)
			item = pickle->memo[place];
		break;
	}
	default:
		break;
	}
	return item;
}

bool sn_pickle_next(struct sn_pickle *pickle, struct sn_pickle_item *item)
{
	while (pickle->at < pickle->end) {
		uint8_t code = *pickle->at++;
		const uint8_t *begin;
		uint64_t length;
		if (code == '.' || !take(pickle, code, &begin, &length))
			break;
		if (code == 0x80 || code == 0x95) /* protocol, frame */
			continue;
		if (code == 0x94 || code == 'q' || code == 'r') {
			uint64_t place =
			    code == 0x94 ? pickle->memo_count : number_at(begin, length);
			if (!remember(pickle, place))
				break;
			continue;
		}
		*item = pickle->last = pushed(pickle, code, begin, length);
		return true;
	}
	pickle->at = pickle->end;
	return false;
}

void sn_pickle_release(struct sn_pickle *pickle)
{
	free(pickle->memo);
	*pickle = (struct sn_pickle){0};
}
