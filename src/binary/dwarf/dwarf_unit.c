/* SPDX-License-Identifier: Apache-2.0 */
/* Units, abbreviations and attributes; see dwarf_unit.h. */
#include "dwarf_unit.h"
#include "base/search.h"
#include "base/vec.h"

#include <stdlib.h>

/* Compilers number abbreviations from 1 upwards; a table with a higher number is damaged. */
#define ABBREV_CODE_MAX	   1000000u
#define ATTRIBUTES_MAX	   10000u
#define INDIRECT_FORMS_MAX 4u

/* ---- units ---- */

uint64_t sn_dwarf_initial_length(struct sn_cursor *cursor, uint8_t *offset_bytes)
{
	uint64_t length = sn_cursor_u32(cursor);
	*offset_bytes = length == UINT32_MAX ? 8 : 4;
	return *offset_bytes == 8 ? sn_cursor_u64(cursor) : length;
}

static uint64_t read_offset(const struct sn_dwarf_unit *unit, struct sn_cursor *cursor)
{
	return sn_cursor_uint(cursor, unit->offset_bytes);
}

/* Reads a unit's header. False where there is none that could be followed. */
static bool read_unit_header(struct sn_dwarf_file *file, uint64_t offset,
			     struct sn_dwarf_unit *unit)
{
	struct sn_cursor cursor = sn_cursor_at(file->info, offset);
	*unit = (struct sn_dwarf_unit){.file = file, .offset = offset, .type = DW_UT_compile};
	uint64_t length = sn_dwarf_initial_length(&cursor, &unit->offset_bytes);
	if (cursor.failed || length == 0 || length > sn_cursor_left(&cursor))
		return false;
	unit->end = (uint64_t)(cursor.at - file->info.data) + length;
	unit->version = (uint8_t)sn_cursor_u16(&cursor);
	if (unit->version >= 5) {
		unit->type = sn_cursor_u8(&cursor);
		unit->address_bytes = sn_cursor_u8(&cursor);
		unit->abbrev_offset = read_offset(unit, &cursor);
		if (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile)
			unit->dwo_id = sn_cursor_u64(&cursor);
		else if (unit->type == DW_UT_type || unit->type == DW_UT_split_type)
			sn_cursor_skip(&cursor, 8u + unit->offset_bytes);
	} else {
		unit->abbrev_offset = read_offset(unit, &cursor);
		unit->address_bytes = sn_cursor_u8(&cursor);
	}
	unit->first_die = (uint64_t)(cursor.at - file->info.data);
	if (cursor.failed || unit->first_die > unit->end)
		unit->first_die = unit->end;
	return true;
}

static bool is_readable(const struct sn_dwarf_unit *unit)
{
	return unit->version >= 2 && unit->version <= 5 &&
	       (unit->address_bytes == 8 || unit->address_bytes == 4);
}

int sn_dwarf_file_init(struct sn_dwarf_file *file, struct sn_elf_file *elf, uint64_t *budget)
{
	file->budget = budget;
	file->info = sn_elf_file_contents(elf, ".debug_info");
	file->abbrev = sn_elf_file_contents(elf, ".debug_abbrev");
	file->str = sn_elf_section_strings(elf, sn_elf_file_section(elf, ".debug_str"));
	file->line = sn_elf_file_contents(elf, ".debug_line");
	file->line_str = sn_elf_section_strings(elf, sn_elf_file_section(elf, ".debug_line_str"));
	file->ranges = sn_elf_file_contents(elf, ".debug_ranges");
	file->rnglists = sn_elf_file_contents(elf, ".debug_rnglists");
	file->addr = sn_elf_file_contents(elf, ".debug_addr");
	file->str_offsets = sn_elf_file_contents(elf, ".debug_str_offsets");
	return sn_dwarf_file_list(file);
}

int sn_dwarf_file_list(struct sn_dwarf_file *file)
{
	size_t capacity = 0;
	struct sn_dwarf_unit unit;
	for (uint64_t at = 0; read_unit_header(file, at, &unit); at = unit.end)
		if (is_readable(&unit) &&
		    sn_vec_push(&file->units, &capacity, &file->unit_count, unit))
			return SN_ERR_MEMORY;
	return 0;
}

