/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes .eh_frame_hdr and .eh_frame. */
#include "cfi.h"
#include "memory.h"

#include <errno.h>
#include <string.h>

#define STATE_DEPTH    6 /* remember_state nested deeper than this occurs nowhere */
#define SCAN_MAX_BYTES (64u << 20)
#define LEB_BITS_MAX   77u  /* ten bytes hold 64 bits */
#define LETTERS_MAX    16u  /* of an augmentation */
#define TABLE_BYTES    512u /* copied at once; most entries are shorter */

/* Pointer encodings (LSB Core, 10.5.1). */
enum {
	ENC_ABSPTR = 0,
	ENC_ULEB = 1,
	ENC_UDATA2 = 2,
	ENC_UDATA4 = 3,
	ENC_UDATA8 = 4,
	ENC_SLEB = 9,
	ENC_SDATA2 = 10,
	ENC_SDATA4 = 11,
	ENC_SDATA8 = 12,
	ENC_FORMAT = 15,
	ENC_PCREL = 0x10,
	ENC_DATAREL = 0x30,
	ENC_BASE = 0x70,
	ENC_INDIRECT = 0x80,
	ENC_OMIT = 0xff
};

/* ---- reading bytes ---- */

/*
 * What is read from. Tables that surely stay mapped (of a module that cannot be unloaded; a test's
 * bytes) are read in place: the window is all of them. Of others a stretch at a time is copied by
 * the kernel, which answers with an error where another thread has unmapped them meanwhile.
 */
struct window {
	uintptr_t start;
	size_t bytes;
	const unsigned char *copy;
	bool is_fixed;
	unsigned char buffer[TABLE_BYTES];
};

struct cursor {
	struct window *window;
	uintptr_t at, end;
	bool bad; /* something lay beyond the end; all later reads give 0 */
};

/* The next bytes are not in the window: there they are, or the cursor is bad. */
static bool __attribute__((noinline)) fill(struct cursor *cursor, size_t wanted)
{
	struct window *window = cursor->window;
	size_t left = cursor->end - cursor->at;
	if (wanted <= left && !window->is_fixed) {
		window->start = cursor->at;
		window->copy = window->buffer;
		window->bytes = sn_memory_read(cursor->at, window->buffer,
					       left < TABLE_BYTES ? left : TABLE_BYTES);
		if (wanted <= window->bytes)
			return true;
	}
	cursor->bad = true;
	cursor->at = cursor->end;
	return false;
}

/* Inlined, for the number of bytes is nearly always known then. */
static inline __attribute__((always_inline)) uint64_t read_fixed(struct cursor *cursor,
								 unsigned bytes)
{
	uint64_t value = 0;
	const struct window *window = cursor->window;
	uintptr_t place = cursor->at - window->start;
	if (__builtin_expect(cursor->end - cursor->at < bytes || place >= window->bytes ||
				 window->bytes - place < bytes,
			     0)) {
		if (!fill(cursor, bytes))
			return 0;
		place = 0;
	}
	memcpy(&value, window->copy + place, bytes);
	cursor->at += bytes;
	return value;
}

