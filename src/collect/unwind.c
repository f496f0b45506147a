/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinding the calling thread's native stack; see unwind.h. x86-64.
 *
 * Nearly every frame's rule is: CFA = rsp or rbp + constant, return address at CFA - 8, rbp saved
 * at CFA - constant or untouched. Such rules are packed in 8 bytes and cached by pc, and a warm
 * unwind is a loop over them that carries three registers. Everything else (signal frames,
 * realigned stacks, expressions) takes the slow step, which interprets the row with as many
 * registers as are known. When a slow step needs a register that fast steps did not carry, the
 * whole unwind is done again slowly.
 */
#include "unwind.h"
#include "arena.h"
#include "cfi.h"
#include "stack_memory.h"

#include <stdatomic.h>
#include <string.h>

#define CACHE_BITS    11
#define CACHE_ENTRIES (1u << CACHE_BITS)
#define SCAN_WORDS    64u
#define KEEP_MAX      256u /* frames of the previous path that are kept */

/* ---- rules ---- */

enum rule_kind {
	RULE_NONE,    /* an empty cache entry */
	RULE_SP,      /* CFA = rsp + cfa_offset */
	RULE_BP,      /* CFA = rbp + cfa_offset */
	RULE_SLOW,    /* interpret the row */
	RULE_END,     /* the thread's first frame */
	RULE_MISSING, /* no information: fall back */
};

#define BP_UNTOUCHED INT16_MAX

struct rule {
	uint8_t kind;
	uint8_t reserved;
	int16_t bp_words; /* rbp is saved at CFA + 8 * bp_words */
	int32_t cfa_offset;
};
_Static_assert(sizeof(struct rule) == 8, "a rule is one word");

struct cache_entry {
	uint64_t key; /* pc << 1 | is it a return address; 0 empty */
	struct rule rule;
	uint32_t module;
	uint32_t reserved;
};

struct state {
	uint32_t unloads; /* sn_module_unloads() the caches are valid for */
	uint32_t kept_count;
	bool kept_complete;
	struct sn_stack_bounds foreign; /* of a stack that is not the thread's own */
	struct cache_entry cache[CACHE_ENTRIES];
	struct sn_native_frame kept[KEEP_MAX];
};

static _Atomic bool shadow_mode;

void sn_unwind_set_shadow(bool on)
{
	atomic_store_explicit(&shadow_mode, on, memory_order_relaxed);
}

void sn_unwinder_release(struct sn_unwinder *unwinder)
{
	sn_pages_unmap(unwinder->state, sizeof(struct state));
	unwinder->state = NULL;
}

/* One unwind under way. */
struct walk {
	struct state *state;
	struct sn_stack_bounds own; /* the thread's stack */
	struct sn_stack_bounds now; /* the stack being walked */
	uintptr_t registers[SN_REG_COUNT];
	uint32_t known; /* bit n: registers[n] is this frame's value */
	bool is_return; /* the pc is a return address */
	bool slow;	/* no cache, all registers */
	struct sn_native_frame *frames;
	uint32_t count, max;
	struct sn_unwind_result result;
};

#define KNOWN(number) (1u << (number))
#define KNOWN_FAST    (KNOWN(SN_REG_RIP) | KNOWN(SN_REG_RSP) | KNOWN(SN_REG_RBP))
#define KNOWN_ALL     ((1u << SN_REG_COUNT) - 1)
/* What a called function must give back as it was. */
#define KNOWN_KEPT                                                                                 \
	(KNOWN(SN_REG_RBX) | KNOWN(SN_REG_RBP) | KNOWN(SN_REG_R12) | KNOWN(SN_REG_R13) |           \
	 KNOWN(SN_REG_R14) | KNOWN(SN_REG_R15))

/* ---- the stack ---- */