static void free_abbrevs(struct sn_dwarf_abbrevs *abbrevs)
{
	if (abbrevs) {
		free(abbrevs->list);
		free(abbrevs->attributes);
	}
	free(abbrevs);
}

void sn_dwarf_file_release(struct sn_dwarf_file *file)
{
	for (uint32_t i = 0; i < file->abbrevs.count; i++)
		free_abbrevs(file->abbrev_lists[i]);
	sn_table_release(&file->abbrevs);
	free(file->abbrev_lists);
	free(file->units);
	file->abbrev_lists = NULL;
	file->units = NULL;
	file->unit_count = 0;
}

void sn_dwarf_file_view(const struct sn_dwarf_file *file, uint64_t *budget,
			struct sn_dwarf_file *view)
{
	*view = *file;
	view->units = NULL;
	view->unit_count = 0;
	view->budget = budget;
	view->abbrevs = (struct sn_table){0};
	view->abbrev_lists = NULL;
	view->abbrev_capacity = 0;
}

struct sn_dwarf_unit *sn_dwarf_unit_at(struct sn_dwarf_file *file, uint64_t offset)
{
	uint32_t next = sn_search(i, file->unit_count, file->units[i].offset <= offset);
	if (next == 0 || offset < file->units[next - 1].first_die ||
	    offset >= file->units[next - 1].end)
		return NULL;
	return &file->units[next - 1];
}

/* ---- attributes ---- */

/* How long the value of a form is, where that is not fixed. */
enum { OF_ADDRESS = -1, OF_OFFSET = -2, OF_REFERENCE = -3, VARIES = -4 };

/* What it is. */
enum kind {
	UNKNOWN, /* what follows it cannot be found */
	NOTHING,
	NUMBER,
	SIGNED,
	ADDRESS,
	ADDRESS_INDEX,
	OFFSET,
	RANGES_INDEX,
	REFERENCE, /* from the unit's beginning */
	FILE_REFERENCE,
	SHARED_REFERENCE,
	STRING,
	STRING_INDEX,
	STRING_AT,
	LINE_STRING_AT,
	SHARED_STRING_AT,
	BLOCK, /* its length comes first */
};

struct form {
	int8_t bytes;
	uint8_t kind;
};

/* clang-format off */
static const struct form forms[] = {
	[DW_FORM_addr] = {OF_ADDRESS, ADDRESS}, [DW_FORM_addrx] = {VARIES, ADDRESS_INDEX},
	[DW_FORM_addrx1] = {1, ADDRESS_INDEX}, [DW_FORM_addrx2] = {2, ADDRESS_INDEX},
	[DW_FORM_addrx3] = {3, ADDRESS_INDEX}, [DW_FORM_addrx4] = {4, ADDRESS_INDEX},
	[DW_FORM_data1] = {1, NUMBER}, [DW_FORM_data2] = {2, NUMBER}, [DW_FORM_data4] = {4, NUMBER},
	[DW_FORM_data8] = {8, NUMBER}, [DW_FORM_data16] = {16, NOTHING},
	[DW_FORM_sdata] = {VARIES, SIGNED}, [DW_FORM_udata] = {VARIES, NUMBER}, [DW_FORM_flag] = {1, NUMBER},
	[DW_FORM_flag_present] = {0, NUMBER}, [DW_FORM_implicit_const] = {0, NUMBER},
	[DW_FORM_string] = {VARIES, STRING}, [DW_FORM_strx] = {VARIES, STRING_INDEX},
	[DW_FORM_strx1] = {1, STRING_INDEX}, [DW_FORM_strx2] = {2, STRING_INDEX},
	[DW_FORM_strx3] = {3, STRING_INDEX}, [DW_FORM_strx4] = {4, STRING_INDEX},
	[DW_FORM_strp] = {OF_OFFSET, STRING_AT}, [DW_FORM_line_strp] = {OF_OFFSET, LINE_STRING_AT},
	[DW_FORM_strp_sup] = {OF_OFFSET, SHARED_STRING_AT},
	[DW_FORM_ref1] = {1, REFERENCE}, [DW_FORM_ref2] = {2, REFERENCE}, [DW_FORM_ref4] = {4, REFERENCE},
	[DW_FORM_ref8] = {8, REFERENCE}, [DW_FORM_ref_udata] = {VARIES, REFERENCE},
	[DW_FORM_ref_addr] = {OF_REFERENCE, FILE_REFERENCE}, [DW_FORM_ref_sig8] = {8, NOTHING},
	[DW_FORM_ref_sup4] = {4, SHARED_REFERENCE}, [DW_FORM_ref_sup8] = {8, SHARED_REFERENCE},
	[DW_FORM_sec_offset] = {OF_OFFSET, OFFSET}, [DW_FORM_rnglistx] = {VARIES, RANGES_INDEX},
	[DW_FORM_loclistx] = {VARIES, NUMBER}, [DW_FORM_exprloc] = {VARIES, BLOCK}, [DW_FORM_block] = {VARIES, BLOCK},
	[DW_FORM_block1] = {1, BLOCK}, [DW_FORM_block2] = {2, BLOCK}, [DW_FORM_block4] = {4, BLOCK},
};
/* clang-format on */

