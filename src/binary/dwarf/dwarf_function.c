/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over a unit's entries; see dwarf_function.h. */
#include "dwarf_function.h"
#include "base/buffer.h"
#include "base/vec.h"

#include <stdio.h>

#define SCOPES_MAX 512
#define CHAIN_MAX  16 /* origins and specifications in a row */

/* The attributes of an entry that matter here. */
enum attribute {
	UNWANTED,
	LOW_PC,
	HIGH_PC,
	RANGES,
	ORIGIN,
	SPECIFICATION,
	NAME,
	LINKAGE_NAME,
	LINE,
	CALL_FILE,
	CALL_LINE,
	CALL_COLUMN,
	CALL_DISCRIMINATOR,
	SIBLING,
	ATTRIBUTES,
};

struct entry {
	struct sn_dwarf_value of[ATTRIBUTES];
};

static enum attribute attribute_of(uint16_t name)
{
	static const uint8_t wanted[] = {[DW_AT_low_pc] = LOW_PC,
					 [DW_AT_high_pc] = HIGH_PC,
					 [DW_AT_ranges] = RANGES,
					 [DW_AT_abstract_origin] = ORIGIN,
					 [DW_AT_name] = NAME,
					 [DW_AT_specification] = SPECIFICATION,
					 [DW_AT_decl_line] = LINE,
					 [DW_AT_linkage_name] = LINKAGE_NAME,
					 [DW_AT_call_file] = CALL_FILE,
					 [DW_AT_call_line] = CALL_LINE,
					 [DW_AT_call_column] = CALL_COLUMN,
					 [DW_AT_sibling] = SIBLING};
	if (name == DW_AT_MIPS_linkage_name)
		return LINKAGE_NAME;
	if (name == DW_AT_GNU_discriminator)
		return CALL_DISCRIMINATOR;
	return name < sizeof(wanted) ? wanted[name] : UNWANTED;
}

static uint32_t number_of(const struct entry *entry, enum attribute attribute)
{
	return (uint32_t)entry->of[attribute].number;
}

static void read_entry(struct sn_dwarf_unit *unit, struct sn_cursor *cursor,
		       const struct sn_dwarf_abbrev *abbrev, struct entry *entry)
{
	const struct sn_dwarf_attribute *at = unit->abbrevs->attributes + abbrev->first;
	memset(entry, 0, sizeof(*entry));
	for (unsigned i = 0; i < abbrev->count && !cursor->failed; i++, at++) {
		enum attribute attribute = attribute_of(at->name);
		if (attribute)
			entry->of[attribute] = sn_dwarf_read(unit, cursor, at->form, at->implicit);
		else
			sn_dwarf_skip_value(unit, cursor, at->form);
	}
}

/* Where the next entry of the same level begins; 0 unknown. */
static uint64_t sibling_of(const struct entry *entry)
{
	return entry->of[SIBLING].class == SN_DWARF_REFERENCE ? entry->of[SIBLING].number : 0;
}

static struct sn_cursor cursor_in_unit(const struct sn_dwarf_unit *unit, uint64_t offset)
{
	struct sn_bytes info = {unit->file->info.data, (size_t)unit->end};
	return sn_cursor_at(info, offset);
}

static uint64_t offset_of(const struct sn_dwarf_unit *unit, const struct sn_cursor *cursor)
{
	return (uint64_t)(cursor->at - unit->file->info.data);
}

/* Jumps to a sibling if that lies ahead, in the unit. */
static bool jump(struct sn_dwarf_unit *unit, struct sn_cursor *cursor, uint64_t sibling)
{
	if (sibling <= offset_of(unit, cursor) || sibling > unit->end)
		return false;
	cursor->at = unit->file->info.data + sibling;
	return true;
}

/* Moves past the attributes of an entry; *sibling is where the next at its level begins, 0 unknown.
 */
static void skip_entry(struct sn_dwarf_unit *unit, struct sn_cursor *cursor,
		       const struct sn_dwarf_abbrev *abbrev, uint64_t *sibling)
{
	*sibling = 0;
	if (abbrev->has_children && abbrev->sibling_at >= 0) {
		struct sn_cursor at = *cursor;
		sn_cursor_skip(&at, (unsigned)abbrev->sibling_at);
		*sibling = unit->offset + sn_cursor_u32(&at);
	}
	sn_dwarf_skip(unit, cursor, abbrev);
}

