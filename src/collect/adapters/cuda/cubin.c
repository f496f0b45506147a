/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cubins that the program loads, while instructions are sampled. CUPTI shows each but for a moment, so its functions are noted then, and
 * the cubin is kept in the measurement, once for all its processes: analysis reads lines, inlined calls and loops from it.
 */
#include "pc_sampling.h"

#include <elf.h>
#include <string.h>

#define CUBINS	     4096u
#define MOST_NOTED   (32u << 20) /* bytes of notes about functions */
#define RECENT	     1024u
#define SYMBOL_BYTES sizeof(Elf64_Sym)

/* A function: its symbol, and the section that it lies in. Ascending by symbol. */
struct function {
	uint32_t symbol, name; /* of the kernel, in the cubin's text */
	uint64_t start;
};

struct cubin {
	uint64_t crc;
	uint32_t module, function_count;
	struct function *functions; /* NULL: the place is free */
	const char *text;
	size_t noted_bytes; /* of both */
};

static struct cubin *cubins; /* CUBINS, by their CRC, with linear probing */
static uint32_t cubin_count;
static _Atomic uint64_t noted_bytes;

/* What was asked last. */
static struct {
	uint64_t crc;
	uint32_t function;
	bool is_known;
	struct sn_cuda_code code;
} recent[RECENT];

/* ---- reading one ---- */

struct image {
	const unsigned char *bytes;
	size_t size;
	const Elf64_Shdr *sections;
	uint32_t section_count;
	const char *names; /* of sections */
	size_t names_bytes;
};

static bool lies_within(const struct image *image, uint64_t offset, uint64_t bytes)
{
	return offset <= image->size && bytes <= image->size - offset;
}

static bool is_terminated(const char *names, size_t bytes)
{
	return bytes && !names[bytes - 1];
}

static bool open_image(struct image *image, const void *cubin, size_t bytes)
{
	const Elf64_Ehdr *head = cubin;
	*image = (struct image){.bytes = cubin, .size = bytes};
	if (bytes < sizeof(*head) || memcmp(head->e_ident, ELFMAG, SELFMAG) ||
	    head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_shentsize != sizeof(Elf64_Shdr) ||
	    head->e_shoff % 8 || head->e_shstrndx >= head->e_shnum ||
	    !lies_within(image, head->e_shoff, (uint64_t)head->e_shnum * sizeof(Elf64_Shdr)))
		return false;
	image->sections = (const Elf64_Shdr *)(image->bytes + head->e_shoff);
	image->section_count = head->e_shnum;
	const Elf64_Shdr *names = &image->sections[head->e_shstrndx];
	if (!lies_within(image, names->sh_offset, names->sh_size))
		return false;
	image->names = (const char *)image->bytes + names->sh_offset;
	image->names_bytes = names->sh_size;
	return is_terminated(image->names, image->names_bytes);
}

/* The kernel that a section of code is of: it is called .text.NAME. NULL for others. */
static const char *kernel_of(const struct image *image, uint32_t section)
{
	static const char prefix[] = ".text.";
	if (section >= image->section_count)
		return NULL;
	uint32_t at = image->sections[section].sh_name;
	if (at >= image->names_bytes || strncmp(image->names + at, prefix, sizeof(prefix) - 1) != 0)
		return NULL;
	return image->names + at + sizeof(prefix) - 1;
}

static const Elf64_Shdr *symbols_of(const struct image *image)
{
	for (uint32_t index = 0; index < image->section_count; index++) {
		const Elf64_Shdr *section = &image->sections[index];
		if (section->sh_type == SHT_SYMTAB && !(section->sh_offset % 8) &&
		    lies_within(image, section->sh_offset, section->sh_size))
			return section;
	}
	return NULL;
}

/* The symbol of a function, and its kernel; NULL for other symbols. */
static const char *function_at(const struct image *image, const Elf64_Shdr *table, uint32_t symbol,
			       uint64_t *start)
{
	const Elf64_Sym *at = (const Elf64_Sym *)(image->bytes + table->sh_offset) + symbol;
	if (ELF64_ST_TYPE(at->st_info) != STT_FUNC)
		return NULL;
	const char *kernel = kernel_of(image, at->st_shndx);
	if (kernel)
		*start = image->sections[at->st_shndx].sh_offset;
	return kernel;
}

/* Of the budget: so much more, or nothing. */
static bool take(uint64_t bytes)
{
	if (atomic_fetch_add_explicit(&noted_bytes, bytes, memory_order_relaxed) + bytes <=
	    MOST_NOTED)
		return true;
	atomic_fetch_sub_explicit(&noted_bytes, bytes, memory_order_relaxed);
	return false;
}