/* True where a word at `address` may be read. Moves to another stack when the walk does. */
static bool is_on_stack(struct walk *walk, uintptr_t address)
{
	if (__builtin_expect(address >= walk->now.low && address + 8 <= walk->now.high, 1))
		return !(address & 7);
	if (address & 7)
		return false;
	if (address >= walk->own.low && address + 8 <= walk->own.high) {
		walk->now = walk->own;
		return true;
	}
	struct sn_stack_bounds *foreign = &walk->state->foreign;
	if (address < foreign->low || address + 8 > foreign->high) {
		if (!sn_stack_bounds_find(address, foreign))
			return false;
	}
	walk->now = *foreign;
	return address + 8 <= foreign->high;
}

static uintptr_t load(uintptr_t address)
{
	return *(const uintptr_t *)address;
}

/* ---- expressions (DWARF 5, section 2.5) ---- */

#define EXPRESSION_DEPTH 16

struct expression {
	const unsigned char *at, *end;
	uintptr_t stack[EXPRESSION_DEPTH];
	unsigned depth;
	bool bad;
};

static void push(struct expression *expression, uintptr_t value)
{
	if (expression->depth == EXPRESSION_DEPTH)
		expression->bad = true;
	else
		expression->stack[expression->depth++] = value;
}

static uintptr_t pop(struct expression *expression)
{
	if (expression->depth)
		return expression->stack[--expression->depth];
	expression->bad = true;
	return 0;
}

static uint64_t operand(struct expression *expression, unsigned bytes, bool is_signed)
{
	uint64_t value = 0;
	if ((size_t)(expression->end - expression->at) < bytes) {
		expression->bad = true;
		return 0;
	}
	memcpy(&value, expression->at, bytes);
	expression->at += bytes;
	unsigned unused = 64 - 8 * bytes;
	if (is_signed && unused)
		value = (uint64_t)((int64_t)(value << unused) >> unused);
	return value;
}

static int64_t operand_leb(struct expression *expression, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	for (;;) {
		uint64_t byte = operand(expression, 1, false);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
		if ((byte & 0x80) && !expression->bad)
			continue;
		if (is_signed && shift < 64 && (byte & 0x40))
			value |= ~0ull << shift;
		return (int64_t)value;
	}
}

static uintptr_t register_value(struct walk *walk, struct expression *expression, unsigned number)
{
	if (number >= SN_REG_COUNT || !(walk->known & KNOWN(number))) {
		expression->bad = true;
		return 0;
	}
	return walk->registers[number];
}

static void dereference(struct walk *walk, struct expression *expression)
{
	uintptr_t address = pop(expression);
	if (expression->bad || !is_on_stack(walk, address))
		expression->bad = true;
	else
		push(expression, load(address));
}

static void compute(struct expression *expression, unsigned opcode)
{
	uintptr_t b = pop(expression), a = pop(expression);
	switch (opcode) {
	case 0x1a:
		return push(expression, a & b);
	case 0x1c:
		return push(expression, a - b);
	case 0x1e:
		return push(expression, a * b);
	case 0x21:
		return push(expression, a | b);
	case 0x22:
		return push(expression, a + b);
	case 0x24:
		return push(expression, b < 64 ? a << b : 0);
	case 0x25:
		return push(expression, b < 64 ? a >> b : 0);
	case 0x26:
		return push(expression, (uintptr_t)((intptr_t)a >> (b < 64 ? b : 63)));
	case 0x27:
		return push(expression, a ^ b);
	case 0x29:
		return push(expression, a == b);
	case 0x2a:
		return push(expression, (intptr_t)a >= (intptr_t)b);
	case 0x2b:
		return push(expression, (intptr_t)a > (intptr_t)b);
	case 0x2c:
		return push(expression, (intptr_t)a <= (intptr_t)b);
	case 0x2d:
		return push(expression, (intptr_t)a < (intptr_t)b);
	case 0x2e:
		return push(expression, a != b);
	}
	expression->bad = true;
}