static struct form form_of(uint16_t form)
{
	if (form < sizeof(forms) / sizeof(*forms))
		return forms[form];
	switch (form) {
	case DW_FORM_GNU_addr_index:
		return forms[DW_FORM_addrx];
	case DW_FORM_GNU_str_index:
		return forms[DW_FORM_strx];
	case DW_FORM_GNU_strp_alt:
		return forms[DW_FORM_strp_sup];
	case DW_FORM_GNU_ref_alt:
		return (struct form){OF_OFFSET, SHARED_REFERENCE};
	}
	return (struct form){0, UNKNOWN};
}

/* The bytes of the number that a form begins with, in units of a format; -1: LEB128 or none. */
static int number_bytes(struct form form, unsigned version, unsigned address_bytes,
			unsigned offset_bytes)
{
	if (form.bytes >= 0)
		return form.bytes;
	if (form.bytes == OF_ADDRESS || (form.bytes == OF_REFERENCE && version < 3))
		return (int)address_bytes;
	return form.bytes == VARIES ? -1 : (int)offset_bytes;
}

/* The bytes of all of it; -1 where that differs from value to value. */
static int form_bytes(unsigned version, unsigned address_bytes, unsigned offset_bytes,
		      uint16_t name)
{
	struct form form = form_of(name);
	return form.kind == BLOCK || form.kind == UNKNOWN
		   ? -1
		   : number_bytes(form, version, address_bytes, offset_bytes);
}

static const char *indexed_string(struct sn_dwarf_unit *unit, uint64_t index)
{
	struct sn_cursor cursor = sn_cursor_at(unit->file->str_offsets, unit->str_offsets_base);
	if (index > UINT32_MAX)
		return NULL;
	sn_cursor_skip(&cursor, index * unit->offset_bytes);
	uint64_t offset = read_offset(unit, &cursor);
	return cursor.failed ? NULL : sn_bytes_string(unit->file->str, offset);
}

static bool indexed_address(struct sn_dwarf_unit *unit, uint64_t index, uint64_t *address)
{
	struct sn_cursor cursor = sn_cursor_at(unit->file->addr, unit->addr_base);
	if (index > UINT32_MAX)
		return false;
	sn_cursor_skip(&cursor, index * unit->address_bytes);
	*address = sn_cursor_uint(&cursor, unit->address_bytes);
	return !cursor.failed;
}

static struct sn_dwarf_value string_value(const char *string)
{
	return (struct sn_dwarf_value){string ? SN_DWARF_STRING : SN_DWARF_NONE, 0, string};
}

static struct sn_dwarf_value value_of(enum sn_dwarf_class class, uint64_t number)
{
	return (struct sn_dwarf_value){class, number, NULL};
}

static struct sn_dwarf_value address_value(struct sn_dwarf_unit *unit, uint64_t index)
{
	uint64_t address;
	if (!indexed_address(unit, index, &address))
		return value_of(SN_DWARF_NONE, 0);
	return value_of(SN_DWARF_ADDRESS, address);
}

