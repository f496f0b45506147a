/* SPDX-License-Identifier: Apache-2.0 */
/* A mapped and checked ELF file; see elf_file.h. */
#include "elf_file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef SN_HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef SN_HAVE_ZSTD
#include <zstd.h>
#endif

/* More than any linker makes of one program; bounds what a hostile file can ask for. */
#define SECTIONS_MAX	   1000000u
#define UNPACKED_BYTES_MAX (8ull << 30)

static void read_build_id_notes(struct sn_elf_file *file, struct sn_bytes notes, uint64_t align)
{
	struct sn_cursor cursor = sn_cursor_at(notes, 0);
	uint64_t mask = align == 8 ? 7 : 3;
	while (sn_cursor_left(&cursor) >= sizeof(Elf64_Nhdr) && file->build_id_bytes == 0) {
		uint32_t name_bytes = sn_cursor_u32(&cursor);
		uint32_t id_bytes = sn_cursor_u32(&cursor);
		uint32_t type = sn_cursor_u32(&cursor);
		const uint8_t *name = cursor.at;
		sn_cursor_skip(&cursor, ((uint64_t)name_bytes + mask) & ~mask);
		const uint8_t *id = cursor.at;
		if (cursor.failed || id_bytes > sn_cursor_left(&cursor))
			return;
		if (type == NT_GNU_BUILD_ID && name_bytes == 4 && memcmp(name, "GNU", 4) == 0 &&
		    id_bytes > 0 && id_bytes <= SN_BUILD_ID_BYTES_MAX) {
			memcpy(file->build_id, id, id_bytes);
			file->build_id_bytes = id_bytes;
		}
		sn_cursor_skip(&cursor, ((uint64_t)id_bytes + mask) & ~mask);
	}
}

static Elf64_Phdr segment(const struct sn_elf_file *file, uint32_t index)
{
	Elf64_Phdr header;
	memcpy(&header, file->segments + (size_t)index * sizeof(header), sizeof(header));
	return header;
}

/* From the sections first: in a separate debug file the segments' offsets mean nothing. */
static void read_build_id(struct sn_elf_file *file)
{
	for (uint32_t i = 0; i < file->section_count && file->build_id_bytes == 0; i++)
		if (file->sections[i].header.sh_type == SHT_NOTE)
			read_build_id_notes(file, sn_elf_section_contents(file, &file->sections[i]),
					    file->sections[i].header.sh_addralign);
	for (uint32_t i = 0; i < file->segment_count && file->build_id_bytes == 0; i++) {
		Elf64_Phdr header = segment(file, i);
		if (header.p_type == PT_NOTE)
			read_build_id_notes(
			    file, sn_bytes_slice(file->bytes, header.p_offset, header.p_filesz),
			    header.p_align);
	}
}

static int read_sections(struct sn_elf_file *file, const Elf64_Ehdr *elf, struct sn_error *error)
{
	if (elf->e_shoff == 0 || elf->e_shentsize != sizeof(Elf64_Shdr))
		return 0;
	uint64_t count = elf->e_shnum;
	uint64_t names = elf->e_shstrndx;
	Elf64_Shdr first;
	struct sn_bytes zeroth = sn_bytes_slice(file->bytes, elf->e_shoff, sizeof(first));
	file->is_truncated = !zeroth.data;
	if (!zeroth.data)
		return 0;
	memcpy(&first, zeroth.data, sizeof(first));
	if (count == 0) /* more than the header's 16 bits hold */
		count = first.sh_size;
	if (names == SHN_XINDEX)
		names = first.sh_link;
	if (count > SECTIONS_MAX)
		return sn_fail(error, SN_ERR_FORMAT, "too many sections");
	struct sn_bytes table =
	    sn_bytes_slice(file->bytes, elf->e_shoff, count * sizeof(Elf64_Shdr));
	file->is_truncated = !table.data;
	if (!table.data || count == 0)
		return 0;
	file->sections = calloc((size_t)count, sizeof(*file->sections));
	if (!file->sections)
		return sn_fail_memory(error);
	file->section_count = (uint32_t)count;
	for (uint32_t i = 0; i < count; i++) {
		memcpy(&file->sections[i].header, table.data + i * sizeof(Elf64_Shdr),
		       sizeof(Elf64_Shdr));
		file->sections[i].name = "";
	}
	if (names >= count)
		return 0;
	struct sn_bytes strings = sn_elf_section_strings(file, &file->sections[names]);
	for (uint32_t i = 0; i < count; i++) {
		const char *name = sn_bytes_string(strings, file->sections[i].header.sh_name);
		file->sections[i].name = name ? name : "";
	}
	return 0;
}

