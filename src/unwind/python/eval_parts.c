/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the parts of the evaluation loop that a compiler moved away from the function (`.cold`),
 * because a return address in them is one of the evaluation loop as well. Such a part has an unwind
 * entry of its own, the function jumps into it, and it jumps back into the middle of the function.
 * The file's .symtab would name it, but distributions strip that, and reading it takes
 * milliseconds. One of Debian's builds of 3.14 has nearly the whole loop in such a part.
 *
 * Builds that run each instruction as a function (tail calls, from 3.14) need nothing: the function
 * itself stays on the stack, once for each evaluation.
 */
#include "eval_parts.h"

#include <string.h>

#define PART_BYTES_MAX (1u << 20)
#define CANDIDATES     64

/* The search table of .eh_frame_hdr: where each unwind entry's code starts, relative
 * to the header. */
struct unwind_index {
	uintptr_t header;
	const int32_t (*rows)[2];
	uint32_t count;
};

/* Whether these bytes are of the module's file: one that a recording names may say anything. */
static bool is_readable(const struct sn_module *module, uintptr_t start, uint64_t bytes)
{
	for (uint32_t i = 0; i < module->readable_count; i++)
		if (start >= module->readable[i].start && start < module->readable[i].end &&
		    bytes <= module->readable[i].end - start)
			return true;
	return false;
}

static bool index_read(const struct sn_module *module, struct unwind_index *index)
{
	const unsigned char *header = module->eh_frame_hdr;
	/* the usual form: version 1, pointer pc-relative, count absolute, table relative
	 * to the header */
	if (!header || !is_readable(module, (uintptr_t)header, 12) ||
	    memcmp(header, "\1\x1b\3\x3b", 4) != 0)
		return false;
	index->header = (uintptr_t)header;
	memcpy(&index->count, header + 8, sizeof(index->count));
	index->rows = (const int32_t(*)[2])(header + 12);
	return index->count > 0 &&
	       is_readable(module, (uintptr_t)index->rows, index->count * sizeof(*index->rows));
}

/* The code of the unwind entry that holds `address`, up to where the next entry's code starts. */
static bool index_find(const struct unwind_index *index, uintptr_t address,
		       struct sn_address_range *range)
{
	int64_t offset = (int64_t)(address - index->header);
	uint32_t low = 0, high = index->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (index->rows[middle][0] <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || low == index->count)
		return false;
	range->start = index->header + (uintptr_t)(intptr_t)index->rows[low - 1][0];
	range->end = index->header + (uintptr_t)(intptr_t)index->rows[low][0];
	return range->end - range->start <= PART_BYTES_MAX;
}

/*
 * The target of a direct jump at `at`, or 0. Instructions are not decoded: bytes inside one may
 * look like a jump, which is why a part must jump back as well.
 */
static uintptr_t jump_target(uintptr_t at, uintptr_t end)
{
	const unsigned char *code = (const unsigned char *)at;
	unsigned opcode = code[0] == 0xe9 ? 1 : code[0] == 0x0f && (code[1] & 0xf0) == 0x80 ? 2 : 0;
	int32_t distance;
	if (opcode == 0 || at + opcode + 4 > end)
		return 0;
	memcpy(&distance, code + opcode, sizeof(distance));
	return at + opcode + 4 + (uintptr_t)(intptr_t)distance;
}

static bool within(const struct sn_address_range *range, uintptr_t address)
{
	return address >= range->start && address < range->end;
}

static bool jumps_back(const struct sn_address_range *part, const struct sn_address_range *function)
{
	for (uintptr_t at = part->start; at + 2 <= part->end; at++) {
		uintptr_t to = jump_target(at, part->end);
		if (to > function->start && to < function->end)
			return true;
	}
	return false;
}

void sn_python_eval_parts(const struct sn_module *module,
			  struct sn_address_range ranges[SN_EVAL_RANGES], uint32_t *count)
{
	const struct sn_address_range *function = &ranges[0];
	struct sn_address_range seen[CANDIDATES];
	uint32_t seen_count = 0;
	struct unwind_index index;
	if (!index_read(module, &index))
		return;
	for (uintptr_t at = function->start; at + 2 <= function->end; at++) {
		uintptr_t to = jump_target(at, function->end);
		struct sn_address_range part;
		bool known = false;
		if (to < module->start || to >= module->end || within(function, to) ||
		    !index_find(&index, to, &part) || within(&part, function->start) ||
		    part.end <= part.start ||
		    !is_readable(module, part.start, part.end - part.start))
			continue;
		for (uint32_t i = 0; i < seen_count && !known; i++)
			known = seen[i].start == part.start;
		if (known || seen_count == CANDIDATES)
			continue;
		seen[seen_count++] = part;
		if (jumps_back(&part, function) && *count < SN_EVAL_RANGES)
			ranges[(*count)++] = part;
	}
}
