/* SPDX-License-Identifier: Apache-2.0 */
/* See gpu_fixture.h. */
#include "gpu_fixture.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

struct image {
	uint8_t bytes[8192];
	size_t size;
	char names[512];
	size_t name_bytes;
	Elf64_Shdr sections[16];
	unsigned section_count;
};

static uint32_t add_name(struct image *image, const char *name)
{
	size_t at = image->name_bytes;
	memcpy(image->names + at, name, strlen(name) + 1);
	image->name_bytes += strlen(name) + 1;
	return (uint32_t)at;
}

/* Its contents are put at `offset`, or behind what is there for 0. */
static unsigned add_section(struct image *image, const char *name, uint32_t type, uint64_t flags,
			    size_t offset, const void *contents, size_t bytes)
{
	if (offset == 0)
		offset = (image->size + 7) & ~(size_t)7;
	if (offset + bytes > sizeof(image->bytes) || image->section_count == 16)
		abort();
	memcpy(image->bytes + offset, contents, bytes);
	if (offset + bytes > image->size)
		image->size = offset + bytes;
	image->sections[image->section_count] = (Elf64_Shdr){.sh_name = add_name(image, name),
							     .sh_type = type,
							     .sh_flags = flags,
							     .sh_offset = offset,
							     .sh_size = bytes};
	return image->section_count++;
}

static void begin(struct image *image)
{
	memset(image, 0, sizeof(*image));
	image->size = sizeof(Elf64_Ehdr);
	image->name_bytes = 1;
	image->section_count = 1;
}

static uint8_t *finish(struct image *image, uint16_t machine, uint8_t abi, uint32_t flags,
		       size_t *bytes)
{
	unsigned names = add_section(image, ".shstrtab", SHT_STRTAB, 0, 0, "", 0);
	image->size = (image->size + 7) & ~(size_t)7;
	image->sections[names].sh_offset = image->size;
	image->sections[names].sh_size = image->name_bytes;
	size_t table = (image->size + image->name_bytes + 7) & ~(size_t)7;
	*bytes = table + image->section_count * sizeof(Elf64_Shdr);
	uint8_t *out = calloc(1, *bytes);
	if (!out)
		abort();
	memcpy(out, image->bytes, image->size);
	memcpy(out + image->size, image->names, image->name_bytes);
	memcpy(out + table, image->sections, image->section_count * sizeof(Elf64_Shdr));
	Elf64_Ehdr header = {.e_type = ET_DYN,
			     .e_machine = machine,
			     .e_version = 1,
			     .e_shoff = table,
			     .e_flags = flags,
			     .e_ehsize = sizeof(Elf64_Ehdr),
			     .e_shentsize = sizeof(Elf64_Shdr),
			     .e_shnum = (uint16_t)image->section_count,
			     .e_shstrndx = (uint16_t)names};
	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = 1;
	header.e_ident[EI_ABIVERSION] = abi;
	memcpy(out, &header, sizeof(header));
	return out;
}

struct sass {
	uint64_t words[64];
	unsigned count; /* instructions */
	unsigned compute_capability;
};

enum { ALWAYS = 7, P0 = 0, NOT_P0 = 8, P1 = 1 };

static void sass(struct sass *code, unsigned operation, unsigned predicate, uint64_t low,
		 uint64_t high)
{
	code->words[code->count * 2] = operation | (uint64_t)predicate << 12 | low;
	code->words[code->count * 2 + 1] = 0x000fea0003800000 | high;
	code->count++;
}

/* An instruction with a distance to `target`, from the next one. */
static void sass_to(struct sass *code, unsigned operation, unsigned predicate, uint64_t target,
		    uint64_t low)
{
	int64_t distance = (int64_t)target - (int64_t)(code->count * 16 + 16);
	uint64_t field = (uint64_t)(distance >> 2);
	if (code->compute_capability >= 90) {
		low |= (field & 0xff) << 16;
		field >>= 8;
	}
	sass(code, operation, predicate, low | field << 34, field >> 30 & 0x3ffff);
}

#define WORK 0x221 /* FADD, or some such */