/* Moves past all descendants of the entry just read. */
static void skip_children(struct sn_dwarf_unit *unit, struct sn_cursor *cursor, uint64_t sibling)
{
	if (sibling && jump(unit, cursor, sibling))
		return;
	for (uint64_t depth = 1; depth > 0 && cursor->at < cursor->end;) {
		uint64_t code = sn_cursor_uleb(cursor);
		if (code == 0) {
			depth--;
			continue;
		}
		const struct sn_dwarf_abbrev *abbrev = sn_dwarf_abbrev_of(unit, code);
		if (!abbrev || !sn_dwarf_spend(unit->file, 1)) {
			sn_cursor_fail(cursor);
			return;
		}
		skip_entry(unit, cursor, abbrev, &sibling);
		if (abbrev->has_children && !(sibling && jump(unit, cursor, sibling)))
			depth++;
	}
}

/* ---- which function, which inlined call ---- */

struct walk {
	struct sn_dwarf_unit *unit;
	const struct sn_elf_file *code;
	struct sn_dwarf_target *targets;
	size_t count;
	size_t placed; /* targets in a function */
	struct sn_dwarf_nodes *nodes;
	bool into_types; /* also look for functions where compilers do not put them */
	bool failed;
	/* of the entry being matched */
	uint32_t parent, node;
	uint32_t block; /* the lexical block that it is in, or is */
	bool is_block;
	uint64_t start;
	struct entry entry;
	uint64_t die;
};

static bool new_node(struct walk *walk)
{
	struct sn_dwarf_nodes *nodes = walk->nodes;
	struct sn_dwarf_node node = {.parent = walk->parent,
				     .call_line = number_of(&walk->entry, CALL_LINE),
				     .call_column = number_of(&walk->entry, CALL_COLUMN),
				     .call_discriminator =
					 number_of(&walk->entry, CALL_DISCRIMINATOR),
				     .call_block = walk->block,
				     .call_file = walk->entry.of[CALL_FILE].number,
				     .die = walk->die,
				     .start = UINT64_MAX};
	walk->node = nodes->count;
	walk->failed |= sn_vec_push(&nodes->list, &nodes->capacity, &nodes->count, node) < 0;
	return !walk->failed;
}

/* Gives the targets of one range to the entry, if they are its parent's so far; to a block those
 * that are its function's. */
static bool match_range(void *data, uint64_t start, uint64_t end)
{
	struct walk *walk = data;
	/* compilers write the part with the entry first, what they split off after it */
	if (walk->start == UINT64_MAX)
		walk->start = start;
	size_t at = sn_dwarf_target_at(walk->targets, walk->count, start);
	if (at == walk->count || walk->targets[at].address >= end)
		return true;
	if (walk->parent == SN_DWARF_NO_NODE && !sn_elf_file_is_code(walk->code, start))
		return true; /* discarded by the linker */
	for (; at < walk->count && walk->targets[at].address < end; at++) {
		if (!sn_dwarf_spend(walk->unit->file, 1))
			return false;
		if (walk->targets[at].node != walk->parent)
			continue;
		if (walk->is_block) {
			walk->targets[at].block = walk->block;
			continue;
		}
		if (walk->node == SN_DWARF_NO_NODE && !new_node(walk))
			return false;
		walk->targets[at].node = walk->node;
		walk->targets[at].block = 0;
		walk->placed += walk->parent == SN_DWARF_NO_NODE;
	}
	return true;
}

/* The node made for the entry, or SN_DWARF_NO_NODE where it encloses no target, or is a block. */
static uint32_t match_entry(struct walk *walk, uint32_t parent)
{
	const struct sn_dwarf_value *of = walk->entry.of;
	uint64_t low = of[LOW_PC].number;
	walk->parent = parent;
	walk->node = SN_DWARF_NO_NODE;
	walk->start = UINT64_MAX;
	if (of[RANGES].class != SN_DWARF_NONE) {
		sn_dwarf_ranges(walk->unit, of[RANGES], match_range, walk);
		/* the entry point, where it is said */
		if (of[LOW_PC].class == SN_DWARF_ADDRESS && low > 0)
			walk->start = low;
	} else if (of[LOW_PC].class == SN_DWARF_ADDRESS) {
		uint64_t end = low + 1;
		if (of[HIGH_PC].class == SN_DWARF_ADDRESS)
			end = of[HIGH_PC].number;
		else if (of[HIGH_PC].class == SN_DWARF_NUMBER)
			end = low + of[HIGH_PC].number;
		match_range(walk, low, end);
	}
	if (walk->node != SN_DWARF_NO_NODE)
		walk->nodes->list[walk->node].start = walk->start;
	return walk->node;
}

/* A block is known by where in its function its entry is: the order of blocks stays the same over
 * builds. */