/* Functions and their kernels' names in pages of their own. False without memory, or where there are none. */
static bool note_functions(const struct image *image, struct cubin *cubin)
{
	const Elf64_Shdr *table = symbols_of(image);
	uint64_t start;
	uint32_t symbols = table ? (uint32_t)(table->sh_size / SYMBOL_BYTES) : 0, count = 0;
	for (uint32_t symbol = 0; symbol < symbols; symbol++)
		count += function_at(image, table, symbol, &start) != NULL;
	size_t bytes = count * sizeof(struct function) + image->names_bytes;
	if (!count || !take(bytes))
		return false;
	cubin->functions = sn_pages_map(bytes);
	if (!cubin->functions) {
		atomic_fetch_sub_explicit(&noted_bytes, bytes, memory_order_relaxed);
		return false;
	}
	cubin->noted_bytes = bytes;
	char *text = (char *)(cubin->functions + count);
	memcpy(text, image->names, image->names_bytes);
	cubin->text = text;
	for (uint32_t symbol = 0; symbol < symbols; symbol++) {
		const char *kernel = function_at(image, table, symbol, &start);
		if (kernel)
			cubin->functions[cubin->function_count++] =
			    (struct function){symbol, (uint32_t)(kernel - image->names), start};
	}
	return true;
}

/* ---- cubins that are known ---- */

/* Its place, or the free one that it is to have; NULL where there are too many. */
static struct cubin *place_of(uint64_t crc)
{
	if (!cubins)
		return NULL;
	for (uint64_t at = crc;; at++) {
		struct cubin *cubin = &cubins[at % CUBINS];
		if (!cubin->functions)
			return cubin_count < CUBINS / 4 * 3 ? cubin : NULL;
		if (cubin->crc == crc)
			return cubin;
	}
}

static bool is_known(uint64_t crc)
{
	sn_gpu_begin_done();
	if (!cubins)
		cubins = sn_pages_map(CUBINS * sizeof(*cubins));
	const struct cubin *place = place_of(crc);
	bool is = !place || place->functions;
	sn_gpu_end_done();
	return is;
}

void sn_cuda_cubin_loaded(const void *bytes, size_t size, uint64_t crc)
{
	struct cubin cubin = {.crc = crc};
	struct image image;
	if (is_known(crc) || !open_image(&image, bytes, size) || !note_functions(&image, &cubin))
		return;
	cubin.module = sn_gpu_keep_binary(bytes, size, crc, SN_CUBIN_FILE_SUFFIX);
	sn_gpu_begin_done();
	struct cubin *place = place_of(crc);
	bool is_first = place && !place->functions;
	if (is_first) {
		*place = cubin;
		cubin_count++;
	}
	memset(recent, 0, sizeof(recent));
	sn_gpu_end_done();
	/* another thread was faster, or there are too many */
	if (!is_first) {
		sn_pages_unmap(cubin.functions, cubin.noted_bytes);
		atomic_fetch_sub_explicit(&noted_bytes, cubin.noted_bytes, memory_order_relaxed);
	}
}

/* ---- finding ---- */

static const struct function *by_name(const struct cubin *cubin, const char *name)
{
	for (uint32_t index = 0; name && index < cubin->function_count; index++)
		if (!strcmp(cubin->text + cubin->functions[index].name, name))
			return &cubin->functions[index];
	return NULL;
}

static const struct function *by_symbol(const struct cubin *cubin, uint32_t symbol)
{
	uint32_t low = 0, high = cubin->function_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (cubin->functions[middle].symbol < symbol)
			low = middle + 1;
		else
			high = middle;
	}
	return low < cubin->function_count && cubin->functions[low].symbol == symbol
		   ? &cubin->functions[low]
		   : NULL;
}

/* A kernel is known by its name; a function that is none has no section of its name, or one of its own. */
static struct sn_cuda_code find(uint64_t crc, uint32_t symbol, const char *name)
{
	const struct cubin *cubin = place_of(crc);
	struct sn_cuda_code code = {.module = SN_ID_NONE, .kernel = sn_cuda_name(name)};
	if (!cubin || !cubin->functions)
		return code;
	const struct function *function = by_name(cubin, name);
	if (!function)
		function = by_symbol(cubin, symbol);
	if (!function)
		return code;
	return (struct sn_cuda_code){cubin->module, function->start,
				     sn_cuda_name(cubin->text + function->name)};
}

struct sn_cuda_code sn_cuda_cubin_find(uint64_t crc, uint32_t function, const char *name)
{
	uint32_t slot = (uint32_t)((crc ^ crc >> 32) + function) % RECENT;
	if (!recent[slot].is_known || recent[slot].crc != crc ||
	    recent[slot].function != function) {
		recent[slot].code = find(crc, function, name);
		recent[slot].crc = crc;
		recent[slot].function = function;
		recent[slot].is_known = true;
	}
	return recent[slot].code;
}