static uint64_t read_leb(struct cursor *cursor, bool is_signed)
{
	uint64_t value = 0, byte;
	unsigned shift = 0;
	do {
		byte = read_fixed(cursor, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
		if (shift > LEB_BITS_MAX)
			cursor->bad = true;
	} while ((byte & 0x80) && !cursor->bad);
	if (is_signed && shift < 64 && (byte & 0x40))
		value |= ~0ull << shift;
	return value;
}

static uint64_t read_uleb(struct cursor *cursor)
{
	return read_leb(cursor, false);
}

static int64_t read_sleb(struct cursor *cursor)
{
	return (int64_t)read_leb(cursor, true);
}

/* Passes over bytes; where they begin. */
static uintptr_t read_bytes(struct cursor *cursor, uint64_t bytes)
{
	uintptr_t start = cursor->at;
	if (bytes > cursor->end - cursor->at) {
		cursor->bad = true;
		cursor->at = cursor->end;
		return cursor->end;
	}
	cursor->at += bytes;
	return start;
}

static uint64_t read_format(struct cursor *cursor, unsigned encoding)
{
	switch (encoding & ENC_FORMAT) {
	case ENC_ABSPTR:
	case ENC_UDATA8:
	case ENC_SDATA8:
		return read_fixed(cursor, 8);
	case ENC_ULEB:
		return read_uleb(cursor);
	case ENC_SLEB:
		return (uint64_t)read_sleb(cursor);
	case ENC_UDATA2:
		return read_fixed(cursor, 2);
	case ENC_UDATA4:
		return read_fixed(cursor, 4);
	case ENC_SDATA2:
		return (uint64_t)(int64_t)(int16_t)read_fixed(cursor, 2);
	case ENC_SDATA4:
		return (uint64_t)(int64_t)(int32_t)read_fixed(cursor, 4);
	}
	cursor->bad = true;
	return 0;
}

/* An address in one of the encodings; `data_base` is what data-relative ones count from. */
static uintptr_t read_pointer(struct cursor *cursor, unsigned encoding, uintptr_t data_base)
{
	uintptr_t place = cursor->at;
	if (encoding == ENC_OMIT)
		return 0;
	uintptr_t value = read_format(cursor, encoding);
	switch (encoding & ENC_BASE) {
	case 0:
		break;
	case ENC_PCREL:
		value += place;
		break;
	case ENC_DATAREL:
		value += data_base;
		break;
	default:
		cursor->bad = true;
	}
	/* indirect addresses (of personality routines) are never needed here: not followed */
	return value;
}

/* ---- common information entries ---- */

struct cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_register;
	unsigned address_encoding;
	bool has_augmentation, is_signal_frame;
	uintptr_t program, program_end;
};

/* Length and extent of an entry; false at the terminator or beyond the section. */
static bool entry_extent(struct cursor *cursor, struct cursor *entry)
{
	uint64_t length = read_fixed(cursor, 4);
	if (length == 0xffffffff)
		length = read_fixed(cursor, 8);
	if (cursor->bad || !length || length > cursor->end - cursor->at)
		return false;
	*entry = (struct cursor){cursor->window, cursor->at, cursor->at + length, false};
	cursor->at += length;
	return true;
}

/* The letters of the augmentation, ended by 0; false if there are too many. */
static bool read_letters(struct cursor *entry, char letters[LETTERS_MAX])
{
	for (unsigned count = 0; count < LETTERS_MAX; count++) {
		letters[count] = (char)read_fixed(entry, 1);
		if (!letters[count])
			return !entry->bad;
	}
	return false;
}

static void read_augmentation(struct cie *cie, struct cursor *entry, const char *letters)
{
	for (; *letters && !entry->bad; letters++) {
		switch (*letters) {
		case 'R':
			cie->address_encoding = (unsigned)read_fixed(entry, 1);
			break;
		case 'P': {
			unsigned encoding = (unsigned)read_fixed(entry, 1);
			read_pointer(entry, encoding, 0);
			break;
		}
		case 'L':
			read_fixed(entry, 1);
			break;
		case 'S':
			cie->is_signal_frame = true;
			break;
		case 'B': /* AArch64: return addresses signed with the other key */
			break;
		default:
			return; /* unknown: the augmentation's length says where the rest begins */
		}
	}
}

