/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The context of a point that a program comes to again and again, without unwinding in most cases; see context.h.
 *
 * A training loop comes to the same points again and again on the same paths. A path that
 * sn_callpath has assembled is stored under its key: the hook's return address and stack address,
 * the fingerprint of the Python frames, the shadow frames. It is taken for the same path if the key
 * is the same and the stack slots that held the native return addresses hold the same addresses
 * again; of the interpreter only those inside its innermost evaluation, since the Python frames stand
 * for the others. So a known path costs a look at each of its Python frames and some ten loads.
 *
 * Most points are inside an operator whose own context is known, and no Python frame has been
 * entered since. Then the path is the operator's path and the native frames below it, so neither
 * the Python frames nor anything outside of that operator is examined. The operator's Python frame
 * exists as long as the operator runs; so if it is the innermost one, no Python frame has been
 * entered.
 *
 * A memo is a set-associative table of entry numbers; a path that is displaced is assembled again.
 * Entries are stored in the order in which their paths first occurred, and each knows the one that
 * followed it last. In a loop that is the next one again, which is found without a search and
 * prefetched. Cache misses are most of the cost of a lookup.
 */
#include "context.h"

#include "adapter.h"
#include "arena.h"
#include "hash.h"

#include "collect/unwind/module_list.h"

/* A thread has a small table first: many launch from one place. A training step has some thousand operators and launches. */
#define SETS_FIRST 128u
#define SETS_MOST  2048u
#define WAYS	   4u
#define SLOT_MAX   64u
#define PYTHON_MAX 256u
/* One in so many paths that are taken for known ones is assembled and compared. */
#define CHECKED	   4096u

struct entry {
	uint64_t key; /* 0: empty */
	uint64_t slots_hash;
	uint32_t node;
	uint32_t next; /* the entry that followed this one last */
	uint16_t slot_count;
	uint16_t doubts;  /* how often a path that was guessed is still assembled again */
	bool is_too_long; /* for its return addresses to be examined: it is assembled each time */
	/* of a library's call: where the called function's frame begins, in bytes from the hook's stack address; 0: not known */
	uint32_t call_bytes;
	uint16_t slots[SLOT_MAX]; /* words from the hook's stack address */
} __attribute__((aligned(64)));

/* The point that is asked about. */
struct point {
	struct sn_thread *thread;
	struct sn_context_memo *memo;
	uintptr_t stack, pc;
	bool of_shadow;
	struct sn_callpath_call *call; /* NULL: none */
};

struct sn_context_memo {
	uint32_t sets;
	uint32_t count, last; /* entries used; the one found last */
	uint32_t next_victim;
	uint32_t taken; /* paths for known ones */
	bool is_crowded;
	struct sn_python_frame python[PYTHON_MAX];
	/* sets * WAYS + 1, of which the first stays empty; behind them the numbers of each set's, 0: none */
	struct entry entries[];
};

static uint32_t *set_of(struct sn_context_memo *memo, uint64_t key)
{
	uint32_t *numbers = (uint32_t *)&memo->entries[memo->sets * WAYS + 1];
	return &numbers[(key >> 32) % memo->sets * WAYS];
}

static size_t bytes_of(uint32_t sets)
{
	return sizeof(struct sn_context_memo) + (sets * WAYS + 1) * sizeof(struct entry) +
	       sets * WAYS * sizeof(uint32_t);
}

/* A larger one begins empty. NULL without memory, which is not asked for again. */
static struct sn_context_memo *memo_of(struct sn_thread *thread)
{
	struct sn_context_memo *memo = thread->contexts;
	if (memo ? !memo->is_crowded : thread->has_no_contexts)
		return memo;
	uint32_t sets = memo ? SETS_MOST : SETS_FIRST;
	struct sn_context_memo *larger = sn_pages_map(bytes_of(sets));
	if (larger) {
		sn_context_release(thread);
		larger->sets = sets;
		return thread->contexts = larger;
	}
	thread->has_no_contexts = true;
	if (memo)
		memo->is_crowded = false;
	return memo;
}

void sn_context_release(struct sn_thread *thread)
{
	struct sn_context_memo *memo = thread->contexts;
	if (memo)
		sn_pages_unmap(memo, bytes_of(memo->sets));
	thread->contexts = NULL;
	thread->has_no_contexts = false;
}