static void push_constant(struct expression *expression, unsigned opcode)
{
	static const uint8_t sizes[] = {8, 1, 1, 2, 2, 4, 4, 8, 8};
	if (opcode == 0x10)
		return push(expression, (uintptr_t)operand_leb(expression, false));
	if (opcode == 0x11)
		return push(expression, (uintptr_t)operand_leb(expression, true));
	unsigned which = opcode == 0x03 ? 0 : opcode - 0x07;
	push(expression, operand(expression, sizes[which], opcode != 0x03 && (opcode & 1)));
}

static void execute_one(struct walk *walk, struct expression *expression)
{
	unsigned opcode = (unsigned)operand(expression, 1, false);
	if (opcode >= 0x30 && opcode <= 0x4f)
		return push(expression, opcode - 0x30);
	if (opcode >= 0x50 && opcode <= 0x6f)
		return push(expression, register_value(walk, expression, opcode - 0x50));
	if (opcode >= 0x70 && opcode <= 0x8f) {
		uintptr_t value = register_value(walk, expression, opcode - 0x70);
		return push(expression, value + (uintptr_t)operand_leb(expression, true));
	}
	if (opcode == 0x03 || (opcode >= 0x08 && opcode <= 0x11))
		return push_constant(expression, opcode);
	switch (opcode) {
	case 0x06:
		return dereference(walk, expression);
	case 0x12: {
		uintptr_t top = pop(expression);
		push(expression, top);
		return push(expression, top);
	}
	case 0x13:
		pop(expression);
		return;
	case 0x16: {
		uintptr_t b = pop(expression), a = pop(expression);
		push(expression, b);
		return push(expression, a);
	}
	case 0x1f:
		return push(expression, -pop(expression));
	case 0x20:
		return push(expression, ~pop(expression));
	case 0x23:
		return push(expression,
			    pop(expression) + (uintptr_t)operand_leb(expression, false));
	case 0x96:
		return;
	}
	compute(expression, opcode);
}

/* Branches do not occur in call frame information and are refused, so this ends. */
static bool evaluate(struct walk *walk, const unsigned char *bytes, uint32_t length, bool with_cfa,
		     uintptr_t cfa, uintptr_t *value)
{
	struct expression expression = {.at = bytes, .end = bytes + length};
	if (with_cfa)
		push(&expression, cfa);
	while (expression.at < expression.end && !expression.bad)
		execute_one(walk, &expression);
	*value = pop(&expression);
	return !expression.bad;
}

/* ---- the slow step ---- */

static bool find_cfa(struct walk *walk, const struct sn_cfi_row *row, uintptr_t *cfa)
{
	if (row->cfa_is_expression)
		return evaluate(walk, row->cfa_expression, row->cfa_expression_bytes, false, 0,
				cfa);
	if (!(walk->known & KNOWN(row->cfa_register)))
		return false;
	*cfa = walk->registers[row->cfa_register] + (uintptr_t)row->cfa_offset;
	return true;
}

/* The caller's value of one register; false where it is not known. */
static bool recover(struct walk *walk, const struct sn_cfi_row *row, uint32_t number, uintptr_t cfa,
		    uintptr_t *value)
{
	const struct sn_cfi_rule *rule = &row->rules[number];
	uintptr_t address;
	switch (rule->kind) {
	case SN_CFI_SAME:
		*value = walk->registers[number];
		return walk->known & KNOWN(number) &&
		       (row->is_signal_frame || KNOWN_KEPT & KNOWN(number));
	case SN_CFI_OFFSET:
		address = cfa + (uintptr_t)rule->value;
		break;
	case SN_CFI_VALUE_OFFSET:
		*value = cfa + (uintptr_t)rule->value;
		return true;
	case SN_CFI_REGISTER:
		if (rule->value >= SN_REG_COUNT || !(walk->known & KNOWN(rule->value)))
			return false;
		*value = walk->registers[rule->value];
		return true;
	case SN_CFI_EXPRESSION:
		if (!evaluate(walk, rule->expression, rule->expression_bytes, true, cfa, &address))
			return false;
		break;
	case SN_CFI_VALUE_EXPRESSION:
		return evaluate(walk, rule->expression, rule->expression_bytes, true, cfa, value);
	default:
		return false;
	}
	if (!is_on_stack(walk, address))
		return false;
	*value = load(address);
	return true;
}

