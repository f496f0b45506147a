/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fast walk, the path it remembers, and the shadow check; see unwind.h.
 *
 * A frame's state is its program counter, stack pointer and frame pointer. Nearly every frame's
 * rule computes the caller's state from these and at most three words of the stack. So where a
 * frame's state equals that of a frame of the previous path, and the words that the rest of that
 * path was computed from still hold what they held, the rest is what walking on would give, and it
 * is taken over. Frames whose rule needs more (kept in known.repeatable) are walked each time.
 */
#include "unwind.h"
#include "arena.h"
#include "rule.h"
#include "step.h"

#include <stdatomic.h>
#include <string.h>

#define CACHE_BITS    10
#define CACHE_ENTRIES (1u << CACHE_BITS)

struct cached_rule {
	uint64_t key, rule;
};

/* How a frame of the walk under way was left; its pc, CFA, module and flags are in the caller's
 * array. */
struct walked {
	uintptr_t fp;
	uint64_t rule; /* as applied: a guess by frame pointer is noted as the rule it amounts to */
};

/* A frame of the previous path. */
struct known {
	struct sn_native_frame frame;
	uintptr_t sp, fp;
	uintptr_t caller_pc;	      /* the word below the CFA */
	uintptr_t fp_slot;	      /* holds the caller's fp, where that matters; else 0 */
	uintptr_t cfa_slot, cfa_word; /* the CFA was computed from this word; slot 0: it was not */
	bool fp_matters;	      /* this frame or one further out is computed from fp */
	bool has_caller;
	bool repeatable; /* this frame and all further out depend on the above alone */
};

struct state {
	uint64_t salt;	     /* in the keys of the cache: changes when a module is unloaded */
	uint32_t generation; /* of the module list, when the path was walked */
	uint32_t known_count;
	uintptr_t stack_high; /* of the path */
	struct sn_window window;
	struct cached_rule cache[CACHE_ENTRIES];
	struct walked walked[SN_UNWIND_MAX];
	struct known known[SN_UNWIND_MAX]; /* outermost first */
};

static _Atomic bool shadow_mode;
static _Atomic bool reuse_off; /* for measuring the walk alone */

void sn_unwind_set_shadow(bool on)
{
	atomic_store_explicit(&shadow_mode, on, memory_order_relaxed);
}

void sn_unwind_set_reuse(bool on)
{
	atomic_store_explicit(&reuse_off, !on, memory_order_relaxed);
}

void sn_unwinder_release(struct sn_unwinder *unwinder)
{
	sn_pages_unmap(unwinder->state, sizeof(struct state));
	unwinder->state = NULL;
}

/* One unwind under way. */
struct walk {
	struct state *state;
	struct sn_stack stack;
	struct sn_native_frame *frames;
	uint32_t count, max;
	uintptr_t pc, sp, fp; /* of the frame that comes next */
	uint32_t flags;	      /* of it */
	bool done;
	struct sn_unwind_result result;

	/* Every register of frame `deep_index`, for frames that need more than fp and sp. */
	struct sn_cursor deep;
	int32_t deep_index;

	uint32_t meeting;     /* known[meeting - 1] is the next that could be met; 0 none */
	uintptr_t meeting_sp; /* its sp, or UINTPTR_MAX */
	uint32_t verified;    /* known[0..verified) still holds */
	uint32_t reused;      /* known[0..reused) is the path's outer end */
};

static uintptr_t inside_of(const struct walk *walk)
{
	return walk->pc - (walk->flags & SN_NATIVE_RETURN_ADDRESS);
}

/* ---- rules ---- */

static struct cached_rule *cache_slot(struct state *state, uintptr_t inside)
{
	return &state->cache[(inside ^ inside >> CACHE_BITS) % CACHE_ENTRIES];
}

static uint64_t __attribute__((noinline)) fetch_rule(struct walk *walk, uintptr_t inside)
{
	bool lasting;
	uint64_t rule = sn_rule_find(inside, &lasting);
	struct cached_rule *slot = cache_slot(walk->state, inside);
	if (lasting)
		*slot = (struct cached_rule){inside ^ walk->state->salt, rule};
	return rule;
}