static int read_headers(struct sn_elf_file *file, struct sn_error *error)
{
	Elf64_Ehdr elf;
	if (file->bytes.size < sizeof(elf) || memcmp(file->bytes.data, ELFMAG, SELFMAG) != 0)
		return sn_fail(error, SN_ERR_FORMAT, "not an ELF file");
	memcpy(&elf, file->bytes.data, sizeof(elf));
	if (elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_ident[EI_DATA] != ELFDATA2LSB)
		return sn_fail(error, SN_ERR_FORMAT, "not a 64-bit little-endian ELF file");
	file->machine = elf.e_machine;
	file->type = elf.e_type;
	struct sn_bytes segments =
	    sn_bytes_slice(file->bytes, elf.e_phoff, (uint64_t)elf.e_phnum * sizeof(Elf64_Phdr));
	if (segments.data && elf.e_phentsize == sizeof(Elf64_Phdr)) {
		file->segments = segments.data;
		file->segment_count = elf.e_phnum;
	}
	int result = read_sections(file, &elf, error);
	if (result == 0)
		read_build_id(file);
	return result;
}

static int adopt(struct sn_bytes bytes, int ownership, struct sn_elf_file **out,
		 struct sn_error *error)
{
	int result = SN_ERR_MEMORY;
	struct sn_elf_file *file = calloc(1, sizeof(*file));
	if (file) {
		file->bytes = bytes;
		file->ownership = ownership;
		result = read_headers(file, error);
		if (result == 0)
			*out = file;
		else
			sn_elf_file_free(file);
		return result;
	}
	if (ownership == SN_ELF_MAPPED)
		munmap((void *)bytes.data, bytes.size);
	else if (ownership == SN_ELF_HEAP)
		free((void *)bytes.data);
	return sn_fail_memory(error);
}

int sn_elf_file_open(const char *path, struct sn_elf_file **file, struct sn_error *error)
{
	struct stat status;
	/* not blocking: a pipe of that name must not hang us */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return sn_fail(error, SN_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) {
		close(fd);
		return sn_fail(error, SN_ERR_FORMAT, "cannot read '%s': %s", path,
			       S_ISDIR(status.st_mode) ? "a folder, not an ELF file"
						       : "not an ELF file");
	}
	size_t size = (size_t)status.st_size;
	void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	int code = errno;
	close(fd);
	if (map == MAP_FAILED)
		return sn_fail(error, SN_ERR_IO, "cannot map '%s': %s", path, strerror(code));
	int result = adopt((struct sn_bytes){map, size}, SN_ELF_MAPPED, file, error);
	return result == 0 ? 0 : sn_fail_prefix(error, result, "cannot read '%s'", path);
}

int sn_elf_file_from_memory(const void *image, size_t bytes, bool is_heap,
			    struct sn_elf_file **file, struct sn_error *error)
{
	return adopt((struct sn_bytes){image, bytes}, is_heap ? SN_ELF_HEAP : SN_ELF_BORROWED, file,
		     error);
}

void sn_elf_file_free(struct sn_elf_file *file)
{
	if (!file)
		return;
	for (uint32_t i = 0; i < file->section_count; i++)
		if (file->sections[i].unpacked)
			munmap(file->sections[i].unpacked, file->sections[i].unpacked_bytes);
	free(file->sections);
	if (file->ownership == SN_ELF_MAPPED)
		munmap((void *)file->bytes.data, file->bytes.size);
	else if (file->ownership == SN_ELF_HEAP)
		free((void *)file->bytes.data);
	free(file);
}

struct sn_elf_section *sn_elf_file_section(struct sn_elf_file *file, const char *name)
{
	bool is_debug = sn_text_begins(name, ".debug_");
	for (uint32_t i = 0; i < file->section_count; i++) {
		const char *own = file->sections[i].name;
		if (strcmp(own, name) == 0 ||
		    (is_debug && own[0] == '.' && own[1] == 'z' && strcmp(own + 2, name + 1) == 0))
			return &file->sections[i];
	}
	return NULL;
}

struct sn_elf_section *sn_elf_file_section_of_type(struct sn_elf_file *file, uint32_t type)
{
	for (uint32_t i = 0; i < file->section_count; i++)
		if (file->sections[i].header.sh_type == type)
			return &file->sections[i];
	return NULL;
}

static bool inflate_zlib(struct sn_bytes in, uint8_t *out, size_t out_bytes)
{
#ifdef SN_HAVE_ZLIB
	z_stream stream = {0};
	if (inflateInit(&stream) != Z_OK)
		return false;
	size_t in_left = in.size, out_left = out_bytes;
	int code = Z_OK;
	stream.next_in = (Bytef *)in.data;
	stream.next_out = out;
	while (code == Z_OK && out_left + stream.avail_out > 0) {
		if (stream.avail_in == 0) {
			stream.avail_in = in_left > 1u << 30 ? 1u << 30 : (uInt)in_left;
			in_left -= stream.avail_in;
		}
		if (stream.avail_out == 0) {
			stream.avail_out = out_left > 1u << 30 ? 1u << 30 : (uInt)out_left;
			out_left -= stream.avail_out;
		}
		code = inflate(&stream, Z_NO_FLUSH);
	}
	bool done = out_left + stream.avail_out == 0;
	inflateEnd(&stream);
	return done;
#else
	return false;
#endif
}

