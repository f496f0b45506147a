/* SPDX-License-Identifier: Apache-2.0 */
/* Lays ELF files out in memory as the loader does, for reading unwind tables. */
#include "recorded_image.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_BYTES	4096ull
#define IMAGE_BYTES_MAX (1ull << 36) /* of addresses; only pages that are read take memory */
#define OUTSIDE_MAX	(1ull << 32) /* of an image's addresses, those that its file has not */
#define SEGMENTS_MAX	64

static uint64_t page_of(uint64_t address)
{
	return address & ~(PAGE_BYTES - 1);
}

/* The program headers of a file whose first page is `head`. Returns their number, 0 if it is not an
 * x86-64 ELF file. */
static unsigned read_headers(const unsigned char *head, size_t bytes, Elf64_Phdr *headers)
{
	Elf64_Ehdr elf;
	if (bytes < sizeof(elf))
		return 0;
	memcpy(&elf, head, sizeof(elf));
	if (memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf.e_machine != EM_X86_64 || elf.e_phentsize != sizeof(Elf64_Phdr) ||
	    elf.e_phnum > SEGMENTS_MAX || elf.e_phoff > bytes ||
	    elf.e_phnum * sizeof(Elf64_Phdr) > bytes - elf.e_phoff)
		return 0;
	memcpy(headers, head + elf.e_phoff, elf.e_phnum * sizeof(Elf64_Phdr));
	return elf.e_phnum;
}

/* Notes the segments in the module; false if one of them cannot be in such a file. */
static bool note_segments(struct sn_recorded_image *image, const Elf64_Phdr *headers,
			  unsigned count, uint64_t file_bytes)
{
	struct sn_module *module = &image->module;
	image->bytes = 0;
	for (unsigned i = 0; i < count; i++) {
		const Elf64_Phdr *header = headers + i;
		uint64_t end = header->p_vaddr + header->p_filesz;
		if (header->p_type == PT_GNU_EH_FRAME)
			module->eh_frame_hdr = (const unsigned char *)header->p_vaddr;
		if (header->p_type != PT_LOAD || !header->p_filesz ||
		    module->readable_count == SN_MODULE_RANGES)
			continue;
		if (header->p_filesz > file_bytes || header->p_vaddr > IMAGE_BYTES_MAX ||
		    header->p_filesz > IMAGE_BYTES_MAX - header->p_vaddr ||
		    header->p_offset > file_bytes - header->p_filesz ||
		    (header->p_offset ^ header->p_vaddr) % PAGE_BYTES)
			return false;
		image->offsets[module->readable_count] = header->p_offset;
		module->readable[module->readable_count++] =
		    (struct sn_module_range){header->p_vaddr, end};
		if (end > image->bytes)
			image->bytes = end;
	}
	return module->readable_count && module->eh_frame_hdr;
}

/* Changes a module's addresses from the file's to those of the image. */
static void move(struct sn_module *module, uintptr_t bias)
{
	module->bias = bias;
	module->eh_frame_hdr += bias;
	for (uint32_t i = 0; i < module->readable_count; i++) {
		module->readable[i].start += bias;
		module->readable[i].end += bias;
	}
	module->is_permanent = true;
}