static bool read_cie(struct window *window, uintptr_t at, uintptr_t high, struct cie *cie)
{
	struct cursor cursor = {window, at, high, false}, entry;
	char letters[LETTERS_MAX];
	*cie = (struct cie){.address_encoding = ENC_ABSPTR};
	if (!entry_extent(&cursor, &entry) || read_fixed(&entry, 4) != 0)
		return false;
	uint64_t version = read_fixed(&entry, 1);
	if (!read_letters(&entry, letters) || (version != 1 && version != 3 && version != 4))
		return false;
	if (letters[0] && letters[0] != 'z')
		return false; /* gcc 2's "eh", or unknown */
	if (version == 4 && read_fixed(&entry, 2) != sizeof(void *))
		return false; /* size of an address, size of a segment selector */
	cie->code_align = read_uleb(&entry);
	cie->data_align = read_sleb(&entry);
	cie->return_register = version == 1 ? read_fixed(&entry, 1) : read_uleb(&entry);
	if (letters[0]) {
		uint64_t bytes = read_uleb(&entry);
		uintptr_t data = read_bytes(&entry, bytes);
		struct cursor augmentation = {window, data, entry.at, false};
		cie->has_augmentation = true;
		read_augmentation(cie, &augmentation, letters + 1);
		if (augmentation.bad)
			return false;
	}
	cie->program = entry.at;
	cie->program_end = entry.end;
	return !entry.bad && cie->return_register == SN_REG_PC;
}

/* ---- the program of an entry ---- */

struct machine {
	struct window *window;
	const struct cie *cie;
	struct sn_cfi_row *row;
	struct sn_cfi_row saved[STATE_DEPTH];
	unsigned saved_count;
	const struct sn_cfi_row *initial; /* after the CIE's program; NULL while it runs */
	uintptr_t location, pc;
	bool bad;
};

/* Factored offsets come from the file: wrap around rather than overflow. */
static int64_t factored(const struct machine *machine, uint64_t offset)
{
	return (int64_t)(offset * (uint64_t)machine->cie->data_align);
}

static void set_rule(struct machine *machine, uint64_t number, enum sn_cfi_kind kind, int64_t value)
{
	/* vector registers and the like are not needed here */
	if (number >= SN_REG_COUNT)
		return;
	machine->row->kinds[number] = kind;
	machine->row->values[number] = value;
}

static struct sn_cfi_expression read_expression(struct machine *machine, struct cursor *program)
{
	uint64_t length = read_uleb(program);
	uintptr_t bytes = read_bytes(program, length);
	if (length > UINT16_MAX)
		machine->bad = true;
	return (struct sn_cfi_expression){bytes, (uint32_t)length};
}

static void set_expression(struct machine *machine, struct cursor *program, enum sn_cfi_kind kind)
{
	uint64_t number = read_uleb(program);
	struct sn_cfi_expression expression = read_expression(machine, program);
	set_rule(machine, number, kind, (int64_t)expression.address);
	if (number < SN_REG_COUNT)
		machine->row->lengths[number] = (uint16_t)expression.length;
}

static void restore_rule(struct machine *machine, uint64_t number)
{
	if (!machine->initial) {
		machine->bad = true;
	} else if (number < SN_REG_COUNT) {
		machine->row->kinds[number] = machine->initial->kinds[number];
		machine->row->values[number] = machine->initial->values[number];
		machine->row->lengths[number] = machine->initial->lengths[number];
	}
}

static void set_cfa(struct machine *machine, uint64_t number, int64_t offset)
{
	machine->row->cfa_is_expression = false;
	machine->row->cfa_register = (uint8_t)number;
	machine->row->cfa_offset = offset;
	if (number >= SN_REG_COUNT)
		machine->bad = true;
}

static void set_cfa_expression(struct machine *machine, struct cursor *program)
{
	machine->row->cfa_is_expression = true;
	machine->row->cfa_expression = read_expression(machine, program);
}

static void remember(struct machine *machine)
{
	if (machine->saved_count == STATE_DEPTH)
		machine->bad = true;
	else
		machine->saved[machine->saved_count++] = *machine->row;
}

static void recall(struct machine *machine)
{
	if (machine->saved_count)
		*machine->row = machine->saved[--machine->saved_count];
	else
		machine->bad = true;
}

static void advance(struct machine *machine, uint64_t delta)
{
	machine->location += delta * machine->cie->code_align;
}

