/* SPDX-License-Identifier: Apache-2.0 */
/* Following a register backwards to the table it was loaded from; see jump_table.h. */
#include "jump_table.h"
#include "flow_private.h"

#include <stdlib.h>
#include <string.h>

#define INDEX_MAX	    1024u
#define DEPTH_MAX	    10	  /* of values made of values */
#define BLOCKS_MAX	    512	  /* looked through for one register */
#define STEPS_MAX	    20000 /* decoded for one jump */
#define BRANCHES_MAX	    4	  /* on the way back to the comparison */
#define ENTRIES_MAX	    65536 /* with a comparison */
#define UNKNOWN_ENTRIES_MAX 1024  /* without */

struct value {
	enum {
		UNKNOWN,
		CONSTANT, /* base */
		SCALED,	  /* unknown x stride */
		PLACE,	  /* base + unknown x stride */
		ENTRY,	  /* what is read at such a place */
		TARGET,	  /* target + (entry << shift) */
	} kind;
	uint64_t base, target;
	uint64_t limit; /* of the unknown; 0: none */
	uint32_t stride;
	uint8_t size, shift;
	bool is_signed;
};

/* What is looked for, going backwards: the last writing of a register, or of a place on the stack.
 */
struct wanted {
	uint8_t reg; /* or SN_STEP_NO_REGISTER: the place */
	uint8_t base;
	uint64_t offset;
};

struct search {
	struct sn_flow *flow;
	unsigned steps_left;
};

static struct value value_of(struct search *search, struct wanted wanted, uint64_t before,
			     unsigned depth);

static bool step_at(struct search *search, uint64_t address, struct sn_step *step)
{
	const struct sn_flow_part *part;
	size_t position = sn_flow_position(search->flow, address, &part);
	if (position == SIZE_MAX || search->steps_left == 0 || search->flow->steps_left == 0)
		return false;
	search->steps_left--;
	search->flow->steps_left--;
	return sn_jump_decoder_step(search->flow->decoder, part->bytes + (address - part->start),
				    (size_t)(part->end - address), address, step);
}

/* The instruction that goes on to `address`; 0: none. */
static uint64_t before_in_place(const struct sn_flow *flow, uint64_t address)
{
	const struct sn_flow_part *part;
	size_t position = sn_flow_position(flow, address, &part);
	for (unsigned length = 1; length <= 15 && position != SIZE_MAX; length++) {
		if (address - part->start < length)
			return 0;
		uint8_t mark = flow->marks[position - length];
		if ((mark & MARK_LENGTH) == length)
			return mark & MARK_ENDS ? 0 : address - length;
	}
	return 0;
}

/* ---- values ---- */

static struct value constant(uint64_t base)
{
	return (struct value){.kind = CONSTANT, .base = base};
}

static struct value scaled(struct value value, unsigned shift)
{
	if (value.kind == CONSTANT) {
		value.base <<= shift;
	} else if (value.kind == ENTRY) {
		value.shift = (uint8_t)(value.shift + shift);
	} else if (value.kind == UNKNOWN || value.kind == SCALED) {
		value.stride = (value.kind == SCALED ? value.stride : 1) << shift;
		value.kind = SCALED;
	} else if (shift > 0) {
		value.kind = UNKNOWN;
	}
	return value;
}

static struct value sum(struct value left, struct value right)
{
	struct value other = left.kind == CONSTANT ? right : left;
	struct value known = left.kind == CONSTANT ? left : right;
	if (known.kind != CONSTANT)
		return (struct value){.kind = UNKNOWN};
	switch (other.kind) {
	case CONSTANT:
		return constant(other.base + known.base);
	case UNKNOWN:
		other.stride = 1;
		/* fall through */
	case SCALED:
		/* an index that a constant was added to is an index still: no table lies so low */
		if (known.base + INDEX_MAX < 2 * INDEX_MAX)
			return other;
		other.kind = PLACE;
		other.base = known.base;
		return other;
	case PLACE:
		other.base += known.base;
		return other;
	case ENTRY:
		if (known.base == 0)
			return other;
		other.kind = TARGET;
		other.target = known.base;
		return other;
	case TARGET:
		other.target += known.base;
		return other;
	}
	return other;
}

static struct value register_value(struct search *search, uint8_t reg, uint64_t before,
				   unsigned depth)
{
	if (reg == SN_STEP_NO_REGISTER)
		return constant(0);
	return value_of(search, (struct wanted){.reg = reg}, before, depth);
}

