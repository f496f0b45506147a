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
#include "own_stack.h"
#include "unwind.h"

#include "module_list.h"
#include "collect/core/arena.h"
#include "origin.h"
#include "path_store.h"
#include "rule.h"
#include "step.h"

#include <stdatomic.h>
#include <string.h>

#define CACHE_BITS    10
#define CACHE_ENTRIES (1u << CACHE_BITS)

/*
 * A rule with a guess of where its caller's rule is cached: where it was the last time. The walk
 * follows the guesses and checks each against the return address it reads, so that the processor
 * need not wait for one frame's return address before it begins with the next frame.
 */
struct cached_rule {
	uint64_t key, rule;
	struct cached_rule *caller;
};

/* Steps that lead to no higher address: to another stack, or round in circles. */
#define JUMPS_MOST 1024u

/* Where one of these led, kept for twice as many as the one before (Brent, "An improved Monte Carlo
 * factorization algorithm", 1980): a walk that comes there again goes round for ever. */
struct ring {
	uintptr_t pc, sp, fp;
	uint32_t change;
};

/* One unwind under way. In the thread's state, for there may be little of a stack. */
struct walk {
	struct state *state;
	struct sn_stack stack;
	struct sn_native_frame *frames; /* store.fresh */
	uint32_t count;			/* of frames, there or in store.path */
	uint32_t room;			/* no more than these now, */
	uint32_t max;			/* and than these at all */
	uint32_t jumps;
	struct ring ring;
	uintptr_t pc, sp, fp;	      /* of the frame that comes next */
	uint32_t flags;		      /* of it */
	struct cached_rule *callee;   /* rule of the frame before, to learn where this one's is */
	struct cached_rule no_callee; /* the first frame's callee */
	bool done;
	struct sn_unwind_result result;

	/* Every register of frame `deep_index`, for frames that need more than fp and sp. */
	struct sn_unwind_cursor deep;
	int32_t deep_index;

	uint32_t meeting;     /* known[meeting - 1] is the next that could be met; 0 none */
	uintptr_t meeting_sp; /* its sp, or UINTPTR_MAX */
	uint32_t verified;    /* inputs[0..verified) still hold */
	uint32_t reused;      /* known[0..reused) is the path's outer end */
};

struct state {
	uint64_t salt;	     /* in the keys of the cache: changes when a module is unloaded */
	uint32_t generation; /* of the module list, when the path was walked */
	uint32_t known_count;
	uintptr_t stack_high;	       /* of the path */
	struct sn_unwind_cursor start; /* of the walk, for the shadow check */
	struct walk walk;
	struct sn_window window;
	struct cached_rule cache[CACHE_ENTRIES];
	struct sn_path_store store;
};

/* The previous path's frame that known[index] belongs to. */
static struct sn_native_frame *path_at(struct state *state, uint32_t index)
{
	return &state->store.path[state->store.room - 1 - index];
}

static _Atomic bool shadow_mode;
static _Atomic bool reuse_off; /* for measuring the walk alone */

void sn_unwind_set_shadow(bool on)
{
	atomic_store_explicit(&shadow_mode, on, memory_order_relaxed);
}

bool sn_unwind_shadow(void)
{
	return atomic_load_explicit(&shadow_mode, memory_order_relaxed);
}

void sn_unwind_set_reuse(bool on)
{
	atomic_store_explicit(&reuse_off, !on, memory_order_relaxed);
}

void sn_unwinder_release(struct sn_unwinder *unwinder)
{
	struct state *state = unwinder->state;
	if (state)
		sn_path_store_release(&state->store);
	sn_pages_unmap(state, sizeof(struct state));
	unwinder->state = NULL;
}

/* ---- room ---- */

static void set_room(struct walk *walk)
{
	const struct sn_path_store *store = &walk->state->store;
	walk->frames = store->fresh;
	walk->room = store->room < walk->max ? store->room : walk->max;
}