static void outer_code(struct sass *code)
{
	sass(code, WORK, ALWAYS, 0, 0);
	sass(code, WORK, ALWAYS, 0, 0);
	sass(code, WORK, ALWAYS, 0, 0);
	sass_to(code, 0x947, P0, 0x20, 0);
	sass_to(code, 0x944, ALWAYS, 0x90, 0);
	sass_to(code, 0x947, P1, 0x10, 0);
	sass_to(code, 0x949, ALWAYS, 0, (uint64_t)6 << 24);
	sass(code, 0x94d, ALWAYS, 0, 0);
	sass(code, 0x94d, ALWAYS, 0, 0);
	sass(code, WORK, ALWAYS, 0, 0);
	sass(code, 0x950, P0, (uint64_t)20 << 24, 0);
	sass_to(code, 0x947, ALWAYS, 0x90, 0);
	sass(code, 0x94d, ALWAYS, 0, 0);
	sass_to(code, 0x947, ALWAYS, 0xd0, 0);
	sass(code, 0x918, ALWAYS, 0, 0);
}

static void second_code(struct sass *code)
{
	sass_to(code, 0x945, ALWAYS, 0x40, 0);
	sass_to(code, 0x947, NOT_P0, 0x30, 0);
	sass(code, WORK, ALWAYS, 0, 0);
	sass(code, 0x941, ALWAYS, 0, 0);
	sass(code, 0x943, ALWAYS, 0, 0);
	sass(code, 0x94d, ALWAYS, 0, 0);
}

/* set_address 0; rows (address, file, line), where an address of -1 says (context, name). */
static const struct {
	int address;
	uint8_t file, line;
} rows[] = {
    {0x00, 1, 10}, {0x10, 1, 11}, {0x20, 1, 12}, {-1, 3, 0},	{0x20, 2, 21},
    {-1, 0, 0},	   {0x30, 1, 12}, {0x40, 1, 13}, {0x50, 1, 11}, {0x60, 1, 15},
    {0x80, 1, 16}, {0x90, 1, 30}, {0xa0, 1, 31}, {0xb0, 1, 32},
};

static size_t line_program(uint8_t *out, size_t *address_at)
{
	static const uint8_t header[] = {
	    1,	 1,   0xfb, 14,	 10,  0,   1,	1,   1,	  1,   0,   0,	 0, 1, '/', 's', 'r',
	    'c', 0,   0,    'k', 'e', 'r', 'n', 'e', 'l', '.', 'c', 'u', 0, 1, 0,   0,	 's',
	    'q', 'u', 'a',  'r', 'e', '.', 'h', 0,   1,	  0,   0,   0,	 2, 0, 0,   0};
	uint32_t length, header_length = sizeof(header);
	uint16_t version = 2;
	int address = 0, line = 1;
	size_t at = 4;
	memcpy(out + at, &version, 2);
	memcpy(out + at + 2, &header_length, 4);
	memcpy(out + at + 6, header, sizeof(header));
	at += 6 + sizeof(header);
	memcpy(out + at, (uint8_t[]){0, 9, 2}, 3);
	*address_at = at + 3;
	memset(out + at + 3, 0, 8);
	at += 11;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].address < 0) {
			memcpy(out + at, (uint8_t[]){0, 3, 0x90, rows[i].file, 0}, 5);
			at += 5;
			continue;
		}
		memcpy(out + at,
		       (uint8_t[]){4, rows[i].file, 2, (uint8_t)(rows[i].address - address), 3,
				   (uint8_t)((rows[i].line - line) & 0x7f), 1},
		       7);
		at += 7;
		address = rows[i].address;
		line = rows[i].line;
	}
	memcpy(out + at, (uint8_t[]){2, 0x10, 0, 1, 1}, 5);
	at += 5;
	length = (uint32_t)at - 4;
	memcpy(out, &length, 4);
	return at;
}

static Elf64_Sym symbol(uint32_t name, unsigned section, uint64_t value, uint64_t size,
			uint8_t other)
{
	return (Elf64_Sym){.st_name = name,
			   .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			   .st_other = other,
			   .st_shndx = (uint16_t)section,
			   .st_value = value,
			   .st_size = size};
}

static void add_cubin_debug(struct image *image, unsigned symbols)
{
	uint8_t program[512];
	size_t address_at;
	size_t bytes = line_program(program, &address_at);
	add_section(image, ".debug_line", SHT_PROGBITS, 0, 0, program, bytes);
	add_section(image, ".debug_str", SHT_PROGBITS, 0, 0, "?\0square", 9);
	Elf64_Rel relocation = {address_at, ELF64_R_INFO(1, 2)};
	unsigned section =
	    add_section(image, ".rel.debug_line", SHT_REL, 0, 0, &relocation, sizeof(relocation));
	image->sections[section].sh_link = symbols;
}