/* The instructions that set a register's rule by a number and an operand. */
static void execute_rule(struct machine *machine, struct cursor *program, unsigned opcode)
{
	uint64_t number = read_uleb(program);
	switch (opcode) {
	case 0x05: /* offset_extended */
		return set_rule(machine, number, SN_CFI_OFFSET,
				factored(machine, read_uleb(program)));
	case 0x06: /* restore_extended */
		return restore_rule(machine, number);
	case 0x07:
		return set_rule(machine, number, SN_CFI_UNDEFINED, 0);
	case 0x08:
		return set_rule(machine, number, SN_CFI_SAME, 0);
	case 0x09:
		return set_rule(machine, number, SN_CFI_REGISTER, (int64_t)read_uleb(program));
	case 0x11: /* offset_extended_sf */
		return set_rule(machine, number, SN_CFI_OFFSET,
				factored(machine, (uint64_t)read_sleb(program)));
	case 0x14: /* val_offset, val_offset_sf */
		return set_rule(machine, number, SN_CFI_VALUE_OFFSET,
				factored(machine, read_uleb(program)));
	case 0x15:
		return set_rule(machine, number, SN_CFI_VALUE_OFFSET,
				factored(machine, (uint64_t)read_sleb(program)));
	case 0x2f: /* GNU_negative_offset_extended */
		return set_rule(machine, number, SN_CFI_OFFSET,
				factored(machine, -read_uleb(program)));
	}
	machine->bad = true;
}

/* Instructions that carry no operand in their opcode. */
static void execute_extended(struct machine *machine, struct cursor *program, unsigned opcode)
{
	uint64_t number;
	switch (opcode) {
	case 0x00: /* nop */
		return;
	case 0x01: /* set_loc */
		machine->location = read_pointer(program, machine->cie->address_encoding, 0);
		return;
	case 0x02: /* advance_loc1, 2, 4 */
		return advance(machine, read_fixed(program, 1));
	case 0x03:
		return advance(machine, read_fixed(program, 2));
	case 0x04:
		return advance(machine, read_fixed(program, 4));
	case 0x0a:
		return remember(machine);
	case 0x0b:
		return recall(machine);
	case 0x0c: /* def_cfa */
		number = read_uleb(program);
		return set_cfa(machine, number, (int64_t)read_uleb(program));
	case 0x0d: /* def_cfa_register */
		return set_cfa(machine, read_uleb(program), machine->row->cfa_offset);
	case 0x0e: /* def_cfa_offset */
		machine->row->cfa_offset = (int64_t)read_uleb(program);
		return;
	case 0x0f:
		return set_cfa_expression(machine, program);
	case 0x10:
		return set_expression(machine, program, SN_CFI_EXPRESSION);
	case 0x12: /* def_cfa_sf */
		number = read_uleb(program);
		return set_cfa(machine, number, factored(machine, (uint64_t)read_sleb(program)));
	case 0x13: /* def_cfa_offset_sf */
		machine->row->cfa_offset = factored(machine, (uint64_t)read_sleb(program));
		return;
	case 0x16:
		return set_expression(machine, program, SN_CFI_VALUE_EXPRESSION);
	case 0x2e: /* GNU_args_size: for landing pads only */
		read_uleb(program);
		return;
	}
	execute_rule(machine, program, opcode);
}

/* Runs until the location passes the pc. */
static bool execute(struct machine *machine, uintptr_t at, uintptr_t end)
{
	struct cursor program = {machine->window, at, end, false};
	while (program.at < program.end && !machine->bad && !program.bad) {
		unsigned opcode = (unsigned)read_fixed(&program, 1), low = opcode & 0x3f;
		switch (opcode & 0xc0) {
		case 0x40:
			advance(machine, low);
			break;
		case 0x80:
			set_rule(machine, low, SN_CFI_OFFSET,
				 factored(machine, read_uleb(&program)));
			break;
		case 0xc0:
			restore_rule(machine, low);
			break;
		default:
			execute_extended(machine, &program, low);
		}
		if (machine->location > machine->pc)
			break;
	}
	return !machine->bad && !program.bad;
}

/* ---- frame description entries ---- */

struct fde {
	struct cie cie;
	uintptr_t start, end;
	uintptr_t program, program_end;
};