static struct value loaded(const struct sn_flow *flow, struct value place,
			   const struct sn_step *step)
{
	if (place.kind != PLACE)
		return (struct value){.kind = UNKNOWN, .limit = step->size == 1 ? 256 : 0};
	if (place.stride < step->size)
		place.stride = step->size;
	place.kind = ENTRY;
	place.size = step->size;
	place.is_signed = step->is_signed;
	return place;
}

/* What the step at `address` makes of its operands. */
static struct value value_from(struct search *search, const struct sn_step *step, uint64_t address,
			       unsigned depth)
{
	const struct sn_flow *flow = search->flow;
	bool is_stack =
	    step->a != SN_STEP_NO_REGISTER && sn_jump_decoder_is_stack(flow->decoder, step->a);
	/* the frame pointer may as well hold a table's address: then there is an index */
	if (step->op == SN_STEP_LOAD && is_stack && step->b == SN_STEP_NO_REGISTER) {
		struct wanted slot = {SN_STEP_NO_REGISTER, step->a, step->addend};
		if (step->size != 8)
			return (struct value){.kind = UNKNOWN};
		return value_of(search, slot, address, depth + 1);
	}
	struct value a = register_value(search, step->a, address, depth + 1);
	struct value b = register_value(search, step->b, address, depth + 1);
	if (step->op == SN_STEP_SUM && step->b != SN_STEP_NO_REGISTER && step->size > 0 &&
	    step->size < 8) {
		if (b.kind == ENTRY && step->size <= b.size)
			b.is_signed = step->is_signed;
		if (b.kind == UNKNOWN && step->size == 1)
			b.limit = 256;
	}
	if (step->b != SN_STEP_NO_REGISTER)
		b = scaled(b, step->shift);
	struct value all = sum(sum(a, b), constant(step->addend));
	return step->op == SN_STEP_LOAD ? loaded(flow, all, step) : all;
}

/* Whether a step writes the wanted register or stack slot; then *value is what it writes. */
static bool writes_wanted(struct search *search, const struct wanted *wanted,
			  const struct sn_step *step, uint64_t address, unsigned depth,
			  struct value *value)
{
	*value = (struct value){.kind = UNKNOWN};
	if (wanted->reg == SN_STEP_NO_REGISTER) {
		if (step->op != SN_STEP_STORE || step->a != wanted->base ||
		    step->addend != wanted->offset || step->b != SN_STEP_NO_REGISTER)
			return false;
		*value = register_value(search, step->dest, address, depth + 1);
		return true;
	}
	uint32_t bit = 1u << wanted->reg;
	if (step->op == SN_STEP_CALL)
		return sn_jump_decoder_call_writes(search->flow->decoder) & bit;
	if (!(step->writes & bit))
		return false;
	if (step->dest != wanted->reg)
		return true;
	if (step->op == SN_STEP_LIMIT)
		value->limit = step->addend < ENTRIES_MAX ? step->addend + 1 : 0;
	else if (step->op == SN_STEP_SUM || step->op == SN_STEP_LOAD)
		*value = value_from(search, step, address, depth);
	return true;
}

/* The blocks still to look through, backwards from an address in each. */
struct trail {
	uint64_t seen[BLOCKS_MAX];
	unsigned seen_count, next;
};

static void add_origin(struct trail *trail, uint64_t address)
{
	for (unsigned i = 0; i < trail->seen_count; i++)
		if (trail->seen[i] == address)
			return;
	if (trail->seen_count < BLOCKS_MAX)
		trail->seen[trail->seen_count++] = address;
}

/* The instructions that jump to an address, if it begins a block. */
static void add_origins(const struct sn_flow *flow, struct trail *trail, uint64_t address)
{
	size_t position = sn_flow_position(flow, address, NULL);
	if (position == SIZE_MAX || !(flow->marks[position] & MARK_BLOCK))
		return;
	for (uint32_t i = sn_flow_origins_of(flow, address);
	     i < flow->origin_count && flow->origins[i].to == address; i++)
		add_origin(trail, flow->origins[i].from);
}

/*
 * Searches all paths backwards for the nearest write of the wanted register or stack slot. The
 * first write that is found decides: all paths lead to it where a table's address was loaded once,
 * before a loop.
 */
static struct value value_of(struct search *search, struct wanted wanted, uint64_t before,
			     unsigned depth)
{
	struct sn_flow *flow = search->flow;
	struct value value = {.kind = UNKNOWN};
	struct trail trail = {.seen = {before}, .seen_count = 1};
	if (depth > DEPTH_MAX)
		return value;
	while (trail.next < trail.seen_count) {
		struct sn_step step;
		uint64_t at = trail.seen[trail.next++];
		add_origins(flow, &trail, at);
		while ((at = before_in_place(flow, at)) != 0) {
			if (!step_at(search, at, &step))
				return value;
			if (writes_wanted(search, &wanted, &step, at, depth, &value))
				return value;
			add_origins(flow, &trail, at);
		}
	}
	return value;
}