uint8_t *gpu_fixture_cubin(unsigned compute_capability, size_t *bytes)
{
	struct image image;
	struct sass outer = {.compute_capability = compute_capability};
	struct sass second = {.compute_capability = compute_capability};
	static const char strings[] = "\0outer\0$outer$helper\0second";
	static const uint32_t info[] = {4 | 0x34 << 8 | 20u << 16, 0x60, 0, 2, 0x70, 0x80};
	begin(&image);
	outer_code(&outer);
	second_code(&second);
	unsigned code = SHF_ALLOC | SHF_EXECINSTR;
	unsigned first = add_section(&image, ".text.outer", SHT_PROGBITS, code, GPU_FIXTURE_OUTER,
				     outer.words, (size_t)outer.count * 16);
	unsigned next = add_section(&image, ".text.second", SHT_PROGBITS, code, GPU_FIXTURE_SECOND,
				    second.words, (size_t)second.count * 16);
	Elf64_Sym symbols[] = {{0},
			       symbol(1, first, 0, 0xf0, 0x10),
			       symbol(7, first, 0x90, 0x60, 0),
			       symbol(21, next, 0, 0x60, 0x10)};
	unsigned names = add_section(&image, ".strtab", SHT_STRTAB, 0, 0, strings, sizeof(strings));
	unsigned table = add_section(&image, ".symtab", SHT_SYMTAB, 0, 0, symbols, sizeof(symbols));
	image.sections[table].sh_link = names;
	unsigned of_outer =
	    add_section(&image, ".nv.info.outer", 0x70000000, 0, 0, info, sizeof(info));
	image.sections[of_outer].sh_info = first;
	Elf64_Rela call = {0x40, ELF64_R_INFO(2, 0x4b), 0};
	unsigned of_second =
	    add_section(&image, ".rela.text.second", SHT_RELA, 0, 0, &call, sizeof(call));
	image.sections[of_second].sh_info = next;
	image.sections[of_second].sh_link = table;
	add_cubin_debug(&image, table);
	uint32_t flags = compute_capability >= 100 ? compute_capability << 8 | 2
						   : compute_capability | compute_capability << 16;
	return finish(&image, 190, compute_capability >= 100 ? 8 : 7, flags, bytes);
}

struct gcn {
	uint32_t words[64];
	unsigned count;
};

static void gcn(struct gcn *code, uint32_t word)
{
	code->words[code->count++] = word;
}

/* A long instruction of each generation; its later words are s_endpgm. */
static void gcn_long(struct gcn *code, unsigned isa)
{
	static const uint32_t first[] = {
	    [9] = 0xdc508000,  /* global_load_dword */
	    [10] = 0xf0000f04, /* image with four words of addresses: 16 bytes */
	    [11] = 0xf0000f01, /* ... with one: 12 bytes */
	    [12] = 0xee050000, /* global_load_b32: 12 bytes */
	};
	static const unsigned words[] = {[9] = 2, [10] = 4, [11] = 3, [12] = 3};
	uint32_t end = isa >= 11 ? 0xbfb00000 : 0xbf810000;
	gcn(code, first[isa]);
	for (unsigned i = 1; i < words[isa]; i++)
		gcn(code, end);
	gcn(code, 0x020000ff); /* an addition with a literal constant */
	gcn(code, end);
}

static void kernel_code(struct gcn *code, unsigned isa)
{
	uint32_t end = isa >= 11 ? 0xbfb00000 : 0xbf810000;
	uint32_t branch = isa >= 11 ? 0xbfa20000 : 0xbf850000;
	uint32_t getpc = isa == 9 ? 0xbe841c00 : isa == 10 ? 0xbe841f00 : 0xbe844700;
	uint32_t swappc = isa == 9 ? 0xbe9e1e04 : isa == 10 ? 0xbe9e2104 : 0xbe9e4904;
	gcn_long(code, isa);
	gcn(code, getpc);
	uint32_t after = code->count * 4; /* from helper */
	gcn(code, 0x8004ff04);		  /* s_add_u32 s4, s4, literal */
	gcn(code, 0u - after);
	gcn(code, 0x8205c105); /* s_addc_u32 s5, s5, -1 */
	gcn(code, swappc);
	gcn(code, branch | 0xfffe);
	gcn(code, end);
}