enum step { STEP_DONE, STEP_END, STEP_KEPT, STEP_LOST, STEP_NEED_REGISTERS };

static enum step step_by_row(struct walk *walk, const struct sn_cfi_row *row)
{
	uintptr_t cfa, next[SN_REG_COUNT];
	uint32_t next_known = 0;
	if (row->rules[SN_REG_RIP].kind == SN_CFI_UNDEFINED)
		return STEP_END;
	if (!find_cfa(walk, row, &cfa))
		return walk->slow ? STEP_LOST : STEP_NEED_REGISTERS;
	walk->frames[walk->count - 1].cfa = cfa;
	for (uint32_t number = 0; number < SN_REG_COUNT; number++)
		if (recover(walk, row, number, cfa, &next[number]))
			next_known |= KNOWN(number);
	if (row->rules[SN_REG_RSP].kind == SN_CFI_SAME) {
		next[SN_REG_RSP] = cfa;
		next_known |= KNOWN(SN_REG_RSP);
	}
	if (!(next_known & KNOWN(SN_REG_RIP)))
		return STEP_LOST;
	memcpy(walk->registers, next, sizeof(next));
	walk->known = next_known;
	walk->is_return = !row->is_signal_frame;
	if (row->is_signal_frame)
		walk->frames[walk->count - 1].flags |= SN_NATIVE_SIGNAL;
	return STEP_DONE;
}

/* ---- compiling a row to a rule ---- */

static struct rule compile_row(const struct sn_cfi_row *row)
{
	struct rule rule = {.kind = RULE_SLOW, .bp_words = BP_UNTOUCHED};
	const struct sn_cfi_rule *rip = &row->rules[SN_REG_RIP], *rbp = &row->rules[SN_REG_RBP];
	if (rip->kind == SN_CFI_UNDEFINED) {
		rule.kind = RULE_END;
		return rule;
	}
	bool plain = !row->cfa_is_expression && !row->is_signal_frame &&
		     rip->kind == SN_CFI_OFFSET && rip->value == -8 &&
		     row->rules[SN_REG_RSP].kind == SN_CFI_SAME &&
		     row->cfa_offset == (int32_t)row->cfa_offset;
	bool bp_fits =
	    rbp->kind == SN_CFI_SAME || (rbp->kind == SN_CFI_OFFSET && !(rbp->value & 7) &&
					 rbp->value / 8 > INT16_MIN && rbp->value / 8 < INT16_MAX);
	if (!plain || !bp_fits ||
	    (row->cfa_register != SN_REG_RSP && row->cfa_register != SN_REG_RBP))
		return rule;
	rule.kind = row->cfa_register == SN_REG_RSP ? RULE_SP : RULE_BP;
	rule.cfa_offset = (int32_t)row->cfa_offset;
	if (rbp->kind == SN_CFI_OFFSET)
		rule.bp_words = (int16_t)(rbp->value / 8);
	return rule;
}

static struct cache_entry *look_up(struct walk *walk, uintptr_t pc)
{
	uint64_t key = (uint64_t)pc << 1 | walk->is_return;
	uint64_t hash = key * 0x9E3779B185EBCA87ull;
	struct cache_entry *entry = &walk->state->cache[hash >> (64 - CACHE_BITS)];
	if (__builtin_expect(entry->key == key, 1))
		return entry;
	struct sn_cfi_row row;
	uintptr_t inside = pc - walk->is_return;
	uint32_t module = sn_module_find_or_refresh(inside);
	/* an address of no module now may be one of a module later: it is not remembered */
	*entry = (struct cache_entry){.key = module == SN_MODULE_NONE ? 0 : key, .module = module};
	entry->rule.kind = RULE_MISSING;
	if (module != SN_MODULE_NONE && !sn_cfi_find(sn_module_at(entry->module), inside, &row))
		entry->rule = compile_row(&row);
	return entry;
}

