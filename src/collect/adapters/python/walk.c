/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk. The thread is stopped in its own signal handler, so nothing moves; but it may have been
 * stopped between any two stores of the interpreter. Invariants:
 *
 *  1. Nothing is read whose page has not proved readable (guard.h).
 *  2. Nothing is taken for a code object, a string or a table whose type pointer does not say so.
 *  3. The newest frame may be half made or half gone: where it is not a frame with code, it is left
 *     out. Anywhere further up that means that the chain is torn: the walk fails as a whole.
 *  4. A chain bent into a ring ends: a frame met again makes the walk fail, whatever its limit.
 *  5. In 3.11 and 3.12 each native evaluation call has a record (cframe) of its newest frame. The
 *     newest call's frames must end where those of the call around it begin: a frame just linked
 * may not yet say who called it but still who called its predecessor at that address.
 */
#include "walk.h"

#include "collect/unwind/own_stack.h"

#include <errno.h>
#include <pthread.h>

#define NOT_BEGUN	(-2)
#define INDEX_HIDDEN	(UINT32_MAX - 1)
#define LINETABLE_BYTES (16u << 20)
#define TORN_IN_A_ROW	64 /* beyond, it is not torn but different: libraries rearrange cframes */

struct walk {
	const struct sn_python_layout *layout;
	struct sn_python_cache *cache;
	struct sn_cct *cct;
	struct sn_python_frame *frames;
	uint32_t count, max;
	uintptr_t state;
	bool check_outer; /* the newest group must end at `outer` */
	bool torn;
	uintptr_t outer;
};

/* The result for one frame. */
enum outcome { TAKEN, HIDDEN, UNREADABLE, NO_MEMORY };

/* A mixing step that uses both halves of the product, so that each bit of either factor affects the
 * whole result. */