uint8_t *gpu_fixture_code_object(unsigned isa, size_t *bytes)
{
	struct image image;
	struct gcn code = {0};
	static const uint8_t machines[] = {[9] = 0x3f, [10] = 0x36, [11] = 0x41, [12] = 0x48};
	static const uint8_t descriptor[64];
	static const char strings[] = "\0helper\0kernel\0kernel.kd";
	begin(&image);
	gcn(&code, 0xbf800000);
	gcn(&code, isa == 9 ? 0xbe801d1e : isa == 10 ? 0xbe80201e : 0xbe80481e);
	while (code.count < (GPU_FIXTURE_AMD_KERNEL - GPU_FIXTURE_AMD_TEXT) / 4)
		gcn(&code, 0xbf800000);
	kernel_code(&code, isa);
	unsigned data = add_section(&image, ".rodata", SHT_PROGBITS, SHF_ALLOC, 0, descriptor,
				    sizeof(descriptor));
	image.sections[data].sh_addr = GPU_FIXTURE_AMD_RODATA;
	unsigned text = add_section(&image, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0,
				    code.words, (size_t)code.count * 4);
	image.sections[text].sh_addr = GPU_FIXTURE_AMD_TEXT;
	Elf64_Sym symbols[] = {{0},
			       symbol(1, text, GPU_FIXTURE_AMD_TEXT, 8, 0),
			       symbol(8, text, GPU_FIXTURE_AMD_KERNEL, 64, 0),
			       symbol(15, data, GPU_FIXTURE_AMD_RODATA, 64, 0)};
	symbols[3].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
	unsigned names = add_section(&image, ".strtab", SHT_STRTAB, 0, 0, strings, sizeof(strings));
	unsigned table = add_section(&image, ".symtab", SHT_SYMTAB, 0, 0, symbols, sizeof(symbols));
	image.sections[table].sh_link = names;
	return finish(&image, 224, 3, machines[isa], bytes);
}

uint8_t *gpu_fixture_fatbin(unsigned compute_capability, size_t *bytes)
{
	size_t cubin_bytes;
	uint8_t *cubin = gpu_fixture_cubin(compute_capability, &cubin_bytes);
	*bytes = 16 + 64 + cubin_bytes;
	uint8_t *out = calloc(1, *bytes);
	if (!out)
		abort();
	uint64_t size = 64 + cubin_bytes, payload = cubin_bytes, flags = 0x11;
	memcpy(out, (uint8_t[]){0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0}, 8);
	memcpy(out + 8, &size, 8);
	memcpy(out + 16, (uint8_t[]){2, 0, 1, 1, 64, 0, 0, 0}, 8);
	memcpy(out + 24, &payload, 8);
	uint32_t architecture = compute_capability;
	memcpy(out + 44, &architecture, 4);
	memcpy(out + 56, &flags, 8);
	memcpy(out + 80, cubin, cubin_bytes);
	free(cubin);
	return out;
}

static size_t bundle_entry(uint8_t *out, uint64_t offset, uint64_t size, const char *name)
{
	uint64_t length = strlen(name);
	memcpy(out, &offset, 8);
	memcpy(out + 8, &size, 8);
	memcpy(out + 16, &length, 8);
	memcpy(out + 24, name, length);
	return 24 + length;
}

uint8_t *gpu_fixture_bundle(size_t *bytes)
{
	size_t first_bytes, second_bytes, at = 32, count = 3;
	uint8_t *first = gpu_fixture_code_object(9, &first_bytes);
	uint8_t *second = gpu_fixture_code_object(11, &second_bytes);
	*bytes = 512 + first_bytes + second_bytes;
	uint8_t *out = calloc(1, *bytes);
	if (!out)
		abort();
	memcpy(out, "__CLANG_OFFLOAD_BUNDLE__", 24);
	memcpy(out + 24, &count, 8);
	at += bundle_entry(out + at, 512, 0, "host-x86_64-unknown-linux-gnu-");
	at += bundle_entry(out + at, 512, first_bytes, "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-");
	bundle_entry(out + at, 512 + first_bytes, second_bytes, "hipv4-amdgcn-amd-amdhsa--gfx1100");
	memcpy(out + 512, first, first_bytes);
	memcpy(out + 512 + first_bytes, second, second_bytes);
	free(first);
	free(second);
	return out;
}