static uint32_t module_of(uint64_t rule)
{
	uint32_t module = SN_RULE_MODULE(rule);
	return module == SN_RULE_MODULE_NONE ? SN_MODULE_NONE : module;
}

/* ---- the previous path ---- */

/* The words of one frame still are what the path was computed from. */
static bool still_holds(const struct walk *walk, uint32_t index)
{
	const struct known *known = &walk->state->known[index];
	struct sn_stack stack = walk->stack;
	uintptr_t word;
	if (!known->has_caller)
		return true;
	if (!sn_stack_is_own(&stack, known->frame.cfa - SN_RETURN_SLOT) ||
	    !sn_stack_read(&stack, known->frame.cfa - SN_RETURN_SLOT, &word) ||
	    word != known->caller_pc)
		return false;
	if (known->fp_slot &&
	    (!sn_stack_is_own(&stack, known->fp_slot) ||
	     !sn_stack_read(&stack, known->fp_slot, &word) || word != known[-1].fp))
		return false;
	return !known->cfa_slot ||
	       (sn_stack_is_own(&stack, known->cfa_slot) &&
		sn_stack_read(&stack, known->cfa_slot, &word) && word == known->cfa_word);
}

static void await(struct walk *walk, uint32_t meeting)
{
	walk->meeting = meeting;
	walk->meeting_sp = meeting ? walk->state->known[meeting - 1].sp : UINTPTR_MAX;
}

/* Copies the rest of the previous path behind the frames walked. */
static void take_known(struct walk *walk, uint32_t count)
{
	const struct known *known = walk->state->known;
	uint32_t room = walk->max - walk->count, taken = count < room ? count : room;
	struct sn_native_frame *frames = &walk->frames[walk->count];
	for (uint32_t index = 0; index < taken; index++)
		frames[index] = known[count - 1 - index].frame;
	frames[0].flags = walk->flags; /* how this walk found it */
	walk->count += taken;
	walk->reused = count;
	walk->done = true;
	walk->result.complete = taken == count;
	walk->result.too_deep = taken < count;
}

/* The walk has come to or beyond the stack pointer of the known frame awaited. True: it is met. */
static bool __attribute__((noinline)) meet(struct walk *walk)
{
	const struct known *known = walk->state->known;
	uint32_t at = walk->meeting;
	while (at && known[at - 1].sp < walk->sp)
		at--;
	await(walk, at);
	if (!at || known[at - 1].sp != walk->sp)
		return false;
	const struct known *candidate = &known[at - 1];
	await(walk, at - 1);
	if (!candidate->repeatable || candidate->frame.pc != walk->pc ||
	    ((candidate->frame.flags ^ walk->flags) & SN_NATIVE_RETURN_ADDRESS) ||
	    (candidate->fp_matters && candidate->fp != walk->fp))
		return false;
	while (walk->verified < at && still_holds(walk, walk->verified))
		walk->verified++;
	if (walk->verified < at) {
		/* no frame can be met inside of one that has changed */
		await(walk, walk->verified);
		return false;
	}
	take_known(walk, at);
	return true;
}

/* ---- one frame ---- */

static void put_frame(struct walk *walk, uintptr_t cfa, uint64_t rule)
{
	walk->state->walked[walk->count] = (struct walked){walk->fp, rule};
	walk->frames[walk->count++] =
	    (struct sn_native_frame){walk->pc, cfa, module_of(rule), walk->flags};
}

static void enter(struct walk *walk, const struct sn_cursor *cursor,
		  const struct sn_step_result *result)
{
	walk->pc = cursor->registers.value[SN_REG_PC];
	walk->sp = cursor->registers.value[SN_REG_SP];
	if (cursor->registers.known & SN_KNOWN(SN_REG_FP))
		walk->fp = cursor->registers.value[SN_REG_FP];
	walk->flags = (cursor->is_return ? SN_NATIVE_RETURN_ADDRESS : 0) | result->caller_flags;
	if (result->caller_flags & SN_NATIVE_SCANNED)
		walk->result.scanned = true;
}

