/* SPDX-License-Identifier: Apache-2.0 */
/* Line number programs; see dwarf_line.h. */
#include "dwarf_line.h"
#include "base/search.h"
#include "base/vec.h"

#include <stdlib.h>

#define ENTRY_FORMATS_MAX 16
#define PATH_PARTS_MAX	  256

struct line_file {
	const char *name;
	uint64_t folder;
	const char *path; /* the pool's, once asked for */
};

/* A line program's header. */
struct sn_dwarf_lines {
	struct sn_cursor program;
	uint8_t address_bytes;
	uint8_t min_instruction_bytes;
	uint8_t operations_max;
	int8_t line_base;
	uint8_t line_range;
	uint8_t opcode_base;
	const uint8_t *operand_counts; /* of opcodes 1 .. opcode_base - 1 */
	uint32_t folder_count, file_count;
	const char **folders;
	struct line_file *files;
};

size_t sn_dwarf_target_at(const struct sn_dwarf_target *targets, size_t count, uint64_t address)
{
	return sn_search(i, count, targets[i].address < address);
}

/* ---- tables of folders and files ---- */

static bool add_folder(struct sn_dwarf_lines *lines, uint32_t *capacity, const char *name)
{
	if (lines->folder_count == *capacity) {
		*capacity = *capacity ? *capacity * 2 : 32;
		const char **grown = realloc(lines->folders, *capacity * sizeof(*grown));
		if (!grown)
			return false;
		lines->folders = grown;
	}
	lines->folders[lines->folder_count++] = name;
	return true;
}

static bool add_file(struct sn_dwarf_lines *lines, uint32_t *capacity, struct line_file file)
{
	if (lines->file_count == *capacity) {
		*capacity = *capacity ? *capacity * 2 : 64;
		struct line_file *grown = realloc(lines->files, *capacity * sizeof(*grown));
		if (!grown)
			return false;
		lines->files = grown;
	}
	lines->files[lines->file_count++] = file;
	return true;
}

/* Versions 2 to 4: names one after the other, numbered from 1; folder 0 is the unit's. */
static bool read_tables_before_5(struct sn_dwarf_unit *unit, struct sn_dwarf_lines *lines,
				 struct sn_cursor *cursor)
{
	uint32_t folders = 0, files = 0;
	const char *name;
	if (!add_folder(lines, &folders, unit->folder) ||
	    !add_file(lines, &files, (struct line_file){unit->name, 0, NULL}))
		return false;
	while ((name = sn_cursor_string(cursor)) && name[0] && sn_dwarf_spend(unit->file, 1))
		if (!add_folder(lines, &folders, name))
			return false;
	while ((name = sn_cursor_string(cursor)) && name[0] && sn_dwarf_spend(unit->file, 1)) {
		uint64_t folder = sn_cursor_uleb(cursor);
		sn_cursor_uleb(cursor);
		sn_cursor_uleb(cursor);
		if (!add_file(lines, &files, (struct line_file){name, folder, NULL}))
			return false;
	}
	return true;
}

/* Version 5: entries of a described format, numbered from 0. */
static bool read_table_5(struct sn_dwarf_unit *unit, struct sn_dwarf_lines *lines,
			 struct sn_cursor *cursor, bool are_files)
{
	uint64_t formats[ENTRY_FORMATS_MAX][2];
	uint32_t capacity = 0;
	uint8_t format_count = sn_cursor_u8(cursor);
	if (format_count > ENTRY_FORMATS_MAX)
		return false;
	for (unsigned i = 0; i < format_count; i++) {
		formats[i][0] = sn_cursor_uleb(cursor);
		formats[i][1] = sn_cursor_uleb(cursor);
	}
	uint64_t count = sn_cursor_uleb(cursor);
	for (uint64_t i = 0; i < count; i++) {
		struct line_file file = {0};
		if (cursor->failed || !sn_dwarf_spend(unit->file, 1))
			return false;
		for (unsigned j = 0; j < format_count; j++) {
			struct sn_dwarf_value value =
			    sn_dwarf_read(unit, cursor, (uint16_t)formats[j][1], 0);
			if (formats[j][0] == DW_LNCT_path)
				file.name = value.string;
			else if (formats[j][0] == DW_LNCT_directory_index)
				file.folder = value.number;
		}
		if (!(are_files ? add_file(lines, &capacity, file)
				: add_folder(lines, &capacity, file.name)))
			return false;
	}
	return !cursor->failed;
}

/* ---- header ---- */