/* ---- fallbacks where there is no information ---- */

/* The bytes before a return address are a call: e8 with 32 bits, or ff /2 in its lengths. */
static bool follows_call(uintptr_t pc)
{
	uint32_t module = sn_module_find(pc - 1);
	if (module == SN_MODULE_NONE || sn_module_find(pc - 7) != module)
		return false;
	const unsigned char *code = (const unsigned char *)pc;
	if (code[-5] == 0xe8)
		return true;
	for (int length = 2; length <= 7; length++)
		if (code[-length] == 0xff && (code[-length + 1] & 0x38) == 0x10)
			return true;
	return false;
}

/* mov $15, %eax; syscall: the code a signal handler returns to. */
static bool is_signal_return(uintptr_t pc)
{
	static const unsigned char code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	return sn_module_find(pc) != SN_MODULE_NONE &&
	       !memcmp((const void *)pc, code, sizeof(code));
}

static void enter_caller(struct walk *walk, uintptr_t cfa, uintptr_t bp)
{
	walk->frames[walk->count - 1].cfa = cfa;
	walk->registers[SN_REG_RIP] = load(cfa - 8);
	walk->registers[SN_REG_RSP] = cfa;
	walk->registers[SN_REG_RBP] = bp;
	walk->known = KNOWN_FAST;
	walk->is_return = true;
}

/* The kernel's frame for a handler holds the interrupted registers: rt_sigframe is the return
 * address (already taken), then struct ucontext. */
static enum step step_over_signal(struct walk *walk)
{
	static const uint8_t order[] = {SN_REG_R8,  SN_REG_R9,	SN_REG_R10, SN_REG_R11, SN_REG_R12,
					SN_REG_R13, SN_REG_R14, SN_REG_R15, SN_REG_RDI, SN_REG_RSI,
					SN_REG_RBP, SN_REG_RBX, SN_REG_RDX, SN_REG_RAX, SN_REG_RCX,
					SN_REG_RSP, SN_REG_RIP};
	const ucontext_t *context = (const ucontext_t *)walk->registers[SN_REG_RSP];
	uintptr_t last = (uintptr_t)&context->uc_mcontext.gregs[SN_REG_COUNT - 1];
	if (!is_on_stack(walk, (uintptr_t)context) || !is_on_stack(walk, last))
		return STEP_LOST;
	for (uint32_t index = 0; index < SN_REG_COUNT; index++)
		walk->registers[order[index]] = (uintptr_t)context->uc_mcontext.gregs[index];
	walk->known = KNOWN_ALL;
	walk->is_return = false;
	walk->frames[walk->count - 1].flags |= SN_NATIVE_SIGNAL;
	walk->frames[walk->count - 1].cfa = walk->registers[SN_REG_RSP];
	return STEP_DONE;
}

static bool step_by_frame_pointer(struct walk *walk)
{
	uintptr_t sp = walk->registers[SN_REG_RSP], bp = walk->registers[SN_REG_RBP];
	if (!(walk->known & KNOWN(SN_REG_RBP)) || bp < sp || !is_on_stack(walk, bp) ||
	    !is_on_stack(walk, bp + 8) || !follows_call(load(bp + 8)))
		return false;
	walk->frames[walk->count - 1].flags |= SN_NATIVE_FRAME_POINTER;
	enter_caller(walk, bp + 16, load(bp));
	return true;
}

static bool step_by_scan(struct walk *walk)
{
	uintptr_t sp = walk->registers[SN_REG_RSP];
	for (uint32_t word = 0; word < SCAN_WORDS && is_on_stack(walk, sp + 8 * word); word++) {
		if (!follows_call(load(sp + 8 * word)))
			continue;
		walk->result.scanned = true;
		uintptr_t bp = walk->registers[SN_REG_RBP];
		enter_caller(walk, sp + 8 * word + 8, bp);
		return true;
	}
	return false;
}