/* ---- how many entries ---- */

/* The comparison before the jump: how many values pass it. 0: none found. */
static uint64_t compared_limit(struct search *search, uint64_t jump)
{
	const struct sn_flow *flow = search->flow;
	struct sn_step step;
	int branch = SN_STEP_OTHER;
	uint64_t at = jump;
	for (unsigned branches = 0, steps = 0; branches < BRANCHES_MAX && steps < 64; steps++) {
		uint64_t before = before_in_place(flow, at);
		uint32_t origin = sn_flow_origins_of(flow, at);
		if (before == 0 && origin < flow->origin_count && flow->origins[origin].to == at)
			before = flow->origins[origin].from;
		if (before == 0 || !step_at(search, before, &step))
			return 0;
		at = before;
		if (step.op == SN_STEP_BRANCH_ABOVE || step.op == SN_STEP_BRANCH_ABOVE_SAME) {
			branch = step.op;
			branches++;
		} else if (step.op == SN_STEP_COMPARE && branch != SN_STEP_OTHER) {
			if (step.addend >= ENTRIES_MAX)
				return 0;
			return step.addend + (branch == SN_STEP_BRANCH_ABOVE);
		}
	}
	return 0;
}

/* ---- reading the table ---- */

static bool read_target(const struct sn_flow *flow, const struct value *table, uint64_t index,
			uint64_t *target)
{
	uint64_t at = table->base + index * table->stride, raw = 0;
	if (table->kind == ENTRY) {
		*target = sn_code_pointer_at(flow->code, at);
		return *target != 0;
	}
	struct sn_bytes bytes = sn_code_data(flow->code, at);
	if (bytes.size < table->size)
		return false;
	memcpy(&raw, bytes.data, table->size);
	unsigned unused = 64 - 8 * table->size;
	int64_t extended = (int64_t)(raw << unused) >> unused;
	/* distances of four bytes go both ways, whatever was said on the way */
	if (table->is_signed || table->size == 4)
		raw = (uint64_t)extended;
	*target = table->target + (raw << table->shift);
	return true;
}

/*
 * A threaded interpreter jumps through its one table at the end of each of its parts. For people
 * that is one loop around one dispatch, not a loop for each pair of parts: so all jumps through a
 * table lead to the first of them, and only that to the targets.
 */
static bool joins_other_jump(struct sn_flow *flow, const struct value *table, uint64_t jump,
			     void (*add)(struct sn_flow *flow, uint64_t from, uint64_t to))
{
	for (uint32_t i = 0; i < flow->jump_count; i++) {
		const struct sn_flow_jump *other = &flow->jumps[i];
		if (other->at == jump || other->table != table->base ||
		    other->target != table->target)
			continue;
		add(flow, jump, other->at);
		return true;
	}
	return false;
}

static void remember(struct sn_flow *flow, const struct value *table, uint64_t jump)
{
	for (uint32_t i = 0; i < flow->jump_count; i++) {
		if (flow->jumps[i].at != jump)
			continue;
		flow->jumps[i].table = table->base;
		flow->jumps[i].target = table->target;
	}
}

bool sn_jump_table_resolve(struct sn_flow *flow, uint64_t jump,
			   void (*add)(struct sn_flow *flow, uint64_t from, uint64_t to))
{
	struct search search = {flow, STEPS_MAX};
	struct sn_step step;
	if (!flow->decoder)
		flow->decoder = sn_jump_decoder_new(flow->code->file->machine);
	if (!flow->decoder || !step_at(&search, jump, &step) ||
	    (step.op != SN_STEP_SUM && step.op != SN_STEP_LOAD))
		return false;
	struct value table = value_from(&search, &step, jump, 0);
	if (!(table.kind == ENTRY && table.size == 8) && table.kind != TARGET)
		return false;
	if (joins_other_jump(flow, &table, jump, add))
		return true;
	uint64_t limit = compared_limit(&search, jump);
	if (limit == 0)
		limit = table.limit;
	if (limit == 0)
		limit = UNKNOWN_ENTRIES_MAX;
	uint64_t count = 0;
	for (uint64_t target; count < limit; count++) {
		if (!read_target(flow, &table, count, &target) ||
		    target % flow->code->alignment != 0 ||
		    sn_flow_target_position(flow, target) == SIZE_MAX)
			break;
		add(flow, jump, target);
	}
	if (count > 0)
		remember(flow, &table, jump);
	return count > 0;
}