static void finish(struct walk *walk, enum sn_step step)
{
	walk->done = true;
	walk->result.complete = step == SN_STEP_END;
}

static struct sn_cursor cursor_at(struct walk *walk)
{
	struct sn_cursor cursor = {.is_return = walk->flags & SN_NATIVE_RETURN_ADDRESS,
				   .stack = &walk->stack};
	cursor.registers.value[SN_REG_PC] = walk->pc;
	cursor.registers.value[SN_REG_SP] = walk->sp;
	cursor.registers.value[SN_REG_FP] = walk->fp;
	cursor.registers.known = SN_KNOWN_WALK;
	return cursor;
}

/* A frame whose rule needs registers that the walk does not carry: they are followed from the
 * start. */
static void step_deep(struct walk *walk, uint64_t rule)
{
	struct sn_step_result result = {0};
	enum sn_step step = SN_STEP_CALLER;
	int32_t index = (int32_t)walk->count;
	put_frame(walk, walk->sp, rule);
	while (step == SN_STEP_CALLER && walk->deep_index < index) {
		step = sn_step(&walk->deep, &result);
		walk->deep_index++;
	}
	if (step != SN_STEP_CALLER || walk->deep.registers.value[SN_REG_PC] != walk->pc)
		return finish(walk, SN_STEP_LOST);
	step = sn_step(&walk->deep, &result);
	walk->deep_index++;
	walk->frames[index].cfa = result.cfa;
	if (result.flags)
		walk->frames[index].flags = result.flags;
	if (step != SN_STEP_CALLER)
		return finish(walk, step);
	enter(walk, &walk->deep, &result);
}

static void step_by_guess(struct walk *walk, uint64_t rule)
{
	struct sn_cursor cursor = cursor_at(walk);
	struct sn_step_result result = {0};
	uintptr_t fp = walk->fp;
	enum sn_step step = sn_step_guess(&cursor, &result);
	/* the end depends on the frame pointer alone, which describe() is told so */
	put_frame(walk, result.cfa,
		  step == SN_STEP_END ? (rule & ~7ull) | SN_RULE_END | SN_RULE_SAVED_BY_FP : rule);
	if (step != SN_STEP_CALLER)
		return finish(walk, step);
	bool was_return = walk->flags & SN_NATIVE_RETURN_ADDRESS;
	enter(walk, &cursor, &result);
	if (was_return && result.caller_flags == SN_NATIVE_FRAME_POINTER && result.cfa == fp + 16)
		walk->state->walked[walk->count - 1].rule =
		    (rule & ~7ull) | SN_RULE_FP | SN_RULE_SAVED | SN_RULE_SAVED_BY_FP;
}

static void step_signal(struct walk *walk, uint64_t rule)
{
	struct sn_cursor cursor = cursor_at(walk);
	struct sn_step_result result = {0};
	enum sn_step step = sn_step_signal(&cursor, &result);
	put_frame(walk, step == SN_STEP_CALLER ? result.cfa : walk->sp, rule);
	walk->frames[walk->count - 1].flags = result.flags;
	if (step != SN_STEP_CALLER)
		return finish(walk, step);
	enter(walk, &cursor, &result);
}

/* By a rule, with every read checked. */
static void step_by_rule(struct walk *walk, uint64_t rule)
{
	enum sn_rule_kind kind = SN_RULE_KIND(rule);
	uintptr_t cfa =
	    (SN_RULE_BY_FP(rule) ? walk->fp : walk->sp) + (uintptr_t)SN_RULE_OFFSET(rule);
	uintptr_t fp = walk->fp, pc;
	bool found = true;
	if (kind == SN_RULE_WORD_SP || kind == SN_RULE_WORD_FP) {
		found = sn_stack_read(&walk->stack, cfa, &cfa);
		cfa += (uintptr_t)SN_RULE_ADDED(rule);
	}
	uintptr_t slot = rule & SN_RULE_SAVED_BY_FP ? fp : cfa - 8 * SN_RULE_DISTANCE(rule);
	bool grows = cfa > walk->sp || SN_RULE_IS_SPECIAL(rule);
	put_frame(walk, found ? cfa : walk->sp, rule);
	if (!found || !grows || !sn_stack_read(&walk->stack, cfa - SN_RETURN_SLOT, &pc) ||
	    ((rule & SN_RULE_SAVED) && !sn_stack_read(&walk->stack, slot, &fp)))
		return finish(walk, SN_STEP_LOST);
	walk->pc = pc;
	walk->sp = cfa;
	walk->fp = fp;
	walk->flags = SN_NATIVE_RETURN_ADDRESS;
}