static enum step step_without_rule(struct walk *walk)
{
	uintptr_t pc = walk->registers[SN_REG_RIP];
	if (!pc)
		return STEP_END;
	if (is_signal_return(pc))
		return step_over_signal(walk);
	/* a leaf at its first instruction has not yet saved rbp: its return address is on top */
	if (!walk->is_return && is_on_stack(walk, walk->registers[SN_REG_RSP]) &&
	    follows_call(load(walk->registers[SN_REG_RSP])) &&
	    sn_module_find(pc) == SN_MODULE_NONE) {
		enter_caller(walk, walk->registers[SN_REG_RSP] + 8, walk->registers[SN_REG_RBP]);
		return STEP_DONE;
	}
	return step_by_frame_pointer(walk) || step_by_scan(walk) ? STEP_DONE : STEP_LOST;
}

/* ---- the walk ---- */

static enum step step_slowly(struct walk *walk, uint32_t module)
{
	struct sn_cfi_row row;
	uintptr_t inside = walk->registers[SN_REG_RIP] - walk->is_return;
	if (module == SN_MODULE_NONE || sn_cfi_find(sn_module_at(module), inside, &row))
		return step_without_rule(walk);
	return step_by_row(walk, &row);
}

static enum step step_fast(struct walk *walk, struct rule rule)
{
	uintptr_t base = walk->registers[rule.kind == RULE_SP ? SN_REG_RSP : SN_REG_RBP];
	uintptr_t cfa = base + (uintptr_t)(intptr_t)rule.cfa_offset;
	uintptr_t bp = walk->registers[SN_REG_RBP];
	if (!is_on_stack(walk, cfa - 8) || cfa <= walk->registers[SN_REG_RSP])
		return STEP_LOST;
	if (rule.bp_words != BP_UNTOUCHED) {
		uintptr_t slot = cfa + (uintptr_t)((intptr_t)rule.bp_words * 8);
		if (!is_on_stack(walk, slot))
			return STEP_LOST;
		bp = load(slot);
	}
	enter_caller(walk, cfa, bp);
	return STEP_DONE;
}

static void append_frame(struct walk *walk, uint32_t module)
{
	walk->frames[walk->count++] =
	    (struct sn_native_frame){.pc = walk->registers[SN_REG_RIP],
				     .cfa = walk->registers[SN_REG_RSP],
				     .module = module,
				     .flags = walk->is_return ? SN_NATIVE_RETURN_ADDRESS : 0};
}

static enum step step(struct walk *walk)
{
	uintptr_t pc = walk->registers[SN_REG_RIP];
	if (!pc)
		return STEP_END;
	if (walk->slow) {
		uint32_t module = sn_module_find_or_refresh(pc - walk->is_return);
		append_frame(walk, module);
		return step_slowly(walk, module);
	}
	struct cache_entry *entry = look_up(walk, pc);
	append_frame(walk, entry->module);
	switch (entry->rule.kind) {
	case RULE_SP:
	case RULE_BP:
		return step_fast(walk, entry->rule);
	case RULE_END:
		return STEP_END;
	case RULE_SLOW:
		return step_slowly(walk, entry->module);
	}
	return step_without_rule(walk);
}

/*
 * The previous path from its frame `index` on, if every return address of it still lies where it
 * lay. A frame is known by the slot of its return address and the value there, so equal slots mean
 * equal frames; docs/design/unwinding.md says when that could be wrong.
 */
static bool take_kept(struct walk *walk, uint32_t index)
{
	const struct state *state = walk->state;
	uint32_t left = state->kept_count - index;
	if (left > walk->max - walk->count)
		return false;
	for (uint32_t next = index + 1; next < state->kept_count; next++)
		if (load(state->kept[next - 1].cfa - 8) != state->kept[next].pc)
			return false;
	memcpy(&walk->frames[walk->count], &state->kept[index], left * sizeof(walk->frames[0]));
	walk->count += left;
	walk->result.complete = state->kept_complete;
	return true;
}

