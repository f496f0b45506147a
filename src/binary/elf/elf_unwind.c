/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where functions of stripped files begin: read from .eh_frame through the sorted table of
 * .eh_frame_hdr, which every linker in use writes. Files without that table stay without starts.
 */
#include "elf_symbols.h"
#include "base/search.h"
#include "binary/dwarf/encoded.h"

enum { TABLE_ENCODING = SN_ENCODED_DATA_RELATIVE | SN_ENCODED_SDATA4 };

struct unwind_table {
	struct sn_bytes header, frames;
	uint64_t header_address, frames_address;
	const uint8_t *entries; /* pairs of 32-bit offsets from header_address */
	uint32_t count;
	uint64_t entry_offset; /* of a frame's address from the stack pointer, in a call */
};

static bool open_table(struct sn_elf_file *file, struct unwind_table *table)
{
	struct sn_elf_section *header = sn_elf_file_section(file, ".eh_frame_hdr");
	struct sn_elf_section *frames = sn_elf_file_section(file, ".eh_frame");
	if (!header || !frames)
		return false;
	table->header = sn_elf_section_contents(file, header);
	table->frames = sn_elf_section_contents(file, frames);
	table->header_address = header->header.sh_addr;
	table->frames_address = frames->header.sh_addr;
	table->entry_offset = file->machine == EM_X86_64 ? 8 : 0;
	struct sn_cursor cursor = sn_cursor_at(table->header, 0);
	uint8_t version = sn_cursor_u8(&cursor);
	uint8_t pointer_encoding = sn_cursor_u8(&cursor);
	uint8_t count_encoding = sn_cursor_u8(&cursor);
	uint8_t table_encoding = sn_cursor_u8(&cursor);
	sn_cursor_skip(&cursor, sn_encoded_bytes(pointer_encoding));
	table->count = sn_cursor_u32(&cursor);
	table->entries = cursor.at;
	return !cursor.failed && version == 1 && count_encoding == SN_ENCODED_UDATA4 &&
	       table_encoding == TABLE_ENCODING && table->count <= sn_cursor_left(&cursor) / 8;
}

static uint64_t entry_start(const struct unwind_table *table, uint32_t index)
{
	int32_t offset;
	memcpy(&offset, table->entries + (size_t)index * 8, sizeof(offset));
	return table->header_address + (uint64_t)(int64_t)offset;
}

/* How the frames of a CIE encode addresses, and where exceptions land; SN_ENCODED_OMIT if it cannot
 * be read, or they do not say. */
static uint8_t cie_encoding(const struct unwind_table *table, uint64_t offset, uint8_t *landing)
{
	uint8_t addresses = 0;
	struct sn_cursor cursor = sn_cursor_at(table->frames, offset);
	*landing = SN_ENCODED_OMIT;
	if (sn_cursor_u32(&cursor) == UINT32_MAX)
		return SN_ENCODED_OMIT; /* 64-bit .eh_frame: no compiler writes it */
	sn_cursor_skip(&cursor, 4);
	uint8_t version = sn_cursor_u8(&cursor);
	const char *augmentation = sn_cursor_string(&cursor);
	if (!augmentation || augmentation[0] != 'z')
		return augmentation && augmentation[0] == '\0' ? 0 : SN_ENCODED_OMIT;
	sn_cursor_uleb(&cursor);
	sn_cursor_sleb(&cursor);
	if (version == 1)
		sn_cursor_u8(&cursor);
	else
		sn_cursor_uleb(&cursor);
	sn_cursor_uleb(&cursor);
	for (const char *at = augmentation + 1; *at && !cursor.failed; at++) {
		uint8_t encoding;
		switch (*at) {
		case 'R':
			addresses = sn_cursor_u8(&cursor);
			break;
		case 'P':
			encoding = sn_cursor_u8(&cursor);
			sn_cursor_skip(&cursor, sn_encoded_bytes(encoding));
			break;
		case 'L':
			*landing = sn_cursor_u8(&cursor);
			break;
		case 'S':
		case 'B':
			break;
		default:
			return SN_ENCODED_OMIT;
		}
	}
	return cursor.failed ? SN_ENCODED_OMIT : addresses;
}

/* A record of .eh_frame: its bytes after the length. */
static struct sn_cursor record_at(const struct unwind_table *table, uint64_t offset)
{
	struct sn_cursor cursor = sn_cursor_at(table->frames, offset);
	uint32_t length = sn_cursor_u32(&cursor);
	if (length == UINT32_MAX)
		sn_cursor_fail(&cursor); /* 64-bit .eh_frame: no compiler writes it */
	else if (length < sn_cursor_left(&cursor))
		cursor.end = cursor.at + length;
	return cursor;
}

/* Reads the FDE of an entry up to what its CIE says of it. The length of the function; 0 if it
 * cannot be read. */