static bool map(struct sn_recorded_image *image, int file, const Elf64_Phdr *headers,
		unsigned count)
{
	image->memory =
	    mmap(NULL, image->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (image->memory == MAP_FAILED) {
		image->memory = NULL;
		return false;
	}
	for (unsigned i = 0, mapped = 0; i < count && mapped < image->module.readable_count; i++) {
		const Elf64_Phdr *header = headers + i;
		if (header->p_type != PT_LOAD || !header->p_filesz)
			continue;
		uint64_t start = page_of(header->p_vaddr);
		mapped++;
		if (mmap((char *)image->memory + start, header->p_vaddr + header->p_filesz - start,
			 PROT_READ, MAP_PRIVATE | MAP_FIXED, file,
			 (off_t)page_of(header->p_offset)) == MAP_FAILED)
			return false;
	}
	return true;
}

/* The program headers of an open file, and its size. Their number; 0 if it is not an x86-64 ELF file. */
static unsigned read_file_headers(int file, Elf64_Phdr headers[SEGMENTS_MAX], uint64_t *bytes)
{
	unsigned char head[PAGE_BYTES];
	struct stat status;
	ssize_t got = fstat(file, &status) == 0 && S_ISREG(status.st_mode)
			  ? pread(file, head, sizeof(head), 0)
			  : -1;
	*bytes = got > 0 ? (uint64_t)status.st_size : 0;
	return got > 0 ? read_headers(head, (size_t)got, headers) : 0;
}

static bool open_file(struct sn_recorded_image *image, int file)
{
	Elf64_Phdr headers[SEGMENTS_MAX];
	uint64_t bytes;
	unsigned count = read_file_headers(file, headers, &bytes);
	if (!count || !note_segments(image, headers, count, bytes) ||
	    image->bytes > bytes + OUTSIDE_MAX || !map(image, file, headers, count))
		return false;
	move(&image->module, (uintptr_t)image->memory);
	return true;
}

static bool open_path(struct sn_recorded_image *image, const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is_open = file >= 0 && open_file(image, file);
	if (file >= 0)
		close(file);
	return is_open;
}

/* This process's own; its headers, of which there are *count. NULL: it has none. */
static const unsigned char *find_vdso(Elf64_Phdr headers[SEGMENTS_MAX], unsigned *count)
{
	const unsigned char *vdso = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
	*count = vdso ? read_headers(vdso, PAGE_BYTES, headers) : 0;
	return *count ? vdso : NULL;
}

bool sn_recorded_image_open_vdso(struct sn_recorded_image *image)
{
	Elf64_Phdr headers[SEGMENTS_MAX];
	unsigned count;
	const unsigned char *vdso = find_vdso(headers, &count);
	memset(image, 0, sizeof(*image));
	if (!vdso || !note_segments(image, headers, count, UINT32_MAX))
		return false;
	move(&image->module, (uintptr_t)vdso);
	return true;
}

/* Whether this process's own vdso is of that build. */
static bool has_vdso(const uint8_t *id, uint32_t length)
{
	Elf64_Phdr headers[SEGMENTS_MAX];
	unsigned count;
	const unsigned char *vdso = find_vdso(headers, &count);
	bool is_same = false;
	for (unsigned i = 0; i < count; i++)
		if (headers[i].p_type == PT_NOTE && length)
			is_same |= memmem(vdso + headers[i].p_vaddr, headers[i].p_memsz, id,
					  length) != NULL;
	return is_same;
}

bool sn_recorded_image_open(struct sn_recorded_image *image, const char *path, const uint8_t *id,
			    uint32_t length)
{
	memset(image, 0, sizeof(*image));
	bool is_open = strcmp(path, "[vdso]") == 0
			   ? has_vdso(id, length) && sn_recorded_image_open_vdso(image)
			   : open_path(image, path);
	if (!is_open)
		sn_recorded_image_close(image);
	return is_open;
}

bool sn_recorded_image_open_file(struct sn_recorded_image *image, int file)
{
	memset(image, 0, sizeof(*image));
	bool is_open = open_file(image, file);
	image->module.is_permanent = false;
	if (!is_open)
		sn_recorded_image_close(image);
	return is_open;
}

uintptr_t sn_recorded_image_at(const struct sn_recorded_image *image, uint64_t offset)
{
	for (uint32_t i = 0; i < image->module.readable_count; i++) {
		const struct sn_module_range *range = image->module.readable + i;
		if (offset - image->offsets[i] < range->end - range->start)
			return range->start + (offset - image->offsets[i]);
	}
	return 0;
}

/* In the notes of a segment. */
static uint32_t find_build_id(const unsigned char *notes, size_t bytes,
			      unsigned char id[SN_RECORDED_ID_MOST])
{
	Elf64_Nhdr note;
	for (size_t at = 0; at + sizeof(note) + 4 <= bytes;) {
		memcpy(&note, notes + at, sizeof(note));
		size_t name = at + sizeof(note), content = name + ((note.n_namesz + 3ull) & ~3ull);
		if (note.n_namesz > bytes || note.n_descsz > bytes || content > bytes ||
		    note.n_descsz > bytes - content)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(notes + name, "GNU", 4) && note.n_descsz <= SN_RECORDED_ID_MOST) {
			memcpy(id, notes + content, note.n_descsz);
			return note.n_descsz;
		}
		at = content + ((note.n_descsz + 3ull) & ~3ull);
	}
	return 0;
}

uint32_t sn_recorded_build_id(int file, unsigned char id[SN_RECORDED_ID_MOST])
{
	Elf64_Phdr headers[SEGMENTS_MAX];
	unsigned char notes[PAGE_BYTES];
	uint64_t bytes;
	uint32_t length = 0;
	unsigned count = read_file_headers(file, headers, &bytes);
	for (unsigned i = 0; i < count && !length; i++) {
		size_t most =
		    headers[i].p_filesz < sizeof(notes) ? headers[i].p_filesz : sizeof(notes);
		ssize_t got = headers[i].p_type == PT_NOTE
				  ? pread(file, notes, most, (off_t)headers[i].p_offset)
				  : 0;
		length = got > 0 ? find_build_id(notes, (size_t)got, id) : 0;
	}
	return length;
}

void sn_recorded_image_close(struct sn_recorded_image *image)
{
	if (image->memory)
		munmap(image->memory, image->bytes);
	memset(image, 0, sizeof(*image));
}