/* The n-th term of a hash. Terms are independent of each other, so that the processor can compute
 * several at once. */
static inline uint64_t term(uint64_t value, uint32_t n)
{
	return value * (0x9E3779B97F4A7C15ull + n * 0xC2B2AE3D27D4EB4Eull);
}

/* Slots are in ascending order, so the last one is the highest. */
static bool slots_readable(const struct sn_thread *thread, const struct entry *entry,
			   uintptr_t stack)
{
	return !entry->slot_count || !thread->stack_high ||
	       stack + entry->slots[entry->slot_count - 1] * sizeof(uintptr_t) < thread->stack_high;
}

static uint64_t hash_slots(const struct entry *entry, uintptr_t stack)
{
	uint64_t hash = entry->slot_count;
	for (uint32_t index = 0; index < entry->slot_count; index++)
		hash += term(((const uintptr_t *)stack)[entry->slots[index]], index);
	return hash;
}

/* Whether all Python frames can be walked now, so that an assembled path has all of them. */
static bool is_walkable(const struct point *point)
{
	if (!(sn_config.sources & SN_SOURCE_PYTHON))
		return true;
	int count = sn_python_walk(point->thread, point->memo->python, PYTHON_MAX);
	return count >= 0 && count < (int)PYTHON_MAX;
}

static uint64_t hash_shadows(const struct sn_thread *thread, uint64_t hash)
{
	uint32_t depth = sn_shadow_count(thread);
	for (uint32_t index = 0; index < depth; index++) {
		const struct sn_shadow *shadow = &thread->shadows[index];
		hash = sn_hash_mix(hash, (uint64_t)shadow->frame.id << 32 | shadow->prefix);
		hash = sn_hash_mix(hash, shadow->stack ^ (uint64_t)shadow->python_depth << 48 ^
					     (uint64_t)shadow->frame.kind << 56);
		hash = sn_hash_mix(hash, shadow->python_line);
	}
	return hash;
}

/* An operator whose context is known, at which examining a path may stop. */
struct base {
	const struct sn_shadow *operator; /* NULL: none */
	uintptr_t python_frame;		  /* the innermost one now */
};

static struct base find_base(const struct point *point)
{
	struct sn_thread *thread = point->thread;
	bool of_shadow = point->of_shadow;
	struct base base = {.python_frame = SN_PYTHON_UNKNOWN};
	uint32_t depth = thread->shadow_depth;
	base.python_frame = sn_config.sources & SN_SOURCE_PYTHON ? sn_python_innermost(thread) : 0;
	if (depth <= of_shadow || depth > SN_SHADOW_DEPTH || thread->work.origin ||
	    base.python_frame == SN_PYTHON_UNKNOWN)
		return base;
	const struct sn_shadow *outer = &thread->shadows[depth - 1 - of_shadow];
	/* one that was left by an exception lies further in */
	if (outer->node != SN_NODE_NONE && outer->python_frame == base.python_frame &&
	    outer->stack >= point->stack)
		base.operator= outer;
	return base;
}

/* The key of a path that begins at `base`. */
static uint64_t inner_key(const struct point *point, const struct base *base)
{
	const struct sn_shadow *top = &point->thread->shadows[point->thread->shadow_depth - 1];
	uint64_t hash =
	    sn_hash_mix(base->operator->node + 1ull, base->operator->stack - point->stack);
	hash = sn_hash_mix(hash, (point->pc << 1) + point->of_shadow);
	hash = sn_hash_mix(hash, sn_module_generation());
	if (!point->of_shadow)
		return hash | 1;
	hash = sn_hash_mix(hash, (uint64_t)top->frame.id << 32 | top->prefix);
	return sn_hash_mix(hash, (top->stack - point->stack) ^ (uint64_t)top->frame.kind << 56 ^
				     (uint64_t)top->frame.flags << 48) |
	       1;
}