static void match_block(struct walk *walk, uint32_t function)
{
	walk->block = (uint32_t)(walk->die - walk->nodes->list[function].die);
	walk->is_block = true;
	match_entry(walk, function);
	walk->is_block = false;
}

static bool is_type(uint16_t tag)
{
	switch (tag) {
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_subroutine_type:
		return true;
	}
	return false;
}

/*
 * Walks the unit once. `scopes` is the node around each open level; entries that enclose no target
 * are jumped over. Ends as soon as every target has its function and that function is done.
 */
static void walk_unit(struct walk *walk)
{
	uint32_t scopes[SCOPES_MAX], blocks[SCOPES_MAX];
	struct sn_dwarf_unit *unit = walk->unit;
	struct sn_cursor cursor = cursor_in_unit(unit, unit->first_die);
	uint32_t depth = 0;
	scopes[0] = SN_DWARF_NO_NODE;
	blocks[0] = 0;
	while (cursor.at < cursor.end && !walk->failed) {
		uint64_t sibling = 0;
		walk->die = offset_of(unit, &cursor);
		uint64_t code = sn_cursor_uleb(&cursor);
		if (code == 0) {
			if (depth <= 1)
				return;
			depth--;
			if (walk->placed == walk->count && scopes[depth] == SN_DWARF_NO_NODE)
				return;
			continue;
		}
		const struct sn_dwarf_abbrev *abbrev = sn_dwarf_abbrev_of(unit, code);
		if (!abbrev || !sn_dwarf_spend(unit->file, 1))
			return;
		uint32_t scope = scopes[depth];
		bool is_entered = true;
		walk->block = blocks[depth];
		if (abbrev->tag == DW_TAG_subprogram || abbrev->tag == DW_TAG_inlined_subroutine) {
			bool is_function = abbrev->tag == DW_TAG_subprogram;
			read_entry(unit, &cursor, abbrev, &walk->entry);
			sibling = sibling_of(&walk->entry);
			scope = match_entry(walk, is_function ? SN_DWARF_NO_NODE : scope);
			is_entered = scope != SN_DWARF_NO_NODE || (is_function && walk->into_types);
			walk->block = 0;
		} else if (abbrev->tag == DW_TAG_lexical_block && scope != SN_DWARF_NO_NODE) {
			read_entry(unit, &cursor, abbrev, &walk->entry);
			sibling = sibling_of(&walk->entry);
			match_block(walk, scope);
		} else {
			skip_entry(unit, &cursor, abbrev, &sibling);
			is_entered = walk->into_types || !is_type(abbrev->tag);
		}
		if (!abbrev->has_children) {
			if (depth == 0)
				return;
		} else if (is_entered && depth + 1 < SCOPES_MAX) {
			scopes[++depth] = scope;
			blocks[depth] = walk->block;
		} else {
			skip_children(unit, &cursor, sibling);
		}
	}
}

int sn_dwarf_functions_resolve(struct sn_dwarf_unit *unit, const struct sn_elf_file *code,
			       struct sn_dwarf_target *targets, size_t count,
			       struct sn_dwarf_nodes *nodes)
{
	struct walk walk = {
	    .unit = unit, .code = code, .targets = targets, .count = count, .nodes = nodes};
	if (!sn_dwarf_unit_abbrevs(unit))
		return 0;
	walk_unit(&walk);
	if (walk.placed < count && !walk.failed) {
		walk.into_types = true;
		walk_unit(&walk);
	}
	return walk.failed ? SN_ERR_MEMORY : 0;
}

/* ---- names ---- */

static struct sn_dwarf_unit *unit_of(struct sn_dwarf_unit *near, struct sn_dwarf_value reference)
{
	struct sn_dwarf_unit *unit = NULL;
	if (reference.class == SN_DWARF_REFERENCE) {
		if (reference.number >= near->first_die && reference.number < near->end)
			return near;
		unit = sn_dwarf_unit_at(near->file, reference.number);
	} else if (reference.class == SN_DWARF_SHARED_REFERENCE && near->file->shared) {
		unit = sn_dwarf_unit_at(near->file->shared, reference.number);
	}
	return unit && sn_dwarf_unit_abbrevs(unit) ? unit : NULL;
}

static bool read_entry_at(struct sn_dwarf_unit *unit, uint64_t offset, struct entry *entry)
{
	struct sn_cursor cursor = cursor_in_unit(unit, offset);
	const struct sn_dwarf_abbrev *abbrev = sn_dwarf_abbrev_of(unit, sn_cursor_uleb(&cursor));
	if (!abbrev || !sn_dwarf_spend(unit->file, 4))
		return false;
	read_entry(unit, &cursor, abbrev, entry);
	return true;
}

