/* SPDX-License-Identifier: Apache-2.0 */
/* Files beside the module that hold its functions; see dwarf_split.h. */
#include "dwarf_split.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

/* Columns of a package's index, DWARF 5 section 7.3.5.3; those used here are GNU's as well. */
enum { COLUMN_INFO = 1, COLUMN_ABBREV = 3, COLUMN_STR_OFFSETS = 6, COLUMN_RNGLISTS = 8 };
#define COLUMNS_MAX 16u

/* ---- sections ---- */

static void copy_sections(struct sn_dwarf_file *file, struct sn_elf_file *elf)
{
	file->info = sn_elf_file_contents(elf, ".debug_info.dwo");
	file->abbrev = sn_elf_file_contents(elf, ".debug_abbrev.dwo");
	file->str = sn_elf_section_strings(elf, sn_elf_file_section(elf, ".debug_str.dwo"));
	file->str_offsets = sn_elf_file_contents(elf, ".debug_str_offsets.dwo");
	file->rnglists = sn_elf_file_contents(elf, ".debug_rnglists.dwo");
}

/* Cuts a section down to a unit's part of it. */
static void cut_column(struct sn_dwarf_file *file, uint32_t column, uint64_t offset, uint64_t bytes)
{
	switch (column) {
	case COLUMN_INFO:
		file->info = sn_bytes_slice(file->info, offset, bytes);
		break;
	case COLUMN_ABBREV:
		file->abbrev = sn_bytes_slice(file->abbrev, offset, bytes);
		break;
	case COLUMN_STR_OFFSETS:
		file->str_offsets = sn_bytes_slice(file->str_offsets, offset, bytes);
		break;
	case COLUMN_RNGLISTS:
		file->rnglists = sn_bytes_slice(file->rnglists, offset, bytes);
		break;
	}
}

/* The row of a package's unit, from 1; 0 where it has none. The table is open addressing, but is
 * searched as a list: once for each unit that matters. */
static uint32_t find_row(struct sn_bytes index, uint32_t slots, uint64_t id)
{
	struct sn_cursor ids = sn_cursor_at(index, 16),
			 rows = sn_cursor_at(index, 16 + 8ull * slots);
	for (uint32_t slot = 0; slot < slots && !rows.failed; slot++) {
		uint64_t signature = sn_cursor_u64(&ids);
		uint32_t row = sn_cursor_u32(&rows);
		if (row && signature == id && !rows.failed)
			return row;
	}
	return 0;
}

/* Cuts a package's sections down to those of the unit with this id. */
static bool cut_to_unit(struct sn_dwarf_file *file, struct sn_elf_file *package, uint64_t id)
{
	struct sn_bytes index = sn_elf_file_contents(package, ".debug_cu_index");
	struct sn_cursor cursor = sn_cursor_at(index, 0);
	/* two bytes and padding in DWARF 5, four before: the same where the number is small */
	uint32_t version = sn_cursor_u32(&cursor) & 0xffff, columns = sn_cursor_u32(&cursor);
	uint32_t units = sn_cursor_u32(&cursor), slots = sn_cursor_u32(&cursor);
	if (cursor.failed || (version != 2 && version != 5) || columns > COLUMNS_MAX)
		return false;
	uint32_t row = find_row(index, slots, id);
	if (!row || row > units)
		return false;
	uint64_t table = 16 + 12ull * slots, line = 4ull * columns;
	struct sn_cursor names = sn_cursor_at(index, table);
	struct sn_cursor offsets = sn_cursor_at(index, table + line * row);
	struct sn_cursor sizes = sn_cursor_at(index, table + line * (units + (uint64_t)row));
	for (uint32_t column = 0; column < columns; column++) {
		uint32_t name = sn_cursor_u32(&names), offset = sn_cursor_u32(&offsets);
		cut_column(file, name, offset, sn_cursor_u32(&sizes));
	}
	return !sizes.failed && !offsets.failed;
}

/* ---- a unit ---- */