static bool __attribute__((noinline)) grow(struct walk *walk)
{
	struct state *state = walk->state;
	if (!sn_path_store_grow(&state->store, state->known_count, walk->count))
		return false;
	set_room(walk);
	return true;
}

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
		*slot = (struct cached_rule){inside ^ walk->state->salt, rule, slot};
	return rule;
}

static uint32_t module_of(uint64_t rule)
{
	uint32_t module = SN_RULE_MODULE(rule);
	return module == SN_RULE_MODULE_NONE ? SN_MODULE_NONE : module;
}

/* ---- the previous path ---- */

/* inputs[0..end) still hold. They lie on this thread's stack, which the caller has made sure of. */
__attribute__((no_sanitize("address"))) static bool verify(struct walk *walk, uint32_t end)
{
	const struct sn_path_input *inputs = walk->state->store.inputs;
	uint32_t index = walk->verified;
	for (; index + 4 <= end; index += 4) {
		const struct sn_path_input *four = &inputs[index];
		if ((sn_word_at(four[0].slot) ^ four[0].word) |
		    (sn_word_at(four[1].slot) ^ four[1].word) |
		    (sn_word_at(four[2].slot) ^ four[2].word) |
		    (sn_word_at(four[3].slot) ^ four[3].word))
			break;
	}
	while (index < end && sn_word_at(inputs[index].slot) == inputs[index].word)
		index++;
	walk->verified = index;
	return index >= end;
}

static void await(struct walk *walk, uint32_t meeting)
{
	walk->meeting = meeting;
	walk->meeting_sp = meeting ? walk->state->store.known[meeting - 1].sp : UINTPTR_MAX;
}

/* Makes sure of room for so many frames behind those walked. */
static bool has_room(struct walk *walk, uint32_t more)
{
	while (walk->count + more > walk->state->store.room)
		if (!grow(walk)) {
			walk->result.too_deep = true;
			return false;
		}
	return true;
}

/* Copies as much of the previous path behind the frames walked as is asked for. */
static void copy_some(struct walk *walk, uint32_t count)
{
	uint32_t left = walk->max - walk->count, taken = count < left ? count : left;
	if (!has_room(walk, taken))
		return;
	struct sn_native_frame *frames = &walk->frames[walk->count];
	memcpy(frames, path_at(walk->state, count - 1), taken * sizeof(*frames));
	frames[0].flags = walk->flags; /* how this walk found it */
	walk->count += taken;
	walk->result.complete = taken == count;
	walk->result.too_deep = taken < count;
}

/* The rest of the previous path is the rest of this one: it stays where it is, and the frames walked
 * will be put on top of it. */
static void reuse_known(struct walk *walk, uint32_t count)
{
	walk->done = true;
	if (walk->max != SN_UNWIND_ALL)
		return copy_some(walk, count);
	if (!has_room(walk, count))
		return;
	path_at(walk->state, count - 1)->flags = walk->flags;
	walk->count += count;
	walk->reused = count;
	walk->result.complete = true;
}

/* The walk is where the known frame was, with all that matters for what comes then. */
static bool is_at(const struct walk *walk, uint32_t index)
{
	const struct sn_known *known = &walk->state->store.known[index];
	const struct sn_native_frame *frame = path_at(walk->state, index);
	return known->sp == walk->sp && frame->pc == walk->pc &&
	       !((frame->flags ^ walk->flags) & SN_NATIVE_RETURN_ADDRESS) && known->repeatable &&
	       (!known->fp_matters || known->fp == walk->fp) && known->lowest >= walk->stack.low &&
	       walk->stack.low < walk->stack.high;
}