static bool has_scopes(struct sn_dwarf_unit *unit)
{
	struct sn_dwarf_value ranges;
	uint64_t high_pc;
	if (!unit->is_read)
		sn_dwarf_unit_read(unit, &ranges, &high_pc);
	switch (unit->language) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_C_plus_plus_17:
	case DW_LANG_C_plus_plus_20:
	case DW_LANG_D:
	case DW_LANG_Rust:
	case DW_LANG_Swift:
		return true;
	}
	return false;
}

/* What a scope is called in front of "::"; NULL where it adds nothing. */
static const char *scope_name(uint16_t tag, const char *name)
{
	switch (tag) {
	case DW_TAG_namespace:
		return name ? name : "(anonymous namespace)";
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_interface_type:
		return name ? name : "{unnamed}";
	case DW_TAG_subprogram:
	case DW_TAG_module:
		return name;
	}
	return NULL;
}

/* A type without a name whose operator() is asked for is a lambda's: told by the line it is on. */
static const char *lambda_name(uint32_t line, struct sn_string_pool *pool)
{
	char name[32];
	snprintf(name, sizeof(name), "{lambda:%u}", line);
	return sn_string_pool_string(pool, name);
}

/* Walks down to `die`, noting the names of the levels around it. */
static const char *qualify(struct sn_dwarf_unit *unit, uint64_t die, const char *name,
			   struct sn_string_pool *pool)
{
	const char *scopes[64];
	struct sn_buffer text = {0};
	struct sn_cursor cursor = cursor_in_unit(unit, unit->first_die);
	uint32_t depth = 0;
	bool is_call = strcmp(name, "operator()") == 0;
	while (cursor.at < cursor.end && offset_of(unit, &cursor) < die) {
		struct entry entry;
		uint64_t code = sn_cursor_uleb(&cursor);
		if (code == 0) {
			depth -= depth > 0;
			continue;
		}
		const struct sn_dwarf_abbrev *abbrev = sn_dwarf_abbrev_of(unit, code);
		if (!abbrev || !sn_dwarf_spend(unit->file, 1))
			return name;
		if (!abbrev->has_children) {
			sn_dwarf_skip(unit, &cursor, abbrev);
			continue;
		}
		read_entry(unit, &cursor, abbrev, &entry);
		uint64_t sibling = sibling_of(&entry);
		if (sibling && sibling <= die && jump(unit, &cursor, sibling))
			continue;
		if (depth < sizeof(scopes) / sizeof(scopes[0]))
			scopes[depth] = is_call && is_type(abbrev->tag) && !entry.of[NAME].string &&
						number_of(&entry, LINE)
					    ? lambda_name(number_of(&entry, LINE), pool)
					    : scope_name(abbrev->tag, entry.of[NAME].string);
		depth++;
	}
	if (offset_of(unit, &cursor) != die || depth > sizeof(scopes) / sizeof(scopes[0]))
		return name;
	for (uint32_t i = 0; i < depth; i++)
		if (scopes[i])
			sn_buffer_print(&text, "%.*s::", SN_POOL_STRING_MAX, scopes[i]);
	sn_buffer_text(&text, name);
	const char *kept =
	    text.failed ? NULL : sn_string_pool_string(pool, sn_buffer_string(&text));
	sn_buffer_release(&text);
	return kept ? kept : name;
}

struct sn_dwarf_function sn_dwarf_function_at(struct sn_dwarf_unit *unit, uint64_t die,
					      struct sn_string_pool *pool)
{
	struct sn_dwarf_function function = {0};
	struct entry entry;
	if (!sn_dwarf_unit_abbrevs(unit))
		return function;
	for (unsigned i = 0; i < CHAIN_MAX && read_entry_at(unit, die, &entry); i++) {
		if (!function.linkage_name)
			function.linkage_name = entry.of[LINKAGE_NAME].string;
		if (!function.name)
			function.name = entry.of[NAME].string;
		if (!function.line)
			function.line = number_of(&entry, LINE);
		struct sn_dwarf_value next = entry.of[ORIGIN];
		if (next.class == SN_DWARF_NONE)
			next = entry.of[SPECIFICATION];
		struct sn_dwarf_unit *other = unit_of(unit, next);
		if (!other)
			break;
		unit = other;
		die = next.number;
	}
	if (!function.linkage_name && function.name && has_scopes(unit))
		function.name = qualify(unit, die, function.name, pool);
	return function;
}