static bool read_header(struct sn_dwarf_unit *unit, struct sn_dwarf_lines *lines)
{
	struct sn_cursor cursor = sn_cursor_at(unit->file->line, unit->line_offset);
	unsigned offset_bytes = 4;
	uint64_t length = sn_cursor_u32(&cursor);
	if (length == UINT32_MAX) {
		offset_bytes = 8;
		length = sn_cursor_u64(&cursor);
	}
	if (cursor.failed || length > sn_cursor_left(&cursor))
		return false;
	cursor.end = cursor.at + length;
	unsigned version = sn_cursor_u16(&cursor);
	if (version < 2 || version > 5)
		return false;
	lines->address_bytes = unit->address_bytes;
	if (version >= 5) {
		lines->address_bytes = sn_cursor_u8(&cursor);
		sn_cursor_u8(&cursor); /* segment selectors */
	}
	uint64_t header_bytes = sn_cursor_uint(&cursor, offset_bytes);
	lines->program = cursor;
	sn_cursor_skip(&lines->program, header_bytes);
	lines->min_instruction_bytes = sn_cursor_u8(&cursor);
	lines->operations_max = version >= 4 ? sn_cursor_u8(&cursor) : 1;
	sn_cursor_u8(&cursor); /* default_is_stmt: every row counts */
	lines->line_base = (int8_t)sn_cursor_u8(&cursor);
	lines->line_range = sn_cursor_u8(&cursor);
	lines->opcode_base = sn_cursor_u8(&cursor);
	lines->operand_counts = cursor.at;
	sn_cursor_skip(&cursor, lines->opcode_base ? lines->opcode_base - 1u : 0);
	if (cursor.failed || lines->program.failed || lines->line_range == 0 ||
	    lines->opcode_base == 0)
		return false;
	/* the assembler may write this section in another format than the compiler the others */
	struct sn_dwarf_unit own_format = *unit;
	own_format.offset_bytes = (uint8_t)offset_bytes;
	/* a table cut short still names the files before the cut */
	if (version < 5)
		read_tables_before_5(unit, lines, &cursor);
	else if (read_table_5(&own_format, lines, &cursor, false))
		read_table_5(&own_format, lines, &cursor, true);
	return true;
}

static struct sn_dwarf_lines *lines_of(struct sn_dwarf_unit *unit)
{
	if (unit->lines || !unit->has_lines)
		return unit->lines;
	unit->lines = calloc(1, sizeof(*unit->lines));
	if (unit->lines && !read_header(unit, unit->lines)) {
		sn_dwarf_lines_free(unit);
		unit->has_lines = false;
	}
	return unit->lines;
}

void sn_dwarf_lines_free(struct sn_dwarf_unit *unit)
{
	if (!unit->lines)
		return;
	free(unit->lines->folders);
	free(unit->lines->files);
	free(unit->lines);
	unit->lines = NULL;
}

/* ---- the program ---- */

struct line_state {
	struct sn_dwarf_lines *lines;
	struct sn_dwarf_target *targets;
	size_t count;
	size_t at; /* the first target that is not before the last row */
	uint64_t address, last_address;
	uint32_t file, line, column, discriminator;
	uint32_t last_file, last_line, last_column, last_discriminator;
	uint32_t operation; /* within an instruction bundle */
	bool has_last;	    /* a row of this sequence precedes */
	bool is_dead;	    /* the linker discarded the sequence's code */
};

static void begin_sequence(struct line_state *state)
{
	state->address = 0;
	state->operation = 0;
	state->file = 1;
	state->line = 1;
	state->column = state->discriminator = 0;
	state->has_last = false;
	state->is_dead = false;
}

/* What the last row said holds up to here. */
static void add_row(struct line_state *state, const struct sn_elf_file *code)
{
	if (!state->has_last) {
		state->is_dead = !sn_elf_file_is_code(code, state->address);
		state->at = sn_dwarf_target_at(state->targets, state->count, state->address);
	} else if (state->address < state->last_address) {
		state->at = sn_dwarf_target_at(state->targets, state->count, state->address);
	} else if (!state->is_dead) {
		while (state->at < state->count &&
		       state->targets[state->at].address < state->address) {
			struct sn_dwarf_target *target = &state->targets[state->at++];
			if (target->has_line)
				continue;
			target->has_line = true;
			target->file = state->last_file;
			target->line = state->last_line;
			target->column = state->last_column;
			target->discriminator = state->last_discriminator;
		}
	}
	state->has_last = true;
	state->last_address = state->address;
	state->last_file = state->file;
	state->last_line = state->line;
	state->last_column = state->column;
	state->last_discriminator = state->discriminator;
	state->discriminator = 0;
}

static void advance(struct line_state *state, uint64_t operations)
{
	const struct sn_dwarf_lines *lines = state->lines;
	if (lines->operations_max > 1) {
		uint64_t total = state->operation + operations;
		state->operation = (uint32_t)(total % lines->operations_max);
		operations = total / lines->operations_max;
	}
	state->address += operations * lines->min_instruction_bytes;
}