static inline uint64_t fold(uint64_t a, uint64_t b)
{
	__uint128_t product =
	    (__uint128_t)(a ^ 0x9E3779B97F4A7C15ull) * (b ^ 0xC2B2AE3D27D4EB4Full);
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * A fingerprint of a line table: its length, and its first, middle and last bytes. Code that is
 * created again and again at run time may come to lie, with all its parts, where freed code was. 0:
 * it cannot be read.
 */
static inline uint64_t fingerprint_lines(const struct sn_python_layout *layout,
					 struct sn_guard *guard, uintptr_t table, uint32_t n)
{
	uint64_t parts[3] = {0};
	if (!sn_guard_readable(guard, table, layout->bytes_data))
		return 0;
	uint64_t bytes = sn_python_pointer(table, layout->bytes_length);
	uintptr_t data = table + layout->bytes_data;
	uintptr_t at[] = {data, data + bytes / 2 - 4, data + bytes - 8};
	if (bytes < 8 && sn_guard_readable(guard, data, bytes | 1))
		memcpy(parts, (const void *)data, bytes);
	for (int i = 0; i < 3 && bytes >= 8; i++) {
		if (!sn_guard_readable(guard, at[i], 8))
			return 0;
		memcpy(&parts[i], (const void *)at[i], 8);
	}
	return (fold(parts[0] + ((uint64_t)n << 48), parts[2]) + fold(parts[1], bytes)) | 1;
}

/* Tells a code object from all others that have existed; 0 where it has no such number. */
static inline uint32_t code_version(const struct sn_python_layout *layout, uintptr_t code)
{
	return layout->code_version ? (uint32_t)sn_python_int(code, layout->code_version) : 0;
}

static inline bool code_unchanged(const struct walk *walk, const struct sn_python_code *known,
				  uintptr_t code)
{
	const struct sn_python_layout *layout = walk->layout;
	uint32_t version = code_version(layout, code);
	if (known->code != code || version != known->version)
		return false;
	return version ||
	       (sn_python_pointer(code, layout->code_file) == known->file &&
		sn_python_pointer(code, layout->code_name) == known->name &&
		sn_python_pointer(code, layout->code_lines) == known->lines &&
		(uint32_t)sn_python_int(code, layout->code_first_line) == known->first_line &&
		/* while interrupted the table may be freed already, and a check costs
	        * a system call */
		(walk->cache->interrupted ||
		 fingerprint_lines(layout, &walk->cache->guard, known->lines, 0) == known->table));
}

static bool table_of(struct walk *walk, uintptr_t object, const unsigned char **table,
		     size_t *bytes)
{
	const struct sn_python_layout *layout = walk->layout;
	if (!sn_guard_readable(&walk->cache->guard, object, layout->bytes_data) ||
	    sn_python_pointer(object, layout->object_type) != layout->bytes_type)
		return false;
	*bytes = sn_python_pointer(object, layout->bytes_length);
	*table = (const unsigned char *)(object + layout->bytes_data);
	return *bytes <= LINETABLE_BYTES &&
	       sn_guard_readable(&walk->cache->guard, (uintptr_t)*table, *bytes);
}

/* The interpreter's own glue (a type's call of __init__, from 3.12) has a code object
 * without lines. */
static bool is_glue(const struct sn_python_layout *layout, const unsigned char *table, size_t bytes)
{
	return layout->lines == SN_LINETABLE_LOCATION &&
	       (bytes == 0 || (bytes == 1 && (table[0] >> 3 & 15) == 15));
}

static enum outcome code_read(struct walk *walk, uintptr_t code, struct sn_python_code *out)
{
	const struct sn_python_layout *layout = walk->layout;
	struct sn_python_cache *cache = walk->cache;
	const unsigned char *table;
	size_t bytes;
	*out = (struct sn_python_code){
	    .code = code,
	    .file = sn_python_pointer(code, layout->code_file),
	    .name = sn_python_pointer(code, layout->code_name),
	    .lines = sn_python_pointer(code, layout->code_lines),
	    .first_line = (uint32_t)sn_python_int(code, layout->code_first_line),
	    .version = code_version(layout, code),
	};
	if (sn_python_pointer(code, layout->object_type) != layout->code_type ||
	    !table_of(walk, out->lines, &table, &bytes))
		return UNREADABLE;
	out->table = fingerprint_lines(layout, &cache->guard, out->lines, 0);
	if (is_glue(layout, table, bytes)) {
		out->index = INDEX_HIDDEN;
		return TAKEN;
	}
	ssize_t file =
	    sn_python_text(layout, &cache->guard, out->file, cache->file, sizeof(cache->file));
	ssize_t name =
	    sn_python_text(layout, &cache->guard, out->name, cache->name, sizeof(cache->name));
	if (file < 0 || name < 0)
		return UNREADABLE;
	if (!walk->cct)
		return TAKEN;
	out->index = sn_cct_code(walk->cct, cache->file, (size_t)file, cache->name, (size_t)name,
				 out->first_line);
	return out->index == SN_ID_NONE ? NO_MEMORY : TAKEN;
}

struct reading {
	struct walk *walk;
	uintptr_t code;
	struct sn_python_code fresh;
	enum outcome outcome;
};

static void read_here(void *argument)
{
	struct reading *it = argument;
	it->outcome = code_read(it->walk, it->code, &it->fresh);
}

/* Reads a code object and stores its names; needs more of the stack than a hook may use. */
static __attribute__((noinline)) enum outcome learn_code(struct walk *walk, uintptr_t code,
							 struct sn_python_code *known)
{
	struct reading it = {.walk = walk, .code = code};
	sn_on_own_stack(read_here, &it);
	if (it.outcome == TAKEN)
		*known = it.fresh;
	return it.outcome;
}

static inline uint32_t mix(uintptr_t code, int32_t offset)
{
	uint64_t key = (code >> 4) + (uint64_t)(uint32_t)offset * 0x9e3779b1u;
	return (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 40);
}

static __attribute__((noinline)) enum outcome line_read(struct walk *walk, uintptr_t code,
							int32_t offset, struct sn_python_line *out)
{
	struct sn_python_code *known = &walk->cache->codes[mix(code, 0) % SN_CODE_ENTRIES];
	const unsigned char *table;
	size_t bytes;
	out->code.code = 0; /* a failure leaves no entry */
	/* the code may be being freed, and its names gone; see walk_chain */
	if (walk->cache->interrupted)
		sn_guard_forget_all(&walk->cache->guard);
	if (!code_unchanged(walk, known, code)) {
		enum outcome outcome = learn_code(walk, code, known);
		if (outcome != TAKEN)
			return outcome;
	}
	if (!table_of(walk, known->lines, &table, &bytes))
		return UNREADABLE;
	out->line = sn_linetable_line(walk->layout->lines, table, bytes, known->first_line, offset);
	out->offset = offset;
	out->code = *known;
	return TAKEN;
}

/* Byte offset of the frame's instruction in its code; negative before the first. */
static inline int32_t instruction_offset(const struct sn_python_layout *layout, uintptr_t frame,
					 uintptr_t code)
{
	if (layout->frames == SN_FRAMES_OBJECTS) {
		int32_t last = sn_python_int(frame, layout->frame_instruction);
		if (last < 0)
			return NOT_BEGUN;
		/* 3.10 counts instructions, 3.9 bytes */
		return layout->lines == SN_LINETABLE_RANGES ? last * 2 : last;
	}
	uintptr_t start = code + layout->code_start;
	uintptr_t instruction = sn_python_pointer(frame, layout->frame_instruction);
	intptr_t bytes = (intptr_t)(instruction - start);
	/* A variable-sized object's length follows its type; here it counts two-byte code units. */
	intptr_t length = (intptr_t)sn_python_pointer(code, layout->bytes_length) * 2;
	return bytes < 0 || bytes >= length || bytes > INT32_MAX ? NOT_BEGUN : (int32_t)bytes;
}

static inline bool is_line(const struct walk *walk, const struct sn_python_line *line,
			   uintptr_t code, int32_t offset)
{
	return line->offset == offset && code_unchanged(walk, &line->code, code);
}

/* The entry of an instruction, read where it is not known. Two that share a place are both kept:
 * a loop of a few dozen lines has such a pair more often than not, and would read both for ever. */
static inline struct sn_python_line *line_of(struct walk *walk, uintptr_t code, int32_t offset,
					     enum outcome *outcome)
{
	struct sn_python_line *set = walk->cache->lines[mix(code, offset) % SN_LINE_SETS];
	*outcome = TAKEN;
	if (is_line(walk, &set[0], code, offset))
		return &set[0];
	if (is_line(walk, &set[1], code, offset))
		return &set[1];
	set[1] = set[0];
	*outcome = line_read(walk, code, offset, &set[0]);
	return &set[0];
}

static inline enum outcome add_frame(struct walk *walk, uintptr_t frame, bool is_entry)
{
	const struct sn_python_layout *layout = walk->layout;
	uintptr_t code = sn_python_pointer(frame, layout->frame_code) & layout->pointer_mask;
	if ((code & 7) || !sn_guard_readable(&walk->cache->guard, code, layout->code_bytes))
		return UNREADABLE;
	int32_t offset = instruction_offset(layout, frame, code);
	enum outcome outcome;
	struct sn_python_line *line = line_of(walk, code, offset, &outcome);
	if (outcome != TAKEN)
		return outcome;
	if (line->code.index == INDEX_HIDDEN)
		return HIDDEN;
	walk->frames[walk->count++] =
	    (struct sn_python_frame){line->code.index, line->line, is_entry, frame};
	return TAKEN;
}

static inline bool is_shim(const struct sn_python_layout *layout, uintptr_t frame)
{
	return layout->frames == SN_FRAMES_SHIMMED &&
	       *(const uint8_t *)(frame + layout->frame_owner) >= layout->shim_owner;
}

/* Whether `frame` is the outermost Python frame of its native evaluation call. */
static inline bool is_outermost(struct walk *walk, uintptr_t frame, uintptr_t previous)
{
	const struct sn_python_layout *layout = walk->layout;
	switch (layout->frames) {
	case SN_FRAMES_OBJECTS:
		return true;
	case SN_FRAMES_FLAGGED:
		return *(const uint8_t *)(frame + layout->frame_is_entry) != 0;
	case SN_FRAMES_SHIMMED:
		return previous == 0 ||
		       (sn_guard_readable(&walk->cache->guard, previous, layout->frame_bytes) &&
			is_shim(layout, previous));
	}
	return false;
}

/* The thread's own state, and not what is left of one or another thread's. */
static bool state_is_mine(struct walk *walk)
{
	const struct sn_python_layout *layout = walk->layout;
	uintptr_t other = walk->cache->other_thread;
	return sn_guard_readable(&walk->cache->guard, walk->state,
				 layout->thread_id + sizeof(uintptr_t)) &&
	       sn_python_pointer(walk->state, layout->thread_id) ==
		   (other ? other : (uintptr_t)pthread_self());
}

/* Through a cframe: its frame, and where the frames of the evaluation call around it begin. */
static bool frame_of_cframe(struct walk *walk, uintptr_t cframe, uintptr_t *frame)
{
	const struct sn_python_layout *layout = walk->layout;
	struct sn_guard *guard = &walk->cache->guard;
	size_t bytes = (size_t)layout->cframe_previous + sizeof(uintptr_t);
	if (!sn_guard_readable(guard, cframe, bytes))
		return false;
	*frame = sn_python_pointer(cframe, layout->cframe_frame);
	if (cframe >= walk->state && cframe < walk->state + layout->thread_bytes)
		return true; /* no evaluation call is active */
	uintptr_t around = sn_python_pointer(cframe, layout->cframe_previous);
	if (*frame == 0 || !sn_guard_readable(guard, around, bytes))
		return false;
	walk->check_outer = true;
	walk->outer = sn_python_pointer(around, layout->cframe_frame);
	return true;
}

/* The newest frame's address, 0 where the thread runs no Python; false where it cannot be read. */
static bool newest_frame(struct walk *walk, uintptr_t *frame)
{
	*frame = sn_python_pointer(walk->state, walk->layout->thread_frame);
	return *frame == 0 || !walk->layout->through_cframe || frame_of_cframe(walk, *frame, frame);
}

static inline void end_group(struct walk *walk, uintptr_t outer)
{
	if (!walk->check_outer)
		return;
	walk->torn = outer != walk->outer;
	walk->check_outer = false;
}

#define OWNED_BY_GENERATOR 1
#define GENERATOR_RUNS	   0

/* A generator's frame that is waiting or has ended called nobody: the link that led here is old. */
static inline bool cannot_call(struct walk *walk, uintptr_t frame)
{
	const struct sn_python_layout *layout = walk->layout;
	uintptr_t state = frame - layout->generator_state;
	return layout->generator_state &&
	       *(const uint8_t *)(frame + layout->frame_owner) == OWNED_BY_GENERATOR &&
	       (!sn_guard_readable(&walk->cache->guard, state, 1) ||
		*(const int8_t *)state != GENERATOR_RUNS);
}

/* One frame with code. 0, or what makes the walk fail. */
static inline int walk_one(struct walk *walk, uintptr_t frame, uintptr_t previous, bool newest)
{
	if (!newest && cannot_call(walk, frame))
		return -EFAULT;
	bool is_entry = is_outermost(walk, frame, previous);
	enum outcome outcome = add_frame(walk, frame, is_entry);
	if (outcome == NO_MEMORY)
		return -ENOMEM;
	if (outcome == UNREADABLE && !newest)
		return -EFAULT;
	if (outcome == HIDDEN && is_entry && walk->count)
		walk->frames[walk->count - 1].is_entry = true;
	if (is_entry && walk->layout->frames == SN_FRAMES_FLAGGED)
		end_group(walk, previous);
	return 0;
}

static void distrust_newest(struct walk *walk, uintptr_t frame)
{
	const struct sn_python_layout *layout = walk->layout;
	struct sn_guard *guard = &walk->cache->guard;
	sn_guard_forget(guard, frame, layout->frame_bytes);
	if ((frame & 7) || !sn_guard_readable(guard, frame, layout->frame_bytes))
		return;
	uintptr_t code = sn_python_pointer(frame, layout->frame_code) & layout->pointer_mask;
	sn_guard_forget(guard, code, layout->code_bytes);
}

/* Detects rings with one comparison a step: remembers a frame for twice as many steps as the one
 * before (Brent, "An improved Monte Carlo factorization algorithm", 1980). */
struct ring {
	uintptr_t kept;
	uint32_t steps, change;
};

static inline bool is_ring(struct ring *ring, uintptr_t frame)
{
	if (frame == ring->kept)
		return true;
	if (ring->steps++ == ring->change) {
		ring->kept = frame;
		ring->change = 2 * ring->steps;
	}
	return false;
}

static int walk_chain(struct walk *walk, uintptr_t frame)
{
	const struct sn_python_layout *layout = walk->layout;
	struct ring ring = {0};
	/* A frame that is being left may have been returned to the system already, with its page,
	 * and so may its code; both were readable once. Frames further up are alive. */
	if (walk->cache->interrupted)
		distrust_newest(walk, frame);
	for (bool newest = true; frame && walk->count < walk->max; newest = false) {
		if ((frame & 7) || is_ring(&ring, frame) ||
		    !sn_guard_readable(&walk->cache->guard, frame, layout->frame_bytes))
			return -EFAULT;
		uintptr_t previous = sn_python_pointer(frame, layout->frame_previous);
		if (is_shim(layout, frame)) {
			end_group(walk, previous);
		} else {
			int error = walk_one(walk, frame, previous, newest);
			if (error)
				return error;
		}
		frame = previous;
	}
	if (frame == 0 && walk->check_outer)
		walk->torn = true; /* the chain ended inside its newest group */
	return (int)walk->count;
}

int sn_python_walk_frames(const struct sn_python_target *target, struct sn_python_cache *cache,
			  struct sn_cct *cct, struct sn_python_frame *frames, uint32_t max)
{
	struct walk walk = {.layout = &target->layout,
			    .cache = cache,
			    .cct = cct,
			    .frames = frames,
			    .max = max,
			    .state = cache->other_state ? cache->other_state
							: sn_python_thread_state(target)};
	uintptr_t frame;
	if (walk.state == 0)
		return 0;
	sn_guard_begin(&cache->guard);
	if (!state_is_mine(&walk) || !newest_frame(&walk, &frame))
		return -EFAULT;
	int result = walk_chain(&walk, frame);
	if (!walk.torn)
		cache->torn_in_a_row = 0;
	else if (++cache->torn_in_a_row <= TORN_IN_A_ROW)
		return -EFAULT;
	return result;
}

/* ---- fingerprints ---- */

#define FINGERPRINT_DEPTH 512u

/* Of what a code object without a version consists; 0 where it cannot be read. */
static inline uint64_t fingerprint_code(const struct sn_python_layout *layout,
					struct sn_guard *guard, uintptr_t code, uint32_t n)
{
	uintptr_t table = sn_python_pointer(code, layout->code_lines);
	uint64_t first = (uint32_t)sn_python_int(code, layout->code_first_line);
	uint64_t lines = fingerprint_lines(layout, guard, table, n);
	if (!lines)
		return 0;
	return lines +
	       fold(sn_python_pointer(code, layout->code_file) + ((uint64_t)n << 48),
		    sn_python_pointer(code, layout->code_name)) +
	       fold(table + ((uint64_t)n << 48), first);
}

/* The n-th frame's part of the fingerprint: its code object and its instruction. Parts are
 * independent of each other, so that the processor can compute several at once. 0: unreadable. */
static inline uint64_t fingerprint_frame(const struct sn_python_layout *layout,
					 struct sn_guard *guard, uintptr_t frame, uint32_t n)
{
	uintptr_t code = sn_python_pointer(frame, layout->frame_code) & layout->pointer_mask;
	if ((code & 7) || !sn_guard_readable(guard, code, layout->code_bytes))
		return 0;
	uint64_t instruction = layout->frames == SN_FRAMES_OBJECTS
				   ? (uint32_t)sn_python_int(frame, layout->frame_instruction)
				   : sn_python_pointer(frame, layout->frame_instruction);
	uint64_t identity = code_version(layout, code);
	if (!identity)
		identity = fingerprint_code(layout, guard, code, n);
	if (!identity)
		return 0;
	if (layout->frames == SN_FRAMES_FLAGGED)
		identity += (uint64_t) * (const uint8_t *)(frame + layout->frame_is_entry) << 32;
	/* a version lies above what differs between the instructions of one code object */
	return fold(code + ((uint64_t)n << 48), instruction ^ (identity << 32 | identity >> 32)) |
	       1;
}

/*
 * A frame lives from its call to its return, and a hook's caller is inside the calls of all its
 * frames. So, unlike a handler, this meets no incomplete frame and no torn chain.
 */
uint64_t sn_python_fingerprint_frames(const struct sn_python_target *target,
				      struct sn_python_cache *cache, uintptr_t frame)
{
	const struct sn_python_layout *layout = &target->layout;
	uint64_t sum = 0;
	uint32_t n = 0;
	sn_guard_begin(&cache->guard);
	for (; frame; frame = sn_python_pointer(frame, layout->frame_previous)) {
		if ((frame & 7) || ++n > FINGERPRINT_DEPTH ||
		    !sn_guard_readable(&cache->guard, frame, layout->frame_bytes))
			return 0;
		if (is_shim(layout, frame))
			continue; /* counts, because n is part of the terms of outer frames */
		uint64_t part = fingerprint_frame(layout, &cache->guard, frame, n);
		if (!part)
			return 0;
		sum += part;
	}
	return (sum ^ n) | 1;
}

uintptr_t sn_python_innermost_frame(const struct sn_python_target *target,
				    struct sn_python_cache *cache)
{
	struct walk walk = {
	    .layout = &target->layout, .cache = cache, .state = sn_python_thread_state(target)};
	uintptr_t frame;
	if (walk.state == 0)
		return 0;
	return state_is_mine(&walk) && newest_frame(&walk, &frame) ? frame : SN_PYTHON_UNKNOWN;
}