static void __attribute__((noinline)) step_special(struct walk *walk, uint64_t rule)
{
	if (!walk->pc)
		return finish(walk, SN_STEP_END);
	switch (SN_RULE_KIND(rule)) {
	case SN_RULE_SIGNAL:
		return step_signal(walk, rule);
	case SN_RULE_END:
		put_frame(walk, walk->sp + (uintptr_t)SN_RULE_OFFSET(rule), rule);
		return finish(walk, SN_STEP_END);
	case SN_RULE_SLOW:
		return step_deep(walk, rule);
	case SN_RULE_GUESS:
		return step_by_guess(walk, rule);
	default:
		return step_by_rule(walk, rule);
	}
}

/* ---- the walk ---- */

/*
 * Frames with plain rules on the thread's own stack, until one comes that is not, or a known one is
 * met. This is the loop that a warm unwind spends its time in: it carries its state in registers.
 */
__attribute__((no_sanitize("address"))) static uint64_t walk_plain(struct walk *walk)
{
	struct state *state = walk->state;
	const uintptr_t low = walk->stack.low, high = walk->stack.high, salt = state->salt;
	uintptr_t pc = walk->pc, sp = walk->sp, fp = walk->fp, meeting_sp = walk->meeting_sp;
	uintptr_t inside = inside_of(walk);
	uint32_t count = walk->count, flags = walk->flags;
	uint64_t rule = 0;
	while (count < walk->max && sp < meeting_sp) {
		const struct cached_rule *cached = cache_slot(state, inside);
		rule = cached->rule;
		if (__builtin_expect(cached->key != (inside ^ salt), 0))
			rule = fetch_rule(walk, inside);
		uintptr_t cfa = (SN_RULE_BY_FP(rule) ? fp : sp) + (uintptr_t)SN_RULE_OFFSET(rule);
		uintptr_t slot = cfa - 8 * SN_RULE_DISTANCE(rule);
		/* slot is below the CFA, so these bound the return address's place too */
		if (__builtin_expect(
			SN_RULE_IS_SPECIAL(rule) || cfa <= sp || cfa > high || slot < low, 0))
			break;
		state->walked[count] = (struct walked){fp, rule};
		walk->frames[count++] = (struct sn_native_frame){pc, cfa, module_of(rule), flags};
		pc = *(const uintptr_t *)(cfa - SN_RETURN_SLOT);
		uintptr_t saved = *(const uintptr_t *)slot;
		fp = rule & SN_RULE_SAVED ? saved : fp;
		sp = cfa;
		inside = pc - 1;
		flags = SN_NATIVE_RETURN_ADDRESS;
	}
	walk->pc = pc;
	walk->sp = sp;
	walk->fp = fp;
	walk->flags = flags;
	walk->count = count;
	return rule;
}

static void walk_frames(struct walk *walk)
{
	while (!walk->done) {
		uint64_t rule = walk_plain(walk);
		if (walk->count == walk->max) {
			walk->result.too_deep = true;
			return;
		}
		if (walk->sp >= walk->meeting_sp) {
			if (walk->sp == UINTPTR_MAX)
				return; /* no stack is there, and no frame is awaited */
			if (meet(walk))
				return;
			continue;
		}
		step_special(walk, rule);
	}
}

/* ---- remembering ---- */

static bool is_repeatable(const struct walk *walk, const struct known *known, uint64_t rule)
{
	switch (SN_RULE_KIND(rule)) {
	case SN_RULE_SIGNAL:
	case SN_RULE_SLOW:
	case SN_RULE_GUESS:
		return false;
	case SN_RULE_END:
		return true;
	default:
		return sn_stack_is_own(&walk->stack, known->frame.cfa - SN_RETURN_SLOT);
	}
}

