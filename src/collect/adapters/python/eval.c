/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the evaluation loop that a compiler split off the function: `.cold` parts of
 * profiled builds, and the one-function-per-instruction form of 3.14's tail-calling builds. Only
 * the file's own .symtab names them; distributions strip it, and then the function itself has to
 * do: a call made from a cold part is then not recognised as the evaluation loop's.
 */
#include "target.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct image {
	const unsigned char *bytes;
	size_t size;
};

static const void *image_at(const struct image *image, uint64_t offset, uint64_t bytes)
{
	return offset <= image->size && bytes <= image->size - offset ? image->bytes + offset
								      : NULL;
}

static bool is_part(const char *name, size_t space)
{
	static const char *const prefixes[] = {"_PyEval_EvalFrameDefault.", "_TAIL_CALL_"};

	for (unsigned i = 0; i < 2; i++) {
		size_t length = strlen(prefixes[i]);
		if (length < space && memcmp(name, prefixes[i], length) == 0)
			return true;
	}
	return false;
}

/* Functions that follow each other, as those of a tail-calling build do, become one range. */
static void add_range(struct sn_python_target *target, uintptr_t start, uintptr_t end)
{
	for (uint32_t i = 1; i < target->range_count; i++) {
		struct sn_address_range *range = &target->ranges[i];
		if (start <= range->end + 64 && end + 64 >= range->start) {
			range->start = start < range->start ? start : range->start;
			range->end = end > range->end ? end : range->end;
			return;
		}
	}
	if (target->range_count < SN_EVAL_RANGES)
		target->ranges[target->range_count++] = (struct sn_address_range){start, end};
}

static void scan_symbols(struct sn_python_target *target, const struct image *image,
			 const ElfW(Shdr) * table, const ElfW(Shdr) * strings)
{
	const ElfW(Sym) *symbols = image_at(image, table->sh_offset, table->sh_size);
	const char *names = image_at(image, strings->sh_offset, strings->sh_size);

	if (!symbols || !names)
		return;
	for (size_t i = 0; i < table->sh_size / sizeof(*symbols); i++) {
		const ElfW(Sym) *symbol = &symbols[i];
		uintptr_t start = target->module->bias + symbol->st_value;
		if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_size &&
		    symbol->st_name < strings->sh_size &&
		    is_part(names + symbol->st_name, strings->sh_size - symbol->st_name))
			add_range(target, start, start + symbol->st_size);
	}
}

static void scan_image(struct sn_python_target *target, const struct image *image)
{
	const ElfW(Ehdr) *header = image_at(image, 0, sizeof(*header));

	if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_shentsize != sizeof(ElfW(Shdr)))
		return;
	const ElfW(Shdr) *sections =
	    image_at(image, header->e_shoff, (uint64_t)header->e_shnum * sizeof(*sections));
	for (unsigned i = 0; sections && i < header->e_shnum; i++)
		if (sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < header->e_shnum)
			scan_symbols(target, image, &sections[i], &sections[sections[i].sh_link]);
}

void sn_python_eval_parts(struct sn_python_target *target)
{
	int file = open(target->module->path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	if (file < 0)
		return;
	if (fstat(file, &status) == 0 && status.st_size > 0) {
		struct image image = {.size = (size_t)status.st_size};
		void *bytes = mmap(NULL, image.size, PROT_READ, MAP_PRIVATE, file, 0);
		if (bytes != MAP_FAILED) {
			image.bytes = bytes;
			scan_image(target, &image);
			munmap(bytes, image.size);
		}
	}
	close(file);
}
