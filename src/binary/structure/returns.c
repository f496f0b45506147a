/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls return; see code.h.
 *
 * A function never returns if all paths through it end in a trap, an endless loop or a call or tail
 * call of another that never returns. Known names are the start; from there the property is
 * propagated to callers LEVELS times, and only through functions of at most BYTES_MAX: wrappers
 * that report an error and give up are small. So an answer needs no analysis of the whole module,
 * and does not depend on what was asked before.
 */
#include "code.h"
#include "base/search.h"
#include "code_private.h"

#include "binary/elf/elf_symbols.h"

#include <string.h>

#define LEVELS	  4
#define BYTES_MAX 1024

/* Two bits for each level in sn_code.returns; of level 0: what the name says. */
enum answer { UNKNOWN, RETURNS, NEVER_RETURNS };

bool sn_code_name_is_noreturn(const char *symbol)
{
	static const struct {
		const char *text;
		enum { WHOLE, PREFIX, PART } how;
	} names[] = {
#define SN_NORETURN(name)	 {name, WHOLE},
#define SN_NORETURN_PREFIX(name) {name, PREFIX},
#define SN_NORETURN_PART(name)	 {name, PART},
#include "noreturn_names.def"
#undef SN_NORETURN
#undef SN_NORETURN_PREFIX
#undef SN_NORETURN_PART
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *text = names[i].text;
		if (names[i].how == PART) {
			/* these are mangled */
			if (symbol[0] == '_' && strstr(symbol, text))
				return true;
			continue;
		}
		if (symbol[0] != text[0])
			continue;
		if (names[i].how == WHOLE ? strcmp(symbol, text) == 0
					  : strncmp(symbol, text, strlen(text)) == 0)
			return true;
	}
	return false;
}

static bool is_noreturn_slot(const struct sn_code *code, uint64_t slot)
{
	uint32_t first = sn_search(i, code->noreturn_slot_count, code->noreturn_slots[i] < slot);
	return first < code->noreturn_slot_count && code->noreturn_slots[first] == slot;
}

static bool is_noreturn_plt(const struct sn_code *code, uint64_t target)
{
	enum { ENTRY_BYTES = 16 };
	struct sn_bytes bytes = sn_code_bytes(code, target);
	size_t size = bytes.size < ENTRY_BYTES ? bytes.size : ENTRY_BYTES;
	if (code->noreturn_slot_count == 0)
		return false;
	uint64_t slot = sn_elf_plt_slot(code->file, bytes.data, size, target);
	return slot != 0 && is_noreturn_slot(code, slot);
}

static bool function_returns(struct sn_code *code, uint32_t function, unsigned level);

static bool call_returns(struct sn_code *code, uint64_t target, uint64_t slot, unsigned level)
{
	if (slot != 0)
		return !is_noreturn_slot(code, slot);
	if (target == 0)
		return true;
	uint32_t function = sn_code_function_at(code, target);
	if (function != SN_CODE_NONE)
		return code->functions[function].start != target ||
		       function_returns(code, function, level);
	const struct sn_code_section *section = sn_code_section_at(code, target);
	return !section || !section->is_plt || !is_noreturn_plt(code, target);
}

/* A walk through the instructions of a small function: `work` holds those still to be followed. */
struct walk {
	uint64_t start;
	size_t size;
	uint8_t seen[BYTES_MAX];
	uint16_t work[BYTES_MAX];
	unsigned count;
};

/* False where the address lies outside the function. */
static bool add_target(struct walk *walk, uint64_t address)
{
	uint64_t at = address - walk->start;
	if (at >= walk->size)
		return false;
	if (!walk->seen[at]) {
		walk->seen[at] = 1;
		walk->work[walk->count++] = (uint16_t)at;
	}
	return true;
}

/* What lies beyond the function, as one jumps there. */
static bool leaves(struct sn_code *code, uint64_t target, unsigned level)
{
	return call_returns(code, target, 0, level);
}

/* Follows one instruction; true as soon as it is certain that the function may return. */
static bool follow(struct sn_code *code, struct walk *walk, const uint8_t *bytes, unsigned level)
{
	struct sn_insn insn;
	size_t at = walk->work[--walk->count];
	uint64_t address = walk->start + at;
	if (!code->decode(bytes + at, walk->size - at, address, &insn))
		return true;
	uint64_t next = address + insn.length;
	switch (insn.kind) {
	case SN_INSN_TRAP:
		return false;
	case SN_INSN_RETURN:
		return true;
	case SN_INSN_JUMP_INDIRECT:
		return insn.target == 0 || !is_noreturn_slot(code, insn.target);
	case SN_INSN_JUMP:
		return !add_target(walk, insn.target) && leaves(code, insn.target, level);
	case SN_INSN_BRANCH:
		if (!add_target(walk, insn.target) && leaves(code, insn.target, level))
			return true;
		break;
	case SN_INSN_CALL:
		if (!call_returns(code, insn.target, 0, level))
			return false;
		break;
	case SN_INSN_CALL_INDIRECT:
		if (insn.target != 0 && is_noreturn_slot(code, insn.target))
			return false;
		break;
	default:
		break;
	}
	/* a function whose last call is believed to return, and is followed by nothing, was left
	 * so by a compiler that knew better */
	if (!add_target(walk, next))
		return insn.kind != SN_INSN_CALL && insn.kind != SN_INSN_CALL_INDIRECT;
	return false;
}

static bool finds_return(struct sn_code *code, const struct sn_code_function *function,
			 unsigned level)
{
	struct walk walk = {.start = function->start};
	struct sn_bytes bytes = sn_code_bytes(code, function->start);
	walk.size = (size_t)(function->end - function->start);
	if (bytes.size < walk.size)
		return true;
	add_target(&walk, function->start);
	while (walk.count > 0)
		if (follow(code, &walk, bytes.data, level))
			return true;
	return false;
}

/* Asked only of functions that are called: names are many, and looking at one takes long. */
static bool is_noreturn_name(struct sn_code *code, uint32_t index)
{
	_Atomic uint16_t *kept = &code->returns[index];
	enum answer answer = atomic_load_explicit(kept, memory_order_relaxed) & 3;
	if (answer == UNKNOWN) {
		const char *name = code->functions[index].name;
		answer = name && sn_code_name_is_noreturn(name) ? NEVER_RETURNS : RETURNS;
		atomic_fetch_or_explicit(kept, (uint16_t)answer, memory_order_relaxed);
	}
	return answer == NEVER_RETURNS;
}

static bool function_returns(struct sn_code *code, uint32_t index, unsigned level)
{
	const struct sn_code_function *function = &code->functions[index];
	if (is_noreturn_name(code, index))
		return false;
	if (level == 0 || function->end - function->start > BYTES_MAX)
		return true;
	/* relaxed: all threads compute the same answer */
	_Atomic uint16_t *kept = &code->returns[index];
	unsigned shift = 2 * level;
	enum answer answer = atomic_load_explicit(kept, memory_order_relaxed) >> shift & 3;
	if (answer == UNKNOWN) {
		answer = finds_return(code, function, level - 1) ? RETURNS : NEVER_RETURNS;
		atomic_fetch_or_explicit(kept, (uint16_t)(answer << shift), memory_order_relaxed);
	}
	return answer == RETURNS;
}

bool sn_code_call_returns(struct sn_code *code, uint64_t target, uint64_t slot)
{
	return call_returns(code, target, slot, LEVELS);
}