/* The walk has come to or beyond the stack pointer of the known frame awaited. True: it is met. */
static bool __attribute__((noinline)) meet(struct walk *walk)
{
	const struct sn_known *known = walk->state->store.known;
	uint32_t at = walk->meeting;
	while (at && known[at - 1].sp < walk->sp)
		at--;
	await(walk, at);
	if (!at || known[at - 1].sp != walk->sp)
		return false;
	await(walk, at - 1);
	if (!is_at(walk, at - 1))
		return false;
	if (verify(walk, known[at - 1].inputs_end)) {
		reuse_known(walk, at);
		return true;
	}
	/* no frame can be met inside of one that has changed */
	while (at && known[at - 1].inputs_end > walk->verified)
		at--;
	await(walk, at);
	return false;
}

/* ---- one frame ---- */

static void put_frame(struct walk *walk, uintptr_t cfa, uint64_t rule)
{
	walk->state->store.walked[walk->count] = (struct sn_walked){walk->fp, rule};
	walk->frames[walk->count++] =
	    (struct sn_native_frame){walk->pc, cfa, module_of(rule), walk->flags};
}

static void finish(struct walk *walk, enum sn_step step)
{
	walk->done = true;
	walk->result.complete = step == SN_STEP_END;
}

static bool is_ring(struct walk *walk)
{
	struct ring *ring = &walk->ring;
	if (walk->pc == ring->pc && walk->sp == ring->sp && walk->fp == ring->fp)
		return true;
	if (walk->jumps > ring->change)
		*ring = (struct ring){walk->pc, walk->sp, walk->fp, 2 * walk->jumps};
	return false;
}

/* A frame was entered from one at `callee_sp`. What leads upwards ends at the latest where the stack
 * does; the rest must be watched, for the walk to end. */
static void check_progress(struct walk *walk, uintptr_t callee_sp)
{
	if (walk->sp <= callee_sp && (++walk->jumps > JUMPS_MOST || is_ring(walk)))
		finish(walk, SN_STEP_LOST);
}

static void enter(struct walk *walk, const struct sn_unwind_cursor *cursor,
		  const struct sn_step_result *result)
{
	uintptr_t callee_sp = walk->sp;
	walk->pc = cursor->registers.value[SN_REG_PC];
	walk->sp = cursor->registers.value[SN_REG_SP];
	if (cursor->registers.known & SN_KNOWN(SN_REG_FP))
		walk->fp = cursor->registers.value[SN_REG_FP];
	walk->flags = (cursor->is_return ? SN_NATIVE_RETURN_ADDRESS : 0) | result->caller_flags;
	if (result->caller_flags & SN_NATIVE_SCANNED) {
		walk->result.scanned = true;
		walk->jumps++; /* whatever it finds: a long path of these is none */
	}
	check_progress(walk, callee_sp);
}