/* The key of a whole path, or 0 if it has none. */
static uint64_t path_key(const struct point *point, const struct base *base)
{
	struct sn_thread *thread = point->thread;
	uint64_t hash = sn_hash_mix(point->stack, point->pc + point->of_shadow);
	const struct sn_work *work = &thread->work;
	if (work->origin) /* the path begins with another thread's, valid for this work only */
		hash = sn_hash_mix(sn_hash_mix(hash, (uintptr_t)work->origin), work->serial);
	hash = sn_hash_mix(hash, (uint64_t)thread->start_node << 32 | sn_module_generation());
	if (sn_config.sources & SN_SOURCE_PYTHON) {
		uint64_t fingerprint = base->python_frame == SN_PYTHON_UNKNOWN
					   ? 0
					   : sn_python_fingerprint(thread, base->python_frame);
		if (!fingerprint)
			return 0;
		hash = sn_hash_mix(hash, fingerprint);
	}
	hash = hash_shadows(thread, hash) & ~1ull; /* keys of inner_key are odd */
	return hash ? hash : 2;
}

/* Notes where above the point's stack address, up to `end`, the native return addresses are. False where they are too many. */
static bool note_slots(const struct point *point, struct entry *entry, uintptr_t end)
{
	struct sn_thread *thread = point->thread;
	struct sn_unwind_result result =
	    sn_unwind_here(&thread->unwinder, thread->stack_low, thread->stack_high, SN_UNWIND_ALL);
	bool has_python = sn_config.sources & SN_SOURCE_PYTHON, is_evaluated = false;
	uint32_t index = 0;
	for (; index < result.count; index++) {
		const struct sn_native_frame *frame = &result.frames[index];
		uintptr_t slot = frame->cfa - sizeof(uintptr_t);
		uintptr_t words = (slot - point->stack) / sizeof(uintptr_t);
		if (slot >= end)
			break;
		is_evaluated = is_evaluated || (has_python && sn_python_is_eval(frame->pc));
		if (slot < point->stack || (is_evaluated && sn_python_is_interpreter(frame->pc)))
			continue;
		if (words > UINT16_MAX || entry->slot_count == SLOT_MAX)
			return false;
		entry->slots[entry->slot_count++] = (uint16_t)words;
	}
	/* the outermost frame has no caller, so its slot has no return address and may be
	 * outside of the stack */
	if (index == result.count && result.complete && entry->slot_count)
		entry->slot_count--;
	entry->slots_hash = hash_slots(entry, point->stack);
	return !result.too_deep;
}

static uint32_t assemble(const struct point *point)
{
	struct sn_thread *thread = point->thread;
	if (point->call)
		return sn_callpath_of_call(thread, point->call);
	uint32_t node = sn_callpath(thread, NULL, 0);
	if (!point->of_shadow || node == SN_NODE_NONE)
		return node;
	const struct sn_shadow *top = sn_shadow_top(thread);
	return top ? top->node : SN_NODE_NONE;
}

static uint32_t taken(const struct point *point, const struct entry *known)
{
	if (point->call)
		point->call->stack = known->call_bytes ? point->stack + known->call_bytes : 0;
	return known->node;
}

/* Of some paths, or of all where that is asked for (sn_unwind_shadow): assembles one that is taken for known, and compares. */
static uint32_t checked(const struct point *point, struct entry *known)
{
	uint32_t node = assemble(point);
	if (point->thread->is_guess)
		return taken(point, known);
	if (node != known->node && node != SN_NODE_NONE) {
		sn_drop(point->thread, SN_DROP_CONTEXT_MISMATCH, 1);
		known->key = 0;
	}
	return node;
}

static inline bool is_path(const struct point *point, const struct entry *entry, uint64_t key)
{
	return entry->key == key && slots_readable(point->thread, entry, point->stack) &&
	       entry->slots_hash == hash_slots(entry, point->stack);
}

/* Notes that entry `number` is the current one. */
static struct entry *come_to(struct sn_context_memo *memo, uint32_t number)
{
	struct entry *entry = &memo->entries[number];
	if (memo->entries[memo->last].next != number)
		memo->entries[memo->last].next = number;
	memo->last = number;
	__builtin_prefetch(&memo->entries[entry->next]);
	return entry;
}

