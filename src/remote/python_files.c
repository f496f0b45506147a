/* SPDX-License-Identifier: Apache-2.0 */
/* See python_files.h. */
#include "python_files.h"

#include "binary/elf/elf_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	SYMBOLS_MOST = 1 << 20,
	FILES_MOST = 64,       /* that are known; then all are read anew */
	BYTES_MOST = 64 << 20, /* of a file */
	SEGMENTS_MOST = 8,
};

static const char *const symbol_names[SN_PYTHON_SYMBOLS] = {
    [SN_PYTHON_RUNTIME] = "_PyRuntime",
    [SN_PYTHON_VERSION] = "Py_Version",
    [SN_PYTHON_CODE_TYPE] = "PyCode_Type",
    [SN_PYTHON_TEXT_TYPE] = "PyUnicode_Type",
    [SN_PYTHON_BYTES_TYPE] = "PyBytes_Type",
    [SN_PYTHON_EVAL] = "_PyEval_EvalFrameDefault",
    [SN_PYTHON_ADDED_3_10] = "PyModule_AddObjectRef",
    [SN_PYTHON_ADDED_3_9] = "PyObject_CallNoArgs",
};

/* Of its segments, those of code. */
struct segment {
	uint64_t offset, bytes, address;
};

struct sn_python_file {
	struct sn_python_symbols symbols; /* addresses of the file */
	struct segment segments[SEGMENTS_MOST];
	uint32_t segment_count;
};

void sn_python_files_release(struct sn_python_files *files)
{
	sn_intern_release(&files->keys);
	free(files->files);
	*files = (struct sn_python_files){0};
}

/* ---- reading ---- */

static unsigned char *read_all(int file, size_t bytes)
{
	unsigned char *copy = bytes <= BYTES_MOST ? malloc(bytes + 1) : NULL;
	size_t done = 0;
	for (ssize_t got = 1; copy && got > 0 && done<bytes; done += got> 0 ? (size_t)got : 0)
		got = pread(file, copy + done, bytes - done, (off_t)done);
	if (copy && done == bytes)
		return copy;
	free(copy);
	return NULL;
}

static void note_symbol(struct sn_python_symbols *symbols, const char *name,
			const Elf64_Sym *symbol)
{
	for (int number = 0; number < SN_PYTHON_SYMBOLS; number++)
		if (!strcmp(name, symbol_names[number])) {
			symbols->at[number] = symbol->st_value;
			symbols->bytes[number] = symbol->st_size;
		}
}

static void read_symbols(struct sn_python_symbols *symbols, struct sn_elf_file *file)
{
	struct sn_elf_symbols table =
	    sn_elf_symbols(file, sn_elf_file_section_of_type(file, SHT_DYNSYM));
	Elf64_Sym symbol;
	for (uint64_t index = 0; index < SYMBOLS_MOST && sn_elf_symbol_at(&table, index, &symbol);
	     index++) {
		const char *name = sn_elf_symbol_name(&table, &symbol);
		if (name && symbol.st_shndx != SHN_UNDEF && symbol.st_value)
			note_symbol(symbols, name, &symbol);
	}
}

static void read_segments(struct sn_python_file *known, const struct sn_elf_file *file)
{
	for (uint32_t number = 0;
	     number < file->segment_count && known->segment_count < SEGMENTS_MOST; number++) {
		Elf64_Phdr header;
		memcpy(&header, file->segments + number * sizeof(header), sizeof(header));
		if (header.p_type == PT_LOAD && header.p_flags & PF_X)
			known->segments[known->segment_count++] =
			    (struct segment){header.p_offset, header.p_filesz, header.p_vaddr};
	}
}

static void read_file(struct sn_python_file *known, int file, size_t bytes)
{
	struct sn_elf_file *elf = NULL;
	unsigned char *copy = read_all(file, bytes);
	if (!copy || sn_elf_file_from_memory(copy, bytes, true, &elf, NULL))
		return;
	read_symbols(&known->symbols, elf);
	read_segments(known, elf);
	sn_elf_file_free(elf);
}

/* The file of a mapping; NULL if it is not to be had. */
static const struct sn_python_file *file_of(struct sn_python_files *files, int file)
{
	struct stat status;
	if (fstat(file, &status) < 0 || !S_ISREG(status.st_mode))
		return NULL;
	const uint64_t key[] = {status.st_dev, status.st_ino, (uint64_t)status.st_size,
				(uint64_t)status.st_mtim.tv_sec, (uint64_t)status.st_mtim.tv_nsec};
	if (files->keys.count == FILES_MOST)
		sn_python_files_release(files);
	uint32_t before = files->keys.count;
	uint32_t number = sn_intern_item(&files->keys, key, sizeof(key), &files->files,
					 &files->capacity, {.segment_count = 0});
	if (number == SN_INTERN_NONE)
		return NULL;
	if (number == before)
		read_file(&files->files[number], file, (size_t)status.st_size);
	return &files->files[number];
}

/* What to add to the file's addresses, by where its byte `offset` is mapped; false where no code is there. */
static bool find_bias(const struct sn_python_file *file, const struct sn_mapping *mapping,
		      uintptr_t *bias)
{
	for (uint32_t number = 0; number < file->segment_count; number++) {
		const struct segment *segment = &file->segments[number];
		if (mapping->offset < (segment->offset & ~(uint64_t)(PAGE - 1)) ||
		    mapping->offset >= segment->offset + segment->bytes)
			continue;
		*bias = mapping->start - (segment->address + mapping->offset - segment->offset);
		return true;
	}
	return false;
}

bool sn_python_files_find(struct sn_python_files *files, pid_t pid,
			  const struct sn_mapping *mapping, struct sn_python_symbols *symbols)
{
	uintptr_t bias;
	int file = sn_mapping_open(pid, mapping);
	const struct sn_python_file *known = file >= 0 ? file_of(files, file) : NULL;
	if (file >= 0)
		close(file);
	if (!known || !known->symbols.at[SN_PYTHON_EVAL] || !find_bias(known, mapping, &bias))
		return false;
	*symbols = known->symbols;
	for (int number = 0; number < SN_PYTHON_SYMBOLS; number++)
		if (symbols->at[number])
			symbols->at[number] += bias;
	return true;
}
