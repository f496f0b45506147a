/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The structure of .debug_info below functions: units, abbreviations, attributes, range lists.
 * Internal to the DWARF reader (dwarf.h).
 */
#pragma once

#include "base/cursor.h"
#include "base/table.h"
#include "dwarf_constants.h"
#include "binary/elf/elf_file.h"

struct sn_dwarf_attribute {
	uint16_t name;
	uint16_t form;
	int64_t implicit; /* the value, of DW_FORM_implicit_const */
};

struct sn_dwarf_abbrev {
	uint32_t first; /* attribute */
	uint16_t count; /* of attributes */
	uint16_t tag;
	int32_t fixed_bytes; /* of all attributes in a unit of the table's format; -1: they vary */
	int32_t sibling_at;  /* bytes before a DW_AT_sibling of form ref4; -1: none, or varies */
	bool has_children;
};

/* All abbreviations of one offset in .debug_abbrev, read for units of one format. */
struct sn_dwarf_abbrevs {
	uint8_t version, address_bytes, offset_bytes;
	struct sn_dwarf_abbrev *list; /* by code; tag 0 where a code is unused */
	uint32_t count;
	struct sn_dwarf_attribute *attributes;
	uint32_t attribute_count;
};

struct sn_dwarf_unit {
	struct sn_dwarf_file *file;
	uint64_t offset; /* in .debug_info */
	uint64_t end;
	uint64_t first_die;
	uint64_t abbrev_offset;
	uint8_t version, address_bytes, offset_bytes, type;
	bool is_read; /* the fields below, from the unit's own entry */
	bool has_lines;
	uint16_t tag, language;
	uint64_t low_pc; /* base of its range lists */
	uint64_t line_offset;
	uint64_t str_offsets_base, addr_base, rnglists_base;
	const char *name, *folder;
	/* of a skeleton, whose functions are in another file (dwarf_split.h) */
	const char *dwo_name;
	uint64_t dwo_id, ranges_base;
	struct sn_dwarf_split *split; /* NULL: not found */
	bool has_tried_split;
	bool is_split; /* the split unit of a skeleton */
	struct sn_dwarf_abbrevs *abbrevs;
	struct sn_dwarf_lines *lines; /* dwarf_line.c's */
};

struct sn_dwarf_file {
	struct sn_bytes info, abbrev, str, line, line_str, ranges, rnglists, addr, str_offsets;
	struct sn_dwarf_unit *units; /* by ascending offset */
	uint32_t unit_count;
	struct sn_dwarf_file *shared; /* dwz's, or NULL */
	struct sn_table abbrevs;      /* by offset and the format of units */
	struct sn_dwarf_abbrevs **abbrev_lists;
	size_t abbrev_capacity;
	/* The remaining work that one resolve may do, in steps of some nanoseconds. */
	uint64_t *budget;
};

enum sn_dwarf_class {
	SN_DWARF_NONE,
	SN_DWARF_ADDRESS,
	SN_DWARF_NUMBER,	   /* data and flags */
	SN_DWARF_OFFSET,	   /* into another section */
	SN_DWARF_INDEX,		   /* into .debug_rnglists */
	SN_DWARF_REFERENCE,	   /* offset in .debug_info */
	SN_DWARF_SHARED_REFERENCE, /* ... of the shared file */
	SN_DWARF_STRING,
};

struct sn_dwarf_value {
	enum sn_dwarf_class class;
	uint64_t number;
	const char *string;
};

/* Takes steps from the budget; false once it is used up. */
static inline bool sn_dwarf_spend(struct sn_dwarf_file *file, uint64_t steps)
{
	if (*file->budget < steps) {
		*file->budget = 0;
		return false;
	}
	*file->budget -= steps;
	return true;
}

/* The length at the beginning of a unit or line program, and the size of offsets in it. */
uint64_t sn_dwarf_initial_length(struct sn_cursor *cursor, uint8_t *offset_bytes);
/* 0 or SN_ERR_MEMORY. Lists the units; stops at an invalid header. */
int sn_dwarf_file_init(struct sn_dwarf_file *file, struct sn_elf_file *elf, uint64_t *budget);
/* The second half of it: lists the units of sections that are set. */
int sn_dwarf_file_list(struct sn_dwarf_file *file);
void sn_dwarf_file_release(struct sn_dwarf_file *file);

/*
 * A thread's own view of `file`: the same sections and units, its own abbreviations and budget.
 * Units copied from `file` and pointed at the view may be walked beside other threads. Released
 * with sn_dwarf_file_release.
 */
void sn_dwarf_file_view(const struct sn_dwarf_file *file, uint64_t *budget,
			struct sn_dwarf_file *view);

/* The unit that holds an offset of .debug_info, or NULL. */
struct sn_dwarf_unit *sn_dwarf_unit_at(struct sn_dwarf_file *file, uint64_t offset);
/* Reads one attribute's value and moves past it. */
struct sn_dwarf_value sn_dwarf_read(struct sn_dwarf_unit *unit, struct sn_cursor *cursor,
				    uint16_t form, int64_t implicit);
/* Moves past one attribute's value. */
void sn_dwarf_skip_value(struct sn_dwarf_unit *unit, struct sn_cursor *cursor, uint16_t form);
/* Moves past the attributes of an entry. */
void sn_dwarf_skip(struct sn_dwarf_unit *unit, struct sn_cursor *cursor,
		   const struct sn_dwarf_abbrev *abbrev);
/* Reads the unit's own entry (once); stores its DW_AT_ranges in *ranges, or its end in *high_pc.
 */
void sn_dwarf_unit_read(struct sn_dwarf_unit *unit, struct sn_dwarf_value *ranges,
			uint64_t *high_pc);
/* Reads the unit's abbreviations (once). False if there are none. */
bool sn_dwarf_unit_abbrevs(struct sn_dwarf_unit *unit);

/* The abbreviation of a code, or NULL. */
static inline const struct sn_dwarf_abbrev *sn_dwarf_abbrev_of(const struct sn_dwarf_unit *unit,
							       uint64_t code)
{
	const struct sn_dwarf_abbrevs *abbrevs = unit->abbrevs;
	return code < abbrevs->count && abbrevs->list[code].tag ? &abbrevs->list[code] : NULL;
}

/* Calls visit(data, start, end) for each non-empty range of a DW_AT_ranges; visit returns false to
 * stop. */
void sn_dwarf_ranges(struct sn_dwarf_unit *unit, struct sn_dwarf_value ranges,
		     bool (*visit)(void *data, uint64_t start, uint64_t end), void *data);