/* `number` are the form's bytes. */
static struct sn_dwarf_value value_from(struct sn_dwarf_unit *unit, struct sn_cursor *cursor,
					enum kind kind, uint64_t number)
{
	const struct sn_dwarf_file *file = unit->file;
	switch (kind) {
	case NUMBER:
	case SIGNED:
		return value_of(SN_DWARF_NUMBER, number);
	case ADDRESS:
		return value_of(SN_DWARF_ADDRESS, number);
	case ADDRESS_INDEX:
		return address_value(unit, number);
	case OFFSET:
		return value_of(SN_DWARF_OFFSET, number);
	case RANGES_INDEX:
		return value_of(SN_DWARF_INDEX, number);
	case REFERENCE:
		return value_of(SN_DWARF_REFERENCE, unit->offset + number);
	case FILE_REFERENCE:
		return value_of(SN_DWARF_REFERENCE, number);
	case SHARED_REFERENCE:
		return value_of(SN_DWARF_SHARED_REFERENCE, number);
	case STRING:
		return string_value(sn_cursor_string(cursor));
	case STRING_INDEX:
		return string_value(indexed_string(unit, number));
	case STRING_AT:
		return string_value(sn_bytes_string(file->str, number));
	case LINE_STRING_AT:
		return string_value(sn_bytes_string(file->line_str, number));
	case SHARED_STRING_AT:
		return string_value(file->shared ? sn_bytes_string(file->shared->str, number)
						 : NULL);
	case BLOCK:
		sn_cursor_skip(cursor, number);
		break;
	case UNKNOWN:
		sn_cursor_fail(cursor);
		break;
	case NOTHING:
		break;
	}
	return value_of(SN_DWARF_NONE, 0);
}

struct sn_dwarf_value sn_dwarf_read(struct sn_dwarf_unit *unit, struct sn_cursor *cursor,
				    uint16_t name, int64_t implicit)
{
	for (unsigned i = 0; name == DW_FORM_indirect && i < INDIRECT_FORMS_MAX; i++)
		name = (uint16_t)sn_cursor_uleb(cursor);
	struct form form = form_of(name);
	int bytes = number_bytes(form, unit->version, unit->address_bytes, unit->offset_bytes);
	uint64_t number = 0;
	if (name == DW_FORM_flag_present || name == DW_FORM_implicit_const)
		number = name == DW_FORM_flag_present ? 1 : (uint64_t)implicit;
	else if (form.kind == NOTHING)
		sn_cursor_skip(cursor, (unsigned)bytes);
	else if (form.kind == SIGNED)
		number = (uint64_t)sn_cursor_sleb(cursor);
	else if (bytes >= 0)
		number = sn_cursor_uint(cursor, (unsigned)bytes);
	else if (form.kind != STRING)
		number = sn_cursor_uleb(cursor);
	return cursor->failed ? value_of(SN_DWARF_NONE, 0)
			      : value_from(unit, cursor, form.kind, number);
}

void sn_dwarf_skip_value(struct sn_dwarf_unit *unit, struct sn_cursor *cursor, uint16_t name)
{
	int bytes = form_bytes(unit->version, unit->address_bytes, unit->offset_bytes, name);
	if (bytes >= 0)
		sn_cursor_skip(cursor, (unsigned)bytes);
	else
		sn_dwarf_read(unit, cursor, name, 0);
}

void sn_dwarf_skip(struct sn_dwarf_unit *unit, struct sn_cursor *cursor,
		   const struct sn_dwarf_abbrev *abbrev)
{
	const struct sn_dwarf_attribute *attribute = unit->abbrevs->attributes + abbrev->first;
	if (abbrev->fixed_bytes >= 0) {
		sn_cursor_skip(cursor, (unsigned)abbrev->fixed_bytes);
		return;
	}
	for (unsigned i = 0; i < abbrev->count; i++, attribute++)
		sn_dwarf_skip_value(unit, cursor, attribute->form);
}

/* ---- abbreviations ---- */