/* Fills in what a frame's caller was computed from. `outer` is the caller, NULL for none. */
static void describe(struct known *known, const struct known *outer, uint64_t rule)
{
	enum sn_rule_kind kind = SN_RULE_KIND(rule);
	uintptr_t base = SN_RULE_BY_FP(rule) ? known->fp : known->sp;
	bool outer_matters = outer && outer->fp_matters;
	known->has_caller = kind <= SN_RULE_WORD_FP;
	known->caller_pc = outer ? outer->frame.pc : 0;
	known->fp_matters =
	    kind == SN_RULE_FP || kind == SN_RULE_WORD_FP ||
	    (kind == SN_RULE_END && rule & SN_RULE_SAVED_BY_FP) ||
	    (outer_matters && (!(rule & SN_RULE_SAVED) || rule & SN_RULE_SAVED_BY_FP));
	known->fp_slot = known->cfa_slot = 0;
	if (outer_matters && (rule & SN_RULE_SAVED))
		known->fp_slot = rule & SN_RULE_SAVED_BY_FP
				     ? known->fp
				     : known->frame.cfa - 8 * SN_RULE_DISTANCE(rule);
	if (kind == SN_RULE_WORD_SP || kind == SN_RULE_WORD_FP) {
		known->cfa_slot = base + (uintptr_t)SN_RULE_OFFSET(rule);
		known->cfa_word = known->frame.cfa - (uintptr_t)SN_RULE_ADDED(rule);
	}
}

/* Puts the frames walked on top of those reused. Only complete paths are worth it. */
static void remember(struct walk *walk, uintptr_t first_sp)
{
	struct state *state = walk->state;
	uint32_t walked = walk->count - walk->reused;
	if (!walk->result.complete) {
		state->known_count = 0;
		return;
	}
	for (uint32_t index = walked; index-- > 0;) {
		uint32_t place = walk->count - 1 - index;
		struct known *known = &state->known[place], *outer = place ? known - 1 : NULL;
		uint64_t rule = state->walked[index].rule;
		known->frame = walk->frames[index];
		known->sp = index ? walk->frames[index - 1].cfa : first_sp;
		known->fp = state->walked[index].fp;
		describe(known, outer, rule);
		known->repeatable =
		    is_repeatable(walk, known, rule) && (!outer || outer->repeatable);
	}
	state->known_count = walk->count;
	state->stack_high = walk->stack.high;
}

/* ---- an unwind ---- */

static struct state *state_of(struct sn_unwinder *unwinder)
{
	if (!unwinder->state)
		unwinder->state = sn_pages_map(sizeof(struct state));
	return unwinder->state;
}

/* Forgets what a change of the module list or another stack has made void. */
static void check_state(struct walk *walk)
{
	struct state *state = walk->state;
	uint32_t generation = sn_module_generation();
	/* a salt of 0 would take an empty slot for the rule at address 0 */
	state->salt = ((uint64_t)sn_module_unloads() << 1 | 1) << 47;
	if (state->generation != generation || state->stack_high != walk->stack.high ||
	    atomic_load_explicit(&reuse_off, memory_order_relaxed))
		state->known_count = 0;
	state->generation = generation;
	state->window.bytes = 0;
}

/* What may be read directly: from the stack pointer up, where it is on the thread's own stack. */
static struct sn_stack own_stack(struct state *state, uintptr_t sp, uintptr_t low, uintptr_t high)
{
	struct sn_stack stack = {.window = &state->window};
	if (sp < low || sp >= high)
		return stack;
	stack.low = sp - low < SN_RED_ZONE_BYTES ? low : sp - SN_RED_ZONE_BYTES;
	stack.high = high;
	return stack;
}