/* The entry of a path, or NULL. Not inlined, as remember() is not: what a function keeps lies below the walk on the program's stack. */
static struct entry *__attribute__((noinline)) find(const struct point *point, uint64_t key)
{
	struct sn_context_memo *memo = point->memo;
	uint32_t next = memo->entries[memo->last].next;
	if (is_path(point, &memo->entries[next], key))
		return come_to(memo, next);
	const uint32_t *numbers = set_of(memo, key);
	for (uint32_t way = 0; way < WAYS; way++)
		if (is_path(point, &memo->entries[numbers[way]], key))
			return come_to(memo, numbers[way]);
	return NULL;
}

/* An entry for storing a path. */
static struct entry *room(struct sn_context_memo *memo, uint64_t key)
{
	uint32_t *numbers = set_of(memo, key);
	uint32_t way = 0;
	while (way < WAYS && numbers[way])
		way++;
	if (way == WAYS) {
		way = memo->next_victim++ % WAYS;
		memo->is_crowded = memo->sets < SETS_MOST;
	} else {
		numbers[way] = ++memo->count;
	}
	return come_to(memo, numbers[way]);
}

/*
 * Stores the path that was just assembled. Code that was just loaded has no unwind rules yet, and a
 * path through it is a guess, so it is assembled again a few times.
 */
static void __attribute__((noinline))
remember(const struct point *point, struct entry *known, uint64_t key, uintptr_t end, uint32_t node)
{
	enum { DOUBTS = 16 };
	const struct sn_callpath_call *call = point->call;
	uint16_t doubts = !point->thread->is_guess ? 0 : known ? known->doubts - 1 : DOUBTS;
	struct entry *entry = known ? known : room(point->memo, key);
	*entry = (struct entry){
	    .key = key, .node = node, .next = known ? known->next : 0, .doubts = doubts};
	if (call && call->stack)
		entry->call_bytes = (uint32_t)(call->stack - point->stack);
	if (sn_config.sources & (SN_SOURCE_NATIVE | SN_SOURCE_OPERATOR) &&
	    !note_slots(point, entry, end)) {
		entry->is_too_long = true;
		entry->slot_count = 0;
		entry->slots_hash = hash_slots(entry, point->stack);
	}
}

static uint32_t context(const struct point *point, const struct base *base)
{
	/* what is remembered of an address is void if its module has gone: another one may be there */
	sn_modules_settle_unloaded();
	/* each start of a team is another path */
	if (point->call && point->thread->work.origin)
		return assemble(point);
	uint64_t key = base->operator? inner_key(point, base) : path_key(point, base);
	if (!key)
		return assemble(point);
	struct entry *known = find(point, key);
	if (known && known->is_too_long)
		return assemble(point);
	if (known && !known->doubts)
		return sn_unwind_shadow() || ++point->memo->taken % CHECKED == 0
			   ? checked(point, known)
			   : taken(point, known);
	uint32_t node = assemble(point);
	if (node != SN_NODE_NONE && (base->operator|| is_walkable(point)))
		remember(point, known, key, base->operator? base->operator->stack : UINTPTR_MAX,
			 node);
	return node;
}

uint32_t sn_context(struct sn_thread *thread, uintptr_t stack, uintptr_t pc, bool of_shadow)
{
	struct point point = {thread, memo_of(thread), stack, pc, of_shadow, NULL};
	struct base base = find_base(&point);
	uint32_t node = point.memo ? context(&point, &base) : assemble(&point);
	if (of_shadow && node != SN_NODE_NONE && thread->shadow_depth <= SN_SHADOW_DEPTH)
		thread->shadows[thread->shadow_depth - 1].python_frame =
		    thread->work.origin ? SN_PYTHON_UNKNOWN : base.python_frame;
	return node;
}

/* All that lies between the program and this function is examined: where a hook is, and how it came there, is its own affair. */
uint32_t __attribute__((noinline))
sn_context_of_call(struct sn_thread *thread, uintptr_t function, struct sn_callpath_call *call)
{
	uintptr_t stack = (uintptr_t)__builtin_frame_address(0);
	struct point point = {thread, NULL, stack, function, false, call};
	if (stack >= thread->stack_low && stack < thread->stack_high)
		point.memo = memo_of(thread);
	if (call->object >= stack && call->object < thread->stack_high)
		point.pc += call->object - stack; /* what is left out depends on it */
	struct base base = find_base(&point);
	return point.memo ? context(&point, &base) : assemble(&point);
}