/* What the split unit takes from its skeleton. */
static void join(struct sn_dwarf_unit *unit, const struct sn_dwarf_unit *skeleton)
{
	struct sn_dwarf_value ranges;
	uint64_t high_pc;
	bool is_new = unit->version >= 5, is_long = unit->offset_bytes == 8;
	unit->file->addr = skeleton->file->addr;
	unit->file->ranges = skeleton->file->ranges;
	unit->addr_base = skeleton->addr_base;
	/* their headers are left out of what the forms count from */
	unit->str_offsets_base = !is_new ? 0 : is_long ? 16 : 8;
	unit->rnglists_base = is_long ? 20 : 12;
	sn_dwarf_unit_read(unit, &ranges, &high_pc);
	unit->low_pc = skeleton->low_pc;
	unit->ranges_base = skeleton->ranges_base;
	unit->is_split = true;
}

/* The unit that the skeleton is of, or NULL. */
static struct sn_dwarf_unit *find_unit(struct sn_dwarf_file *file,
				       const struct sn_dwarf_unit *skeleton)
{
	for (uint32_t i = 0; i < file->unit_count; i++) {
		struct sn_dwarf_unit *unit = &file->units[i];
		if (unit->type != DW_UT_compile && unit->type != DW_UT_split_compile)
			continue;
		join(unit, skeleton);
		if (unit->dwo_id == skeleton->dwo_id)
			return unit;
	}
	return NULL;
}

static struct sn_dwarf_split *open_unit(struct sn_elf_file *elf, bool is_package,
					const struct sn_dwarf_unit *skeleton)
{
	struct sn_dwarf_split *split = calloc(1, sizeof(*split));
	if (!split)
		return NULL;
	split->file.budget = skeleton->file->budget;
	copy_sections(&split->file, elf);
	if ((!is_package || cut_to_unit(&split->file, elf, skeleton->dwo_id)) &&
	    !sn_dwarf_file_list(&split->file))
		split->unit = find_unit(&split->file, skeleton);
	if (split->unit)
		return split;
	sn_dwarf_split_free(split);
	return NULL;
}

static struct sn_elf_file *try_path(const struct sn_dwarf_places *places, const char *path)
{
	struct sn_elf_file *elf = NULL;
	if (places->search.tried)
		places->search.tried(places->search.data, path);
	sn_elf_file_open(path, &elf, NULL);
	return elf;
}

/* Where the compiler wrote it, else beside the module. */
static struct sn_dwarf_split *open_own(const struct sn_dwarf_places *places,
				       const struct sn_dwarf_unit *skeleton)
{
	char path[PATH_MAX];
	const char *name = skeleton->dwo_name, *folder = skeleton->folder ? skeleton->folder : "";
	size_t beside = (size_t)(sn_text_base_name(places->path) - places->path);
	for (unsigned attempt = 0; attempt < 2; attempt++) {
		int length;
		if (attempt == 0)
			length =
			    snprintf(path, sizeof(path), "%s%s%s%s", places->search.sysroot,
				     name[0] == '/' ? "" : folder, name[0] == '/' ? "" : "/", name);
		else
			length = snprintf(path, sizeof(path), "%.*s%s", (int)beside, places->path,
					  sn_text_base_name(name));
		struct sn_elf_file *elf =
		    length < (int)sizeof(path) ? try_path(places, path) : NULL;
		struct sn_dwarf_split *split = elf ? open_unit(elf, false, skeleton) : NULL;
		if (split) {
			split->elf = elf;
			return split;
		}
		sn_elf_file_free(elf);
	}
	return NULL;
}

static struct sn_elf_file *package_of(struct sn_dwarf_places *places)
{
	char path[PATH_MAX];
	if (!places->has_tried_package &&
	    snprintf(path, sizeof(path), "%s.dwp", places->path) < (int)sizeof(path))
		places->package = try_path(places, path);
	places->has_tried_package = true;
	return places->package;
}

void sn_dwarf_split_open(struct sn_dwarf_places *places, struct sn_dwarf_unit *skeleton)
{
	if (!skeleton->dwo_name || skeleton->has_tried_split || !places->path)
		return;
	skeleton->has_tried_split = true;
	struct sn_elf_file *package = package_of(places);
	if (package)
		skeleton->split = open_unit(package, true, skeleton);
	if (!skeleton->split)
		skeleton->split = open_own(places, skeleton);
}

void sn_dwarf_split_free(struct sn_dwarf_split *split)
{
	if (!split)
		return;
	sn_dwarf_file_release(&split->file);
	sn_elf_file_free(split->elf);
	free(split);
}

void sn_dwarf_places_release(struct sn_dwarf_places *places)
{
	sn_elf_file_free(places->package);
	free(places->path);
}