/* Reads one attribute specification; false at the end of the list. */
static bool read_specification(struct sn_cursor *cursor, struct sn_dwarf_attribute *attribute)
{
	uint64_t name = sn_cursor_uleb(cursor);
	uint64_t form = sn_cursor_uleb(cursor);
	attribute->name = name <= UINT16_MAX ? (uint16_t)name : UINT16_MAX;
	attribute->form = form <= UINT16_MAX ? (uint16_t)form : UINT16_MAX;
	attribute->implicit = form == DW_FORM_implicit_const ? sn_cursor_sleb(cursor) : 0;
	return !cursor->failed && (name != 0 || form != 0);
}

static bool grow_list(struct sn_dwarf_abbrevs *abbrevs, size_t *capacity, uint64_t code)
{
	size_t before = *capacity;
	if (sn_vec_reserve(&abbrevs->list, capacity, code + 1) < 0)
		return false;
	memset(abbrevs->list + before, 0, (*capacity - before) * sizeof(*abbrevs->list));
	return true;
}

static bool read_abbrev(struct sn_dwarf_abbrevs *abbrevs, struct sn_dwarf_abbrev *abbrev,
			struct sn_cursor *cursor, size_t *capacity)
{
	struct sn_dwarf_attribute attribute;
	uint64_t tag = sn_cursor_uleb(cursor);
	*abbrev = (struct sn_dwarf_abbrev){.first = abbrevs->attribute_count,
					   .tag = tag <= UINT16_MAX ? (uint16_t)tag : UINT16_MAX,
					   .has_children = sn_cursor_u8(cursor) != 0,
					   .sibling_at = -1};
	while (read_specification(cursor, &attribute) && abbrev->count < ATTRIBUTES_MAX) {
		if (sn_vec_push(&abbrevs->attributes, capacity, &abbrevs->attribute_count,
				attribute))
			return false;
		abbrev->count++;
		int bytes = form_bytes(abbrevs->version, abbrevs->address_bytes,
				       abbrevs->offset_bytes, attribute.form);
		if (attribute.name == DW_AT_sibling && attribute.form == DW_FORM_ref4 &&
		    abbrev->fixed_bytes >= 0)
			abbrev->sibling_at = abbrev->fixed_bytes;
		if (bytes < 0 || abbrev->fixed_bytes < 0)
			abbrev->fixed_bytes = -1;
		else
			abbrev->fixed_bytes += bytes;
	}
	return !cursor->failed;
}

static struct sn_dwarf_abbrevs *read_abbrevs(struct sn_dwarf_unit *unit)
{
	struct sn_dwarf_abbrevs *abbrevs = calloc(1, sizeof(*abbrevs));
	struct sn_cursor cursor = sn_cursor_at(unit->file->abbrev, unit->abbrev_offset);
	size_t capacity = 0, attribute_capacity = 0;
	if (!abbrevs)
		return NULL;
	abbrevs->version = unit->version;
	abbrevs->address_bytes = unit->address_bytes;
	abbrevs->offset_bytes = unit->offset_bytes;
	for (;;) {
		uint64_t code = sn_cursor_uleb(&cursor);
		if (cursor.failed || code == 0 || code > ABBREV_CODE_MAX ||
		    !sn_dwarf_spend(unit->file, 8) || !grow_list(abbrevs, &capacity, code) ||
		    !read_abbrev(abbrevs, &abbrevs->list[code], &cursor, &attribute_capacity))
			break;
		if (code >= abbrevs->count)
			abbrevs->count = (uint32_t)code + 1;
	}
	return abbrevs;
}

bool sn_dwarf_unit_abbrevs(struct sn_dwarf_unit *unit)
{
	struct sn_dwarf_file *file = unit->file;
	/* no file has offsets of more than 48 bits; a damaged unit may get another's table */
	uint64_t key = unit->abbrev_offset << 16 | (unsigned)unit->version << 8 |
		       (unsigned)unit->address_bytes << 4 | unit->offset_bytes;
	if (unit->abbrevs)
		return true;
	if (sn_vec_reserve(&file->abbrev_lists, &file->abbrev_capacity, file->abbrevs.count + 1u))
		return false;
	uint32_t count = file->abbrevs.count, number = sn_table_add(&file->abbrevs, key);
	if (number == SN_TABLE_NONE)
		return false;
	if (number == count)
		file->abbrev_lists[number] = read_abbrevs(unit);
	unit->abbrevs = file->abbrev_lists[number];
	return unit->abbrevs != NULL;
}