/* Nothing outside [low, high) is read. */
static bool read_fde(struct window *window, uintptr_t low, uintptr_t high, uintptr_t at,
		     struct fde *fde)
{
	struct cursor cursor = {window, at, high, false}, entry;
	if (at < low || at >= high || !entry_extent(&cursor, &entry))
		return false;
	uintptr_t id_place = entry.at;
	uint64_t id = read_fixed(&entry, 4);
	if (!id || id > id_place - low || !read_cie(window, id_place - id, high, &fde->cie))
		return false;
	fde->start = read_pointer(&entry, fde->cie.address_encoding, 0);
	fde->end = fde->start + read_format(&entry, fde->cie.address_encoding);
	if (fde->cie.has_augmentation)
		read_bytes(&entry, read_uleb(&entry));
	fde->program = entry.at;
	fde->program_end = entry.end;
	return !entry.bad;
}

static int decode(struct window *window, const struct fde *fde, uintptr_t pc,
		  struct sn_cfi_row *row)
{
	struct sn_cfi_row initial;
	struct machine machine = {
	    .window = window, .cie = &fde->cie, .row = row, .pc = UINTPTR_MAX};
	memset(row, 0, sizeof(*row));
	row->is_signal_frame = fde->cie.is_signal_frame;
	if (!execute(&machine, fde->cie.program, fde->cie.program_end))
		return -EINVAL;
	initial = *row;
	machine.initial = &initial;
	machine.location = fde->start;
	machine.pc = pc;
	return execute(&machine, fde->program, fde->program_end) ? 0 : -EINVAL;
}

static int decode_at(struct window *window, uintptr_t low, uintptr_t high, uintptr_t at,
		     uintptr_t pc, struct sn_cfi_row *row)
{
	struct fde fde;
	if (!read_fde(window, low, high, at, &fde))
		return -EINVAL;
	if (pc < fde.start || pc >= fde.end)
		return -ENOENT;
	return decode(window, &fde, pc, row);
}

static void fix(struct window *window, uintptr_t low, uintptr_t high)
{
	window->start = low;
	window->bytes = high - low;
	window->copy = (const unsigned char *)low;
	window->is_fixed = true;
}

int sn_cfi_decode(const unsigned char *low, const unsigned char *high, const unsigned char *at,
		  uintptr_t pc, struct sn_cfi_row *row)
{
	struct window window;
	fix(&window, (uintptr_t)low, (uintptr_t)high);
	return decode_at(&window, (uintptr_t)low, (uintptr_t)high, (uintptr_t)at, pc, row);
}

/* ---- finding the entry ---- */

struct header {
	uintptr_t base;	   /* .eh_frame_hdr, what data-relative offsets count from */
	uintptr_t section; /* .eh_frame */
	struct cursor table;
	uint64_t count;
	unsigned encoding;
};

/* What may be read around an address of the module: its segment. */
static bool segment_of(const struct sn_module *module, uintptr_t at, struct window *window,
		       struct cursor *segment)
{
	for (uint32_t index = 0; index < module->readable_count; index++) {
		const struct sn_module_range *range = &module->readable[index];
		if (at < range->start || at >= range->end)
			continue;
		*segment = (struct cursor){window, range->start, range->end, false};
		window->is_fixed = false;
		window->bytes = 0;
		if (module->is_permanent)
			fix(window, range->start, range->end);
		return true;
	}
	return false;
}

static bool read_header(const struct sn_module *module, struct window *window,
			struct header *header)
{
	struct cursor cursor;
	uintptr_t base = (uintptr_t)module->eh_frame_hdr;
	if (!segment_of(module, base, window, &cursor))
		return false;
	cursor.at = header->base = base;
	if (read_fixed(&cursor, 1) != 1)
		return false;
	unsigned section_encoding = (unsigned)read_fixed(&cursor, 1);
	unsigned count_encoding = (unsigned)read_fixed(&cursor, 1);
	header->encoding = (unsigned)read_fixed(&cursor, 1);
	header->section = read_pointer(&cursor, section_encoding, base);
	header->count =
	    count_encoding == ENC_OMIT ? 0 : read_pointer(&cursor, count_encoding, base);
	header->table = cursor;
	return !cursor.bad;
}