/* Advances `index` to the kept frame with the newest frame's CFA; true where it is the same frame.
 */
static bool meets_kept(const struct walk *walk, uint32_t *index)
{
	const struct state *state = walk->state;
	const struct sn_native_frame *newest = &walk->frames[walk->count - 1];
	while (*index < state->kept_count && state->kept[*index].cfa < newest->cfa)
		++*index;
	return *index < state->kept_count && state->kept[*index].cfa == newest->cfa &&
	       state->kept[*index].pc == newest->pc && newest->flags & SN_NATIVE_RETURN_ADDRESS;
}

static enum step walk_frames(struct walk *walk)
{
	uint32_t kept = 0;
	while (walk->count < walk->max) {
		enum step status = step(walk);
		if (status != STEP_DONE)
			return status;
		/* the newest frame's CFA is known now, so it can be compared */
		if (!walk->slow && meets_kept(walk, &kept) && kept + 1 < walk->state->kept_count &&
		    load(walk->state->kept[kept].cfa - 8) == walk->state->kept[kept + 1].pc &&
		    take_kept(walk, kept + 1))
			return STEP_KEPT;
	}
	walk->result.too_deep = true;
	return STEP_LOST;
}

/* Keeps the outermost frames: those from the last signal frame on, all on one stack and found by
 * rules. */
static void keep_path(struct walk *walk)
{
	struct state *state = walk->state;
	uint32_t first = walk->count > KEEP_MAX ? walk->count - KEEP_MAX : 0;
	for (uint32_t index = walk->count; index-- > first;) {
		const struct sn_native_frame *frame = &walk->frames[index];
		bool in_order = index + 1 == walk->count ||
				frame->cfa < walk->frames[index + 1].cfa ||
				index + 2 == walk->count;
		if (frame->flags & ~(unsigned)SN_NATIVE_RETURN_ADDRESS || !in_order ||
		    frame->cfa < walk->own.low || frame->cfa > walk->own.high) {
			first = index + 1;
			break;
		}
	}
	state->kept_count = walk->count - first;
	state->kept_complete = walk->result.complete;
	memcpy(state->kept, &walk->frames[first], state->kept_count * sizeof(state->kept[0]));
}

static struct state *state_of(struct sn_unwinder *unwinder)
{
	struct state *state = unwinder->state;
	uint32_t unloads = sn_module_unloads();
	if (!state)
		state = unwinder->state = sn_pages_map(sizeof(*state));
	if (state && state->unloads != unloads) {
		memset(state->cache, 0, sizeof(state->cache));
		state->kept_count = 0;
		state->unloads = unloads;
	}
	return state;
}

static void run(struct walk *walk, const uintptr_t *registers, uint32_t known)
{
	memcpy(walk->registers, registers, sizeof(walk->registers));
	walk->known = known;
	walk->is_return = false;
	walk->count = 0;
	walk->now = walk->own;
	walk->result = (struct sn_unwind_result){0};
	enum step status = walk_frames(walk);
	if (status == STEP_NEED_REGISTERS) {
		walk->slow = true;
		run(walk, registers, known);
		return;
	}
	if (status == STEP_END)
		walk->result.complete = true;
	walk->result.count = walk->count;
}

static bool same_path(const struct sn_native_frame *a, const struct sn_native_frame *b,
		      uint32_t count)
{
	for (uint32_t index = 0; index < count; index++)
		if (a[index].pc != b[index].pc)
			return false;
	return true;
}

/* The whole again without caches, and a comparison. */
static bool disagrees(const struct walk *fast, const uintptr_t *registers, uint32_t known)
{
	static __thread struct sn_native_frame frames[SN_UNWIND_MAX]
	    __attribute__((tls_model("initial-exec")));
	struct walk slow = *fast;
	slow.slow = true;
	slow.frames = frames;
	slow.max = fast->max < SN_UNWIND_MAX ? fast->max : SN_UNWIND_MAX;
	run(&slow, registers, known);
	return slow.count != fast->count || !same_path(fast->frames, frames, slow.count);
}