static bool inflate_zstd(struct sn_bytes in, uint8_t *out, size_t out_bytes)
{
#ifdef SN_HAVE_ZSTD
	size_t got = ZSTD_decompress(out, out_bytes, in.data, in.size);
	return !ZSTD_isError(got) && got == out_bytes;
#else
	return false;
#endif
}

/* Memory is mapped, so that a false size costs address space and no more. */
static void unpack(struct sn_elf_section *section, struct sn_bytes in, uint32_t method,
		   uint64_t size)
{
	if (size == 0 || size > UNPACKED_BYTES_MAX)
		return;
	/* deflate cannot do better than 1032:1 */
	if (method == ELFCOMPRESS_ZLIB && size / 1040 > in.size)
		return;
	void *out = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (out == MAP_FAILED)
		return;
	bool done = method == ELFCOMPRESS_ZLIB ? inflate_zlib(in, out, (size_t)size)
					       : inflate_zstd(in, out, (size_t)size);
	if (!done) {
		munmap(out, (size_t)size);
		return;
	}
	section->unpacked = out;
	section->unpacked_bytes = (size_t)size;
	section->contents = (struct sn_bytes){out, (size_t)size};
}

#define ELFCOMPRESS_ZSTD_ 2 /* newer than some elf.h */

static void read_contents(struct sn_elf_file *file, struct sn_elf_section *section)
{
	if (section->header.sh_type == SHT_NOBITS)
		return;
	struct sn_bytes raw =
	    sn_bytes_slice(file->bytes, section->header.sh_offset, section->header.sh_size);
	if (section->header.sh_flags & SHF_COMPRESSED) {
		Elf64_Chdr packed;
		if (raw.size < sizeof(packed))
			return;
		memcpy(&packed, raw.data, sizeof(packed));
		raw = sn_bytes_slice(raw, sizeof(packed), raw.size - sizeof(packed));
		if (packed.ch_type == ELFCOMPRESS_ZLIB || packed.ch_type == ELFCOMPRESS_ZSTD_)
			unpack(section, raw, packed.ch_type, packed.ch_size);
	} else if (sn_text_begins(section->name, ".zdebug")) {
		if (raw.size < 12 || memcmp(raw.data, "ZLIB", 4) != 0)
			return;
		uint64_t size;
		memcpy(&size, raw.data + 4, sizeof(size));
		unpack(section, sn_bytes_slice(raw, 12, raw.size - 12), ELFCOMPRESS_ZLIB,
		       __builtin_bswap64(size));
	} else {
		section->contents = raw;
	}
}

struct sn_bytes sn_elf_section_contents(struct sn_elf_file *file, struct sn_elf_section *section)
{
	if (!section)
		return (struct sn_bytes){NULL, 0};
	if (!section->is_read) {
		section->is_read = true;
		read_contents(file, section);
	}
	return section->contents;
}

struct sn_bytes sn_elf_section_strings(struct sn_elf_file *file, struct sn_elf_section *section)
{
	struct sn_bytes strings = sn_elf_section_contents(file, section);
	const uint8_t *last = strings.size ? memrchr(strings.data, 0, strings.size) : NULL;
	strings.size = last ? (size_t)(last - strings.data) + 1 : 0;
	return strings;
}

bool sn_elf_section_is_plt(const struct sn_elf_section *section)
{
	return sn_text_begins(section->name, ".plt") || strcmp(section->name, ".iplt") == 0;
}

struct sn_bytes sn_elf_file_contents(struct sn_elf_file *file, const char *name)
{
	return sn_elf_section_contents(file, sn_elf_file_section(file, name));
}

struct sn_elf_symbols sn_elf_symbols(struct sn_elf_file *file, struct sn_elf_section *table)
{
	struct sn_elf_symbols symbols = {.symbols = sn_elf_section_contents(file, table)};
	symbols.count = symbols.symbols.size / sizeof(Elf64_Sym);
	if (table && table->header.sh_link < file->section_count)
		symbols.names =
		    sn_elf_section_strings(file, &file->sections[table->header.sh_link]);
	return symbols;
}

struct sn_elf_relocations sn_elf_relocations(struct sn_elf_file *file,
					     struct sn_elf_section *section)
{
	struct sn_elf_relocations relocations = {
	    .cursor = sn_cursor_at(sn_elf_section_contents(file, section), 0)};
	if (!section || section->header.sh_link >= file->section_count)
		return relocations;
	relocations.symbols = sn_elf_symbols(file, &file->sections[section->header.sh_link]);
	relocations.has_addends = section->header.sh_type == SHT_RELA;
	return relocations;
}

bool sn_elf_file_is_code(const struct sn_elf_file *file, uint64_t address)
{
	for (uint32_t i = 0; i < file->segment_count; i++) {
		Elf64_Phdr header = segment(file, i);
		if (header.p_type == PT_LOAD && (header.p_flags & PF_X) &&
		    address >= header.p_vaddr && address - header.p_vaddr < header.p_memsz)
			return true;
	}
	return false;
}