static struct sn_unwind_cursor cursor_at(struct walk *walk)
{
	struct sn_unwind_cursor cursor = {.is_return = walk->flags & SN_NATIVE_RETURN_ADDRESS,
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
	struct sn_unwind_cursor cursor = cursor_at(walk);
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
		walk->state->store.walked[walk->count - 1].rule =
		    (rule & ~7ull) | SN_RULE_FP | SN_RULE_SAVED | SN_RULE_SAVED_BY_FP;
}

static void step_signal(struct walk *walk, uint64_t rule)
{
	struct sn_unwind_cursor cursor = cursor_at(walk);
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
	uintptr_t callee_sp = walk->sp;
	walk->pc = pc;
	walk->sp = cfa;
	walk->fp = fp;
	walk->flags = SN_NATIVE_RETURN_ADDRESS;
	check_progress(walk, callee_sp);
}

struct slow_step {
	struct walk *walk;
	uint64_t rule;
	void (*step)(struct walk *walk, uint64_t rule);
};

static void run_slow_step(void *argument)
{
	struct slow_step *it = argument;
	it->step(it->walk, it->rule);
}

/* Tables, expressions, instructions and stretches of stack are looked at: more than a hook may use
 * of the program's stack. */
static void step_slowly(struct walk *walk, uint64_t rule, void (*step)(struct walk *, uint64_t))
{
	sn_on_own_stack(run_slow_step, &(struct slow_step){walk, rule, step});
}

static void __attribute__((noinline)) step_special(struct walk *walk, uint64_t rule)
{
	if (!walk->pc)
		return finish(walk, SN_STEP_END);
	switch (SN_RULE_KIND(rule)) {
	case SN_RULE_SIGNAL:
		return step_slowly(walk, rule, step_signal);
	case SN_RULE_END:
		put_frame(walk, walk->sp + (uintptr_t)SN_RULE_OFFSET(rule), rule);
		return finish(walk, SN_STEP_END);
	case SN_RULE_SLOW:
		return step_slowly(walk, rule, step_deep);
	case SN_RULE_GUESS:
		return step_slowly(walk, rule, step_by_guess);
	default:
		return step_by_rule(walk, rule);
	}
}

/* ---- the walk ---- */

/* The cached rule of `inside`, which was not where it was guessed to be; NULL where it cannot be
 * cached. */
static struct cached_rule *__attribute__((noinline))
find_cached(struct walk *walk, uintptr_t inside, struct cached_rule *callee, uint64_t *rule)
{
	struct cached_rule *cached = cache_slot(walk->state, inside);
	if (cached->key != (inside ^ walk->state->salt)) {
		*rule = fetch_rule(walk, inside);
		if (cached->key != (inside ^ walk->state->salt))
			return NULL;
	}
	*rule = cached->rule;
	callee->caller = cached;
	return cached;
}

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
	struct sn_native_frame *frame = &walk->frames[count], *end = &walk->frames[walk->room];
	struct sn_walked *walked = &state->store.walked[count];
	struct cached_rule *cached = cache_slot(state, inside);
	uint64_t rule = 0;
	for (; frame < end && sp < meeting_sp; frame++, walked++) {
		rule = cached->rule;
		if (__builtin_expect(cached->key != (inside ^ salt), 0)) {
			cached = find_cached(walk, inside, walk->callee, &rule);
			if (!cached)
				break;
		}
		uintptr_t cfa = (SN_RULE_BY_FP(rule) ? fp : sp) + (uintptr_t)SN_RULE_OFFSET(rule);
		uintptr_t slot = cfa - 8 * SN_RULE_DISTANCE(rule);
		/* slot is below the CFA, so these bound the return address's place too */
		if (__builtin_expect(
			SN_RULE_IS_SPECIAL(rule) || cfa <= sp || cfa > high || slot < low, 0))
			break;
		*walked = (struct sn_walked){fp, rule};
		*frame = (struct sn_native_frame){pc, cfa, SN_RULE_MODULE(rule), flags};
		pc = sn_word_at(cfa - SN_RETURN_SLOT);
		if (rule & SN_RULE_SAVED)
			fp = sn_word_at(slot);
		sp = cfa;
		inside = pc - 1;
		flags = SN_NATIVE_RETURN_ADDRESS;
		walk->callee = cached;
		cached = cached->caller;
	}
	walk->pc = pc;
	walk->sp = sp;
	walk->fp = fp;
	walk->flags = flags;
	walk->count = (uint32_t)(frame - walk->frames);
	return rule;
}