static struct sn_unwind_result unwind(struct sn_unwinder *unwinder, const uintptr_t *registers,
				      uint32_t known, uintptr_t stack_low, uintptr_t stack_high,
				      struct sn_native_frame *frames, uint32_t max)
{
	struct walk walk = {.state = state_of(unwinder),
			    .own = {stack_low, stack_high},
			    .frames = frames,
			    .max = max};
	if (!walk.state || !max)
		return (struct sn_unwind_result){0};
	run(&walk, registers, known);
	if (atomic_load_explicit(&shadow_mode, memory_order_relaxed))
		walk.result.mismatch = disagrees(&walk, registers, known);
	if (!walk.slow)
		keep_path(&walk);
	return walk.result;
}

struct sn_unwind_result sn_unwind(struct sn_unwinder *unwinder, const ucontext_t *context,
				  uintptr_t stack_low, uintptr_t stack_high,
				  struct sn_native_frame *frames, uint32_t max)
{
	static const uint8_t order[SN_REG_COUNT] = {
	    [SN_REG_RAX] = REG_RAX, [SN_REG_RDX] = REG_RDX, [SN_REG_RCX] = REG_RCX,
	    [SN_REG_RBX] = REG_RBX, [SN_REG_RSI] = REG_RSI, [SN_REG_RDI] = REG_RDI,
	    [SN_REG_RBP] = REG_RBP, [SN_REG_RSP] = REG_RSP, [SN_REG_R8] = REG_R8,
	    [SN_REG_R9] = REG_R9,   [SN_REG_R10] = REG_R10, [SN_REG_R11] = REG_R11,
	    [SN_REG_R12] = REG_R12, [SN_REG_R13] = REG_R13, [SN_REG_R14] = REG_R14,
	    [SN_REG_R15] = REG_R15, [SN_REG_RIP] = REG_RIP};
	uintptr_t registers[SN_REG_COUNT];
	for (uint32_t number = 0; number < SN_REG_COUNT; number++)
		registers[number] = (uintptr_t)context->uc_mcontext.gregs[order[number]];
	return unwind(unwinder, registers, KNOWN_ALL, stack_low, stack_high, frames, max);
}

/* The registers a call preserves are the caller's still, unless this function's prologue saved
 * them: the walk starts in this function and finds them by its own information. */
struct sn_unwind_result __attribute__((noinline))
sn_unwind_here(struct sn_unwinder *unwinder, uintptr_t stack_low, uintptr_t stack_high,
	       struct sn_native_frame *frames, uint32_t max)
{
	uintptr_t registers[SN_REG_COUNT] = {0};
	__asm__ volatile(
	    "leaq 0(%%rip), %%rax\n\t"
	    "movq %%rax, %c[rip](%[registers])\n\t"
	    "movq %%rsp, %c[rsp](%[registers])\n\t"
	    "movq %%rbp, %c[rbp](%[registers])\n\t"
	    "movq %%rbx, %c[rbx](%[registers])\n\t"
	    "movq %%r12, %c[r12](%[registers])\n\t"
	    "movq %%r13, %c[r13](%[registers])\n\t"
	    "movq %%r14, %c[r14](%[registers])\n\t"
	    "movq %%r15, %c[r15](%[registers])\n\t"
	    :
	    : [registers] "r"(registers), [rip] "i"(8 * SN_REG_RIP), [rsp] "i"(8 * SN_REG_RSP),
	      [rbp] "i"(8 * SN_REG_RBP), [rbx] "i"(8 * SN_REG_RBX), [r12] "i"(8 * SN_REG_R12),
	      [r13] "i"(8 * SN_REG_R13), [r14] "i"(8 * SN_REG_R14), [r15] "i"(8 * SN_REG_R15)
	    : "rax", "memory");
	return unwind(unwinder, registers, KNOWN_FAST | KNOWN_KEPT, stack_low, stack_high, frames,
		      max);
}