/* ---- the unit's own entry ---- */

/* Finds one abbreviation without reading its whole table: most units are never walked. */
static bool find_abbrev(struct sn_dwarf_unit *unit, uint64_t code, uint16_t *tag,
			struct sn_cursor *specifications)
{
	struct sn_cursor cursor = sn_cursor_at(unit->file->abbrev, unit->abbrev_offset);
	struct sn_dwarf_attribute attribute;
	while (sn_dwarf_spend(unit->file, 1)) {
		uint64_t own = sn_cursor_uleb(&cursor);
		*tag = (uint16_t)sn_cursor_uleb(&cursor);
		sn_cursor_u8(&cursor);
		if (cursor.failed || own == 0)
			return false;
		*specifications = cursor;
		if (own == code)
			return true;
		while (read_specification(&cursor, &attribute))
			;
	}
	return false;
}

static void set_unit_attribute(struct sn_dwarf_unit *unit, uint16_t name,
			       struct sn_dwarf_value value, struct sn_dwarf_value *ranges,
			       struct sn_dwarf_value *high)
{
	switch (name) {
	case DW_AT_name:
		unit->name = value.string;
		break;
	case DW_AT_comp_dir:
		unit->folder = value.string;
		break;
	case DW_AT_stmt_list:
		unit->has_lines = value.class == SN_DWARF_OFFSET || value.class == SN_DWARF_NUMBER;
		unit->line_offset = value.number;
		break;
	case DW_AT_low_pc:
		if (value.class == SN_DWARF_ADDRESS)
			unit->low_pc = value.number;
		break;
	case DW_AT_high_pc:
		*high = value;
		break;
	case DW_AT_language:
		unit->language = (uint16_t)value.number;
		break;
	case DW_AT_ranges:
		*ranges = value;
		break;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		unit->dwo_name = value.string;
		break;
	case DW_AT_GNU_dwo_id:
		unit->dwo_id = value.number;
		break;
	case DW_AT_GNU_ranges_base:
		/* the split unit's, not the skeleton's: see ranges_before_5 */
		unit->ranges_base = value.number;
		break;
	}
}

/* The bases come first in a pass of their own: other attributes' forms refer to them. */
static void set_base(struct sn_dwarf_unit *unit, uint16_t name, struct sn_dwarf_value value)
{
	if (name == DW_AT_str_offsets_base)
		unit->str_offsets_base = value.number;
	else if (name == DW_AT_addr_base || name == DW_AT_GNU_addr_base)
		unit->addr_base = value.number;
	else if (name == DW_AT_rnglists_base)
		unit->rnglists_base = value.number;
}

void sn_dwarf_unit_read(struct sn_dwarf_unit *unit, struct sn_dwarf_value *ranges,
			uint64_t *high_pc)
{
	struct sn_bytes info = {unit->file->info.data, (size_t)unit->end};
	struct sn_cursor cursor = sn_cursor_at(info, unit->first_die), specifications;
	struct sn_dwarf_value high = {0};
	uint64_t code = sn_cursor_uleb(&cursor);
	*ranges = high;
	*high_pc = 0;
	unit->is_read = true;
	if (code == 0 || !find_abbrev(unit, code, &unit->tag, &specifications))
		return;
	for (unsigned pass = 0; pass < 2; pass++) {
		struct sn_cursor values = cursor, list = specifications;
		struct sn_dwarf_attribute attribute;
		while (read_specification(&list, &attribute) && !values.failed) {
			struct sn_dwarf_value value =
			    sn_dwarf_read(unit, &values, attribute.form, attribute.implicit);
			if (pass == 0)
				set_base(unit, attribute.name, value);
			else
				set_unit_attribute(unit, attribute.name, value, ranges, &high);
		}
	}
	if (high.class == SN_DWARF_ADDRESS)
		*high_pc = high.number;
	else if (high.class == SN_DWARF_NUMBER)
		*high_pc = unit->low_pc + high.number;
}