static void walk_frames(struct walk *walk)
{
	while (!walk->done) {
		uint64_t rule = walk_plain(walk);
		if (walk->count == walk->room) {
			if (walk->room < walk->max && grow(walk))
				continue;
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

static bool is_repeatable(const struct walk *walk, uintptr_t cfa, uint64_t rule)
{
	switch (SN_RULE_KIND(rule)) {
	case SN_RULE_SIGNAL:
	case SN_RULE_SLOW:
	case SN_RULE_GUESS:
		return false;
	case SN_RULE_END:
		return true;
	default:
		return sn_stack_is_own(&walk->stack, cfa - SN_RETURN_SLOT);
	}
}

static void add_input(struct walk *walk, struct sn_known *known, uintptr_t slot, uintptr_t word)
{
	walk->state->store.inputs[known->inputs_end++] = (struct sn_path_input){slot, word};
	if (slot < known->lowest)
		known->lowest = slot;
	known->repeatable &= sn_stack_is_own(&walk->stack, slot);
}

/* What a frame's caller was computed from. `outer` is the caller, NULL for none. */
static void describe(struct walk *walk, struct sn_known *known, uintptr_t cfa,
		     const struct sn_known *outer, uint64_t rule)
{
	enum sn_rule_kind kind = SN_RULE_KIND(rule);
	bool outer_matters = outer && outer->fp_matters, saved = rule & SN_RULE_SAVED;
	uintptr_t base = SN_RULE_BY_FP(rule) ? known->fp : known->sp;
	known->inputs_end = outer ? outer->inputs_end : 0;
	known->lowest = outer ? outer->lowest : UINTPTR_MAX;
	known->repeatable = is_repeatable(walk, cfa, rule) && (!outer || outer->repeatable);
	/* the end of code without information depends on the frame pointer: see step_by_guess */
	known->fp_matters = kind == SN_RULE_FP || kind == SN_RULE_WORD_FP ||
			    rule & SN_RULE_SAVED_BY_FP || (outer_matters && !saved);
	if (kind > SN_RULE_WORD_FP)
		return;
	const struct sn_native_frame *caller =
	    path_at(walk->state, (uint32_t)(known - walk->state->store.known)) + 1;
	add_input(walk, known, cfa - SN_RETURN_SLOT, outer ? caller->pc : 0);
	if (outer_matters && saved)
		add_input(walk, known,
			  rule & SN_RULE_SAVED_BY_FP ? known->fp : cfa - 8 * SN_RULE_DISTANCE(rule),
			  outer->fp);
	if (kind == SN_RULE_WORD_SP || kind == SN_RULE_WORD_FP)
		add_input(walk, known, base + (uintptr_t)SN_RULE_OFFSET(rule),
			  cfa - (uintptr_t)SN_RULE_ADDED(rule));
}

/* Puts the frames walked on top of those reused. Only whole paths are worth it. */
static void remember(struct walk *walk, uintptr_t first_sp)
{
	struct state *state = walk->state;
	uint32_t walked = walk->count - walk->reused;
	for (uint32_t index = walked; index-- > 0;) {
		uint32_t place = walk->count - 1 - index;
		struct sn_known *known = &state->store.known[place];
		*path_at(state, place) = walk->frames[index];
		known->sp = index ? walk->frames[index - 1].cfa : first_sp;
		known->fp = state->store.walked[index].fp;
		describe(walk, known, walk->frames[index].cfa, place ? known - 1 : NULL,
			 state->store.walked[index].rule);
	}
	state->known_count = walk->count;
	state->stack_high = walk->stack.high;
	walk->result.is_kept = true;
	walk->result.repeated = walk->reused;
	walk->result.frames = path_at(state, walk->count - 1);
}

/* ---- an unwind ---- */

static bool begin_state(struct sn_unwinder *unwinder)
{
	struct state *state = unwinder->state;
	if (state)
		return true;
	state = sn_pages_map(sizeof(struct state));
	if (!state || !sn_path_store_init(&state->store)) {
		sn_pages_unmap(state, sizeof(struct state));
		return false;
	}
	unwinder->state = state;
	return true;
}

/* NULL without memory, or where no frame is wanted. */
static struct walk *begin(struct sn_unwinder *unwinder, uint32_t max)
{
	if (!max || !begin_state(unwinder))
		return NULL;
	struct state *state = unwinder->state;
	state->walk = (struct walk){.state = state, .deep.stack = &state->walk.stack, .max = max};
	set_room(&state->walk);
	return &state->walk;
}

/* Forgets what a change of the module list or another stack has made void. */
static void check_state(struct walk *walk)
{
	struct state *state = walk->state;
	sn_modules_settle();
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
static bool agrees(const struct walk *walk, struct sn_unwind_cursor cursor)
{
	enum { COMPARED = SN_NATIVE_RETURN_ADDRESS | SN_NATIVE_SIGNAL };
	enum sn_step step = SN_STEP_CALLER;
	struct sn_stack stack = walk->stack;
	cursor.stack = &stack;
	for (uint32_t index = 0; index < walk->count; index++) {
		const struct sn_native_frame *frame = &walk->result.frames[index];
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
	walk->callee = &walk->no_callee;
	await(walk, walk->state->known_count);
	walk_frames(walk);
	walk->result.count = walk->count;
	walk->result.frames = walk->frames;
	if (walk->count && walk->result.complete && walk->max == SN_UNWIND_ALL &&
	    !atomic_load_explicit(&reuse_off, memory_order_relaxed))
		remember(walk, first_sp);
}

/* The shadow check of a walk, and of one that began in a function of ours. */
static void check(void *argument)
{
	struct walk *walk = argument;
	walk->result.mismatch = !agrees(walk, walk->state->start);
}

static void check_from_here(void *argument)
{
	struct walk *walk = argument;
	struct sn_unwind_cursor cursor = walk->state->start;
	struct sn_step_result result;
	walk->result.mismatch =
	    sn_step(&cursor, &result) != SN_STEP_CALLER || !agrees(walk, cursor);
}

struct sn_unwind_result sn_unwind(struct sn_unwinder *unwinder, const ucontext_t *context,
				  uintptr_t stack_low, uintptr_t stack_high, uint32_t max)
{
	struct walk *walk = begin(unwinder, max);
	if (!walk)
		return (struct sn_unwind_result){0};
	sn_machine_from_context(context, &walk->deep.registers);
	walk->pc = walk->deep.registers.value[SN_REG_PC];
	walk->sp = walk->deep.registers.value[SN_REG_SP];
	walk->fp = walk->deep.registers.value[SN_REG_FP];
	walk->stack = own_stack(walk->state, walk->sp, stack_low, stack_high);
	bool shadow = atomic_load_explicit(&shadow_mode, memory_order_relaxed);
	if (shadow)
		walk->state->start = walk->deep;
	run(walk);
	if (shadow)
		sn_on_own_stack(check, walk);
	return walk->result;
}

struct sn_unwind_result __attribute__((noinline))
sn_unwind_here(struct sn_unwinder *unwinder, uintptr_t stack_low, uintptr_t stack_high,
	       uint32_t max)
{
	/* asking for this makes the compiler give this function a frame pointer */
	const uintptr_t *frame = __builtin_frame_address(0);
	struct walk *walk = begin(unwinder, max);
	if (!walk)
		return (struct sn_unwind_result){0};
	walk->pc = frame[1];
	walk->sp = (uintptr_t)&frame[2];
	walk->fp = frame[0];
	walk->flags = SN_NATIVE_RETURN_ADDRESS;
	walk->stack = own_stack(walk->state, (uintptr_t)frame, stack_low, stack_high);
	/* the registers of here become the caller's by one step, which is taken when they are
	 * needed */
	SN_MACHINE_CAPTURE(&walk->deep.registers);
	walk->deep_index = -1;
	bool shadow = atomic_load_explicit(&shadow_mode, memory_order_relaxed);
	if (shadow)
		walk->state->start = walk->deep;
	run(walk);
	if (shadow)
		sn_on_own_stack(check_from_here, walk);
	return walk->result;
}

struct sn_unwind_result sn_unwind_origin(struct sn_unwinder *unwinder,
					 const struct sn_origin *origin)
{
	struct walk *walk = begin(unwinder, SN_UNWIND_ALL);
	if (!walk)
		return (struct sn_unwind_result){0};
	walk->pc = origin->pc;
	walk->sp = origin->sp;
	walk->fp = origin->fp;
	walk->flags = SN_NATIVE_RETURN_ADDRESS;
	walk->stack.window = &walk->state->window;
	walk->deep.registers = origin->registers;
	walk->deep_index = -1;
	run(walk);
	return walk->result;
}
