/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as an ELF file: opened, its symbols, unwind table, line programs and inlined
 * calls resolved at addresses spread over its code. The last 64 bytes of an input are a symbol to
 * demangle.
 */
#include "fuzz_file.h"

#include "binary/demangle/demangle.h"
#include "binary/elf/elf_file.h"
#include "binary/symbolize.h"

#define ADDRESSES_MAX 96

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demangle_tail(const uint8_t *data, size_t size)
{
	char symbol[65] = "";
	size_t length = size < 64 ? size : 64;
	memcpy(symbol, data + size - length, length);
	symbol[length] = '\0';
	free(sn_demangle_short(symbol));
}

static int by_value(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

static size_t choose_addresses(struct sn_elf_file *file, uint64_t *addresses)
{
	size_t count = 0;
	for (uint32_t i = 0; i < file->section_count && count + 24 <= ADDRESSES_MAX; i++) {
		const Elf64_Shdr *header = &file->sections[i].header;
		for (uint64_t j = 0; j < 24 && (header->sh_flags & SHF_EXECINSTR); j++)
			addresses[count++] = header->sh_addr + header->sh_size / 24 * j;
	}
	if (count == 0)
		addresses[count++] = 0x1000;
	qsort(addresses, count, sizeof(*addresses), by_value);
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t addresses[ADDRESSES_MAX];
	struct sn_symbol_location locations[ADDRESSES_MAX];
	struct sn_symbolizer_options options = {.cache_folder = "", .debug_path = ""};
	struct sn_symbolizer *symbolizer;
	struct sn_elf_file *file = NULL;
	char path[FUZZ_PATH_MAX];
	uint32_t module;
	demangle_tail(data, size);
	if (sn_elf_file_from_memory(data, size, false, &file, NULL) < 0)
		return 0;
	size_t count = choose_addresses(file, addresses);
	sn_elf_file_free(file);
	int fd = fuzz_file(data, size, path);
	if (sn_symbolizer_new(&options, &symbolizer, NULL) < 0)
		abort();
	if (sn_symbolizer_module(symbolizer, path, NULL, 0, 0, &module) < 0 ||
	    sn_symbolizer_lookup(symbolizer, module, addresses, count, locations) < 0)
		abort();
	size_t bytes = 0;
	for (size_t i = 0; i < count; i++)
		for (uint32_t j = 0; j < locations[i].depth; j++) {
			const struct sn_symbol_frame *frame = &locations[i].frames[j];
			bytes += frame->name ? strlen(frame->name) : 0;
			bytes += frame->file ? strlen(frame->file) : 0;
		}
	sn_symbolizer_free(symbolizer);
	close(fd);
	return bytes == SIZE_MAX;
}