/* The same path, walked from the start by sn_step alone. False where it differs. */
static bool agrees(const struct walk *walk, struct sn_cursor cursor)
{
	enum { COMPARED = SN_NATIVE_RETURN_ADDRESS | SN_NATIVE_SIGNAL };
	enum sn_step step = SN_STEP_CALLER;
	struct sn_stack stack = walk->stack;
	cursor.stack = &stack;
	for (uint32_t index = 0; index < walk->count; index++) {
		const struct sn_native_frame *frame = &walk->frames[index];
		struct sn_step_result result;
		uintptr_t pc = cursor.registers.value[SN_REG_PC];
		uint32_t flags = cursor.is_return ? SN_NATIVE_RETURN_ADDRESS : 0;
		if (step != SN_STEP_CALLER || pc != frame->pc)
			return false;
		step = sn_step(&cursor, &result);
		flags |= result.flags;
		if (flags & SN_NATIVE_SIGNAL)
			flags &= ~(uint32_t)SN_NATIVE_RETURN_ADDRESS;
		if (((flags ^ frame->flags) & COMPARED) ||
		    (step == SN_STEP_CALLER && result.cfa != frame->cfa))
			return false;
	}
	if (walk->result.too_deep)
		return step == SN_STEP_CALLER;
	if (step == SN_STEP_CALLER && !cursor.registers.value[SN_REG_PC])
		step = SN_STEP_END;
	return walk->result.complete == (step == SN_STEP_END);
}

static void run(struct walk *walk)
{
	uintptr_t first_sp = walk->sp;
	check_state(walk);
	await(walk, walk->state->known_count);
	walk_frames(walk);
	walk->result.count = walk->count;
	if (atomic_load_explicit(&reuse_off, memory_order_relaxed))
		return;
	remember(walk, first_sp);
}

static uint32_t limited(uint32_t max)
{
	return max < SN_UNWIND_MAX ? max : SN_UNWIND_MAX;
}

struct sn_unwind_result sn_unwind(struct sn_unwinder *unwinder, const ucontext_t *context,
				  uintptr_t stack_low, uintptr_t stack_high,
				  struct sn_native_frame *frames, uint32_t max)
{
	struct walk walk = {.state = state_of(unwinder), .frames = frames, .max = limited(max)};
	if (!walk.state || !max)
		return (struct sn_unwind_result){0};
	sn_machine_from_context(context, &walk.deep.registers);
	walk.deep.stack = &walk.stack;
	walk.pc = walk.deep.registers.value[SN_REG_PC];
	walk.sp = walk.deep.registers.value[SN_REG_SP];
	walk.fp = walk.deep.registers.value[SN_REG_FP];
	walk.stack = own_stack(walk.state, walk.sp, stack_low, stack_high);
	bool shadow = atomic_load_explicit(&shadow_mode, memory_order_relaxed);
	struct sn_cursor start = walk.deep;
	run(&walk);
	if (shadow)
		walk.result.mismatch = !agrees(&walk, start);
	return walk.result;
}

struct sn_unwind_result __attribute__((noinline))
sn_unwind_here(struct sn_unwinder *unwinder, uintptr_t stack_low, uintptr_t stack_high,
	       struct sn_native_frame *frames, uint32_t max)
{
	/* asking for this makes the compiler give this function a frame pointer */
	const uintptr_t *frame = __builtin_frame_address(0);
	struct walk walk = {.state = state_of(unwinder), .frames = frames, .max = limited(max)};
	struct sn_step_result result;
	if (!walk.state || !max)
		return (struct sn_unwind_result){0};
	walk.pc = frame[1];
	walk.sp = (uintptr_t)&frame[2];
	walk.fp = frame[0];
	walk.flags = SN_NATIVE_RETURN_ADDRESS;
	walk.stack = own_stack(walk.state, (uintptr_t)frame, stack_low, stack_high);
	/* the registers of here become the caller's by one step, which is taken when they are
	 * needed */
	SN_MACHINE_CAPTURE(&walk.deep.registers);
	walk.deep.stack = &walk.stack;
	walk.deep_index = -1;
	struct sn_cursor start = walk.deep;
	run(&walk);
	if (atomic_load_explicit(&shadow_mode, memory_order_relaxed))
		walk.result.mismatch =
		    sn_step(&start, &result) != SN_STEP_CALLER || !agrees(&walk, start);
	return walk.result;
}