/* Bytes of one address in the table; 0 where entries are not all of one size or relative to
 * themselves. */
static unsigned table_width(const struct header *header)
{
	unsigned base = header->encoding & ENC_BASE;
	if (!header->count || header->encoding == ENC_OMIT || (base && base != ENC_DATAREL))
		return 0;
	switch (header->encoding & ENC_FORMAT) {
	case ENC_UDATA4:
	case ENC_SDATA4:
		return 4;
	case ENC_ABSPTR:
	case ENC_UDATA8:
	case ENC_SDATA8:
		return 8;
	}
	return 0;
}

static uintptr_t table_address(const struct header *header, uint64_t place)
{
	struct cursor cursor = header->table;
	cursor.at += place;
	return read_pointer(&cursor, header->encoding, header->base);
}

/*
 * Each look at the table may be a system call. Functions are spread evenly enough that a guess by
 * the pc's place among the addresses known is near; every other step halves, which bounds them.
 */
struct search {
	uint64_t low, high;
	uintptr_t low_pc, high_pc;
};

static uint64_t guess(const struct search *search, uintptr_t pc, unsigned step)
{
	uint64_t span = search->high - search->low;
	if (step % 2 || search->high_pc <= search->low_pc || pc <= search->low_pc)
		return search->low + span / 2;
	double part = (double)(pc - search->low_pc) / (double)(search->high_pc - search->low_pc);
	uint64_t place = (uint64_t)(part * (double)span);
	return search->low + (place < span ? place : span - 1);
}

/* The table holds sorted pairs, a function's start and its entry. The last that starts at or before
 * pc; 0 for none. */
static uintptr_t search_table(const struct header *header, unsigned width, uintptr_t pc)
{
	uint64_t room = (header->table.end - header->table.at) / (2 * width);
	struct search search = {.high = header->count < room ? header->count : room};
	if (search.high) {
		search.low_pc = table_address(header, 0);
		search.high_pc = table_address(header, 2 * width * (search.high - 1));
	}
	for (unsigned step = 0; search.low < search.high; step++) {
		if ((search.high - search.low) * 2 * width <= TABLE_BYTES)
			table_address(header, 2 * width * search.low); /* copies all that is left */
		uint64_t middle = guess(&search, pc, step);
		uintptr_t address = table_address(header, 2 * width * middle);
		if (address <= pc) {
			search.low = middle + 1;
			search.low_pc = address;
		} else {
			search.high = middle;
			search.high_pc = address;
		}
	}
	return search.low ? table_address(header, 2 * width * (search.low - 1) + width) : 0;
}

/* Without a table every entry is looked at, up to a bound. */
static int scan_section(const struct sn_module *module, const struct header *header,
			struct window *window, uintptr_t pc, struct sn_cfi_row *row)
{
	struct cursor cursor, entry;
	if (!segment_of(module, header->section, window, &cursor))
		return -EINVAL;
	uintptr_t low = cursor.at, at = header->section;
	cursor.at = at;
	while (entry_extent(&cursor, &entry) && cursor.at - header->section < SCAN_MAX_BYTES) {
		struct fde fde;
		if (read_fde(window, low, cursor.end, at, &fde) && pc >= fde.start && pc < fde.end)
			return decode(window, &fde, pc, row);
		at = cursor.at;
	}
	return -ENOENT;
}

int sn_cfi_find(const struct sn_module *module, uintptr_t pc, struct sn_cfi_row *row)
{
	struct header header;
	struct cursor segment;
	struct window window;
	if (!module->eh_frame_hdr)
		return -ENOENT;
	if (!read_header(module, &window, &header))
		return -EINVAL;
	unsigned width = table_width(&header);
	if (!width)
		return scan_section(module, &header, &window, pc, row);
	uintptr_t fde = search_table(&header, width, pc);
	if (!fde)
		return -ENOENT;
	if (!segment_of(module, fde, &window, &segment))
		return -EINVAL;
	return decode_at(&window, segment.at, segment.end, fde, pc, row);
}