static void run_extended(struct line_state *state, struct sn_cursor *cursor,
			 const struct sn_elf_file *code)
{
	uint64_t length = sn_cursor_uleb(cursor);
	struct sn_cursor inside = *cursor;
	sn_cursor_skip(cursor, length);
	if (cursor->failed || length == 0)
		return;
	inside.end = inside.at + length;
	switch (sn_cursor_u8(&inside)) {
	case DW_LNE_end_sequence:
		add_row(state, code);
		begin_sequence(state);
		break;
	case DW_LNE_set_address:
		state->address =
		    sn_cursor_uint(&inside, length - 1 <= 8 ? (unsigned)length - 1 : 8);
		state->operation = 0;
		break;
	case DW_LNE_set_discriminator:
		state->discriminator = (uint32_t)sn_cursor_uleb(&inside);
		break;
	}
}

static void run_standard(struct line_state *state, struct sn_cursor *cursor, uint8_t opcode,
			 const struct sn_elf_file *code)
{
	const struct sn_dwarf_lines *lines = state->lines;
	switch (opcode) {
	case DW_LNS_copy:
		add_row(state, code);
		break;
	case DW_LNS_advance_pc:
		advance(state, sn_cursor_uleb(cursor));
		break;
	case DW_LNS_advance_line:
		state->line += (uint32_t)sn_cursor_sleb(cursor);
		break;
	case DW_LNS_set_file:
		state->file = (uint32_t)sn_cursor_uleb(cursor);
		break;
	case DW_LNS_set_column:
		state->column = (uint32_t)sn_cursor_uleb(cursor);
		break;
	case DW_LNS_const_add_pc:
		advance(state, (255u - lines->opcode_base) / lines->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		state->address += sn_cursor_u16(cursor);
		state->operation = 0;
		break;
	default: /* negate_stmt and the like, and what later versions add */
		for (unsigned i = 0; i < lines->operand_counts[opcode - 1]; i++)
			sn_cursor_uleb(cursor);
	}
}

void sn_dwarf_lines_resolve(struct sn_dwarf_unit *unit, const struct sn_elf_file *code,
			    struct sn_dwarf_target *targets, size_t count)
{
	struct sn_dwarf_lines *lines = lines_of(unit);
	struct line_state state = {.lines = lines, .targets = targets, .count = count};
	if (!lines)
		return;
	struct sn_cursor cursor = lines->program;
	begin_sequence(&state);
	while (cursor.at < cursor.end && sn_dwarf_spend(unit->file, 1)) {
		uint8_t opcode = sn_cursor_u8(&cursor);
		if (opcode >= lines->opcode_base) {
			unsigned adjusted = opcode - lines->opcode_base;
			advance(&state, adjusted / lines->line_range);
			state.line +=
			    (uint32_t)(lines->line_base + (int)(adjusted % lines->line_range));
			add_row(&state, code);
		} else if (opcode == 0) {
			run_extended(&state, &cursor, code);
		} else {
			run_standard(&state, &cursor, opcode, code);
		}
	}
}

/* ---- paths ---- */

/* Joins up to three parts, dropping empty ones, "." and "x/..". */
static const char *join_path(const char *const parts[3], struct sn_string_pool *pool)
{
	char path[4096];
	size_t starts[PATH_PARTS_MAX], depth = 0, length = 0;
	for (unsigned p = 0; p < 3; p++) {
		const char *at = parts[p] ? parts[p] : "";
		if (at[0] == '/') {
			length = depth = 0;
			path[length++] = '/';
		}
		while (*at) {
			size_t bytes = strcspn(at, "/");
			bool is_up = bytes == 2 && memcmp(at, "..", 2) == 0;
			if (is_up && depth > 0) {
				length = starts[--depth];
			} else if (bytes > 0 && !(bytes == 1 && at[0] == '.')) {
				if (length + bytes + 2 > sizeof(path) || depth == PATH_PARTS_MAX)
					return NULL;
				/* what ".." goes up from must be known */
				if (!is_up)
					starts[depth++] = length;
				if (length > 0 && path[length - 1] != '/')
					path[length++] = '/';
				memcpy(path + length, at, bytes);
				length += bytes;
			}
			at += bytes + (at[bytes] == '/');
		}
	}
	struct sn_pooled *pooled = length > 0 ? sn_string_pool_intern(pool, path, length) : NULL;
	return pooled ? pooled->text : NULL;
}

const char *sn_dwarf_lines_file(struct sn_dwarf_unit *unit, uint64_t file,
				struct sn_string_pool *pool)
{
	struct sn_dwarf_lines *lines = lines_of(unit);
	if (!lines || file >= lines->file_count || !lines->files[file].name)
		return NULL;
	struct line_file *entry = &lines->files[file];
	if (!entry->path) {
		const char *folder =
		    entry->folder < lines->folder_count ? lines->folders[entry->folder] : NULL;
		entry->path =
		    join_path((const char *const[3]){unit->folder, folder, entry->name}, pool);
	}
	return entry->path;
}