static uint64_t read_entry(const struct unwind_table *table, uint32_t index,
			   struct sn_cursor *cursor, uint64_t *cie, uint8_t *landing)
{
	int32_t delta;
	memcpy(&delta, table->entries + (size_t)index * 8 + 4, sizeof(delta));
	uint64_t offset = table->header_address + (uint64_t)(int64_t)delta - table->frames_address;
	*cursor = record_at(table, offset);
	uint32_t back = sn_cursor_u32(cursor);
	if (cursor->failed || back == 0 || back > offset + 4)
		return 0;
	*cie = offset + 4 - back;
	uint8_t encoding = cie_encoding(table, *cie, landing);
	unsigned bytes = encoding == SN_ENCODED_OMIT ? 0 : sn_encoded_bytes(encoding);
	if (bytes == 0)
		return 0;
	sn_cursor_skip(cursor, bytes);
	return sn_cursor_uint(cursor, bytes);
}

static uint64_t entry_length(const struct unwind_table *table, uint32_t index)
{
	struct sn_cursor cursor;
	uint64_t cie;
	uint8_t landing;
	return read_entry(table, index, &cursor, &cie, &landing);
}

/* Follows the rules that hold at the first instruction; their last offset of the frame's address.
 */
static uint64_t first_offset(struct sn_cursor *rules, uint64_t offset)
{
	enum { OFFSET = 0x80, OPERATION = 0xc0, NOP = 0 };
	enum { DEF_CFA = 0x0c, DEF_CFA_REGISTER, DEF_CFA_OFFSET };
	while (!rules->failed && sn_cursor_left(rules) > 0) {
		uint8_t operation = sn_cursor_u8(rules);
		if (operation == DEF_CFA || operation == DEF_CFA_REGISTER)
			sn_cursor_uleb(rules);
		if (operation == DEF_CFA || operation == DEF_CFA_OFFSET)
			offset = sn_cursor_uleb(rules);
		else if ((operation & OPERATION) == OFFSET)
			sn_cursor_uleb(rules);
		else if (operation != DEF_CFA_REGISTER && operation != NOP)
			break; /* the next instruction, or what no part begins with */
	}
	return offset;
}

/*
 * Whether the frame of what an entry describes is already there at its first instruction. A
 * function finds nothing but the return address there; assemblers write what a part finds into a
 * CIE of its own or into its FDE.
 */
static bool begins_in_frame(const struct unwind_table *table, uint32_t index)
{
	struct sn_cursor fde;
	uint64_t cie;
	uint8_t landing;
	if (read_entry(table, index, &fde, &cie, &landing) == 0)
		return false;
	struct sn_cursor rules = record_at(table, cie);
	sn_cursor_skip(&rules, 4);
	uint8_t version = sn_cursor_u8(&rules);
	const char *augmentation = sn_cursor_string(&rules);
	sn_cursor_uleb(&rules);
	sn_cursor_sleb(&rules);
	if (version == 1)
		sn_cursor_u8(&rules);
	else
		sn_cursor_uleb(&rules);
	if (augmentation && augmentation[0] == 'z') {
		sn_cursor_skip(&rules, sn_cursor_uleb(&rules));
		sn_cursor_skip(&fde, sn_cursor_uleb(&fde));
	}
	uint64_t offset = first_offset(&rules, table->entry_offset);
	return !rules.failed && first_offset(&fde, offset) != table->entry_offset && !fde.failed;
}

/* The address of what says where exceptions land; 0 none. */
static uint64_t exceptions_of(const struct unwind_table *table, uint32_t index)
{
	struct sn_cursor fde;
	uint64_t cie;
	uint8_t landing;
	if (read_entry(table, index, &fde, &cie, &landing) == 0 || landing == SN_ENCODED_OMIT)
		return 0;
	sn_cursor_uleb(&fde);
	uint64_t at = table->frames_address + (uint64_t)(fde.at - table->frames.data);
	uint64_t address = sn_encoded_read(&fde, landing, at);
	return fde.failed ? 0 : address;
}

static void resolve_one(const struct unwind_table *table, uint64_t address, struct sn_elf_hit *hit)
{
	uint32_t next = sn_search(i, table->count, entry_start(table, i) <= address);
	if (next == 0)
		return;
	uint64_t start = entry_start(table, next - 1);
	uint64_t length = entry_length(table, next - 1);
	if (address - start < length) {
		hit->start = start;
		hit->end = start + length;
	}
}

void sn_elf_unwind_resolve(struct sn_elf_file *file, const uint64_t *addresses, size_t count,
			   struct sn_elf_hit *hits)
{
	struct unwind_table table;
	if (!open_table(file, &table))
		return;
	for (size_t i = 0; i < count; i++)
		if (!hits[i].name && hits[i].start == 0)
			resolve_one(&table, addresses[i], &hits[i]);
}

void sn_elf_unwind_each(struct sn_elf_file *file,
			void (*visit)(void *data, const struct sn_elf_frame *frame), void *data)
{
	struct unwind_table table;
	if (!open_table(file, &table))
		return;
	for (uint32_t i = 0; i < table.count; i++) {
		uint64_t start = entry_start(&table, i), length = entry_length(&table, i);
		struct sn_elf_frame frame = {start, start + length, 0, false};
		if (length == 0 || length > UINT64_MAX - start)
			continue;
		frame.exceptions = exceptions_of(&table, i);
		frame.in_frame = begins_in_frame(&table, i);
		visit(data, &frame);
	}
}