/* ---- ranges ---- */

typedef bool range_visitor(void *data, uint64_t start, uint64_t end);

static void ranges_before_5(struct sn_dwarf_unit *unit, uint64_t offset, range_visitor *visit,
			    void *data)
{
	/* a skeleton says it for the unit it stands for */
	uint64_t from = unit->dwo_name && !unit->is_split ? 0 : unit->ranges_base;
	struct sn_cursor cursor = sn_cursor_at(unit->file->ranges, from + offset);
	uint64_t base = unit->low_pc;
	uint64_t all_ones = unit->address_bytes == 4 ? UINT32_MAX : UINT64_MAX;
	while (sn_dwarf_spend(unit->file, 1)) {
		uint64_t start = sn_cursor_uint(&cursor, unit->address_bytes);
		uint64_t end = sn_cursor_uint(&cursor, unit->address_bytes);
		if (cursor.failed || (start == 0 && end == 0))
			return;
		if (start == all_ones)
			base = end;
		else if (start < end && !visit(data, base + start, base + end))
			return;
	}
}

/* One entry of a range list; false at the end. start == end: it gives no range. */
static bool read_range(struct sn_dwarf_unit *unit, struct sn_cursor *cursor, uint64_t *base,
		       uint64_t *start, uint64_t *end)
{
	bool ok = true;
	*start = *end = 0;
	switch (sn_cursor_u8(cursor)) {
	case DW_RLE_base_addressx:
		ok = indexed_address(unit, sn_cursor_uleb(cursor), base);
		break;
	case DW_RLE_startx_endx:
		ok = indexed_address(unit, sn_cursor_uleb(cursor), start) &
		     indexed_address(unit, sn_cursor_uleb(cursor), end);
		break;
	case DW_RLE_startx_length:
		ok = indexed_address(unit, sn_cursor_uleb(cursor), start);
		*end = *start + sn_cursor_uleb(cursor);
		break;
	case DW_RLE_offset_pair:
		*start = *base + sn_cursor_uleb(cursor);
		*end = *base + sn_cursor_uleb(cursor);
		break;
	case DW_RLE_base_address:
		*base = sn_cursor_uint(cursor, unit->address_bytes);
		break;
	case DW_RLE_start_end:
		*start = sn_cursor_uint(cursor, unit->address_bytes);
		*end = sn_cursor_uint(cursor, unit->address_bytes);
		break;
	case DW_RLE_start_length:
		*start = sn_cursor_uint(cursor, unit->address_bytes);
		*end = *start + sn_cursor_uleb(cursor);
		break;
	default:
		return false;
	}
	return ok && !cursor->failed;
}

static void ranges_of_5(struct sn_dwarf_unit *unit, uint64_t offset, range_visitor *visit,
			void *data)
{
	struct sn_cursor cursor = sn_cursor_at(unit->file->rnglists, offset);
	uint64_t base = unit->low_pc, start, end;
	while (sn_dwarf_spend(unit->file, 1) && read_range(unit, &cursor, &base, &start, &end))
		if (start < end && !visit(data, start, end))
			return;
}

void sn_dwarf_ranges(struct sn_dwarf_unit *unit, struct sn_dwarf_value ranges, range_visitor *visit,
		     void *data)
{
	if (ranges.class == SN_DWARF_INDEX) {
		struct sn_cursor cursor = sn_cursor_at(unit->file->rnglists, unit->rnglists_base);
		if (ranges.number > UINT32_MAX)
			return;
		sn_cursor_skip(&cursor, ranges.number * unit->offset_bytes);
		uint64_t offset = unit->rnglists_base + read_offset(unit, &cursor);
		if (!cursor.failed)
			ranges_of_5(unit, offset, visit, data);
	} else if (ranges.class == SN_DWARF_OFFSET || ranges.class == SN_DWARF_NUMBER) {
		if (unit->version >= 5)
			ranges_of_5(unit, ranges.number, visit, data);
		else
			ranges_before_5(unit, ranges.number, visit, data);
	}
}
