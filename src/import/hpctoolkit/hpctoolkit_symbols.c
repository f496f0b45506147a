/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of the kernel, the vdso and interpreters from files of a measurement folder. */
#include "hpctoolkit_symbols.h"

#include "base/search.h"
#include "base/sort_by.h"
#include "base/text.h"
#include "base/vec.h"
#include "binary/elf/elf_file.h"
#include "import/core/cursor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifdef SN_HAVE_LZMA
#include <lzma.h>
#endif

/* Whether a file's folder has that name. */
static bool is_in(const char *path, const char *folder)
{
	const char *slash = strrchr(path, '/');
	size_t length = strlen(folder);
	if (!slash || (size_t)(slash - path) < length)
		return false;
	const char *start = slash - length;
	return memcmp(start, folder, length) == 0 && (start == path || start[-1] == '/');
}

SN_SORT_BY(sort_symbols, struct sn_hpct_symbol, const void *, SN_ORDER(a->address, b->address));

static int add_symbol(struct sn_db_builder *builder, struct sn_hpct_module *module,
		      size_t *capacity, uint64_t address, uint64_t end, const char *name)
{
	struct sn_hpct_symbol symbol = {address, end, sn_db_builder_string(builder, name)};
	return sn_vec_push(&module->symbols, capacity, &module->symbol_count, symbol);
}

/* One line as nm prints it; data symbols and damaged lines are left out. */
static int read_symbol(struct sn_db_builder *builder, struct sn_hpct_module *module,
		       size_t *capacity, char *line)
{
	char name[512], *rest;
	uint64_t address = strtoull(line, &rest, 16);
	if (rest == line)
		return 0;
	char *save = NULL, *type = strtok_r(rest, " \t", &save),
	     *symbol = strtok_r(NULL, " \t", &save), *owner = strtok_r(NULL, " \t", &save);
	if (!type || !symbol || type[1] || (type[0] != 't' && type[0] != 'T'))
		return 0;
	snprintf(name, sizeof(name), "%s%s%s [vmlinux]", symbol, owner ? " " : "",
		 owner ? owner : "");
	return add_symbol(builder, module, capacity, address, UINT64_MAX, name);
}

static int read_kernel(struct sn_db_builder *builder, struct sn_hpct_module *module, char *text)
{
	size_t capacity = 0;
	char *save = NULL;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (read_symbol(builder, module, &capacity, line) < 0)
			return -1;
	sort_symbols(module->symbols, module->symbol_count, NULL);
	return 0;
}

/* Of several names of one function a global one wins over a weak one: "time" is a weak alias of
 * "__vdso_time". */
static int add_vdso_symbol(struct sn_db_builder *builder, struct sn_hpct_module *module,
			   size_t *capacity, const Elf64_Sym *symbol, const char *name)
{
	uint64_t address = symbol->st_value, end = address + symbol->st_size;
	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF ||
	    end <= address)
		return 0;
	for (size_t i = 0; i < module->symbol_count; i++) {
		struct sn_hpct_symbol *other = module->symbols + i;
		if (other->address != address)
			continue;
		if (ELF64_ST_BIND(symbol->st_info) != STB_WEAK)
			*other = (struct sn_hpct_symbol){address, end,
							 sn_db_builder_string(builder, name)};
		return 0;
	}
	return add_symbol(builder, module, capacity, address, end, name);
}

/* A vdso that is damaged, or larger than any is, gives no symbols. */
static int read_vdso(struct sn_db_builder *builder, struct sn_hpct_module *module, uint64_t bytes)
{
	enum { MOST_BYTES = 1 << 20 };
	struct sn_elf_file *file;
	if (bytes > MOST_BYTES || sn_elf_file_open(module->file, &file, NULL) != 0)
		return 0;
	struct sn_elf_section *table = sn_elf_file_section_of_type(file, SHT_SYMTAB);
	struct sn_elf_symbols symbols =
	    sn_elf_symbols(file, table ? table : sn_elf_file_section_of_type(file, SHT_DYNSYM));
	size_t capacity = 0;
	Elf64_Sym symbol;
	int code = 0;
	for (uint64_t i = 0; code == 0 && sn_elf_symbol_at(&symbols, i, &symbol); i++) {
		const char *name = sn_elf_symbol_name(&symbols, &symbol);
		if (name)
			code = add_vdso_symbol(builder, module, &capacity, &symbol, name);
	}
	sort_symbols(module->symbols, module->symbol_count, NULL);
	sn_elf_file_free(file);
	return code;
}

static bool is_compressed(const unsigned char *bytes, size_t length)
{
	static const char magic[] = "\xfd"
				    "7zXZ";
	return length >= sizeof(magic) && memcmp(bytes, magic, sizeof(magic)) == 0;
}

/* Replaces the compressed bytes by the text, ended by a NUL. */
static int expand(unsigned char **bytes, size_t *length, const char *path, struct sn_error *error)
{
	if (!is_compressed(*bytes, *length))
		return 0;
#ifdef SN_HAVE_LZMA
	enum { MOST = 1 << 30 };
	unsigned char *text = NULL;
	size_t capacity = 0, used = 0, at = 0;
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret result = lzma_auto_decoder(&stream, UINT64_C(256) << 20, 0);
	stream.next_in = *bytes;
	stream.avail_in = *length;
	while (result == LZMA_OK && used < MOST) {
		if (sn_vec_reserve(&text, &capacity, used + 65536 + 1) < 0)
			break;
		stream.next_out = text + used;
		stream.avail_out = capacity - used - 1;
		at = stream.avail_out;
		result = lzma_code(&stream, LZMA_FINISH);
		used += at - stream.avail_out;
	}
	lzma_end(&stream);
	if (result != LZMA_STREAM_END) {
		free(text);
		return sn_fail(error, SN_ERR_FORMAT, "cannot read '%s': damaged compression", path);
	}
	text[used] = 0;
	free(*bytes);
	*bytes = text;
	*length = used;
	return 0;
#else
	return sn_fail(error, SN_ERR_UNSUPPORTED,
		       "cannot read '%s': this build has no liblzma, which kernel symbols need",
		       path);
#endif
}

static uint32_t read_string(struct sn_db_builder *builder, struct sn_import_cursor *cursor)
{
	uint32_t length = (uint32_t)sn_import_cursor_number(cursor, 4);
	const char *text = (const char *)sn_import_cursor_next(cursor, length);
	return text && length ? sn_db_builder_string_n(builder, text, length) : SONDE_NONE;
}

SN_SORT_BY(sort_logicals, struct sn_hpct_logical, const void *, SN_ORDER(a->id, b->id));

/* All modules "/.../logical/python.123" are shown as "<logical python>". */
static void name_logical(struct sn_db_builder *builder, struct sn_hpct_module *module)
{
	const char *base = sn_text_base_name(module->path);
	const char *dot = strrchr(base, '.');
	char name[256];
	snprintf(name, sizeof(name), "<logical %.*s>",
		 dot && dot != base ? (int)(dot - base) : (int)strlen(base), base);
	struct sonde_db_module record = {.path = sn_db_builder_string(builder, name),
					 .build_id = SONDE_NONE};
	module->logical_module = sn_db_builder_module(builder, &record);
}

static int read_logical(struct sn_db_builder *builder, struct sn_hpct_module *module,
			const unsigned char *bytes, size_t length)
{
	struct sn_import_cursor cursor = {bytes, length, 10, true, false};
	size_t capacity = 0;
	module->is_logical = true;
	name_logical(builder, module);
	while (cursor.at < length) {
		struct sn_hpct_logical entry = {.id =
						    (uint32_t)sn_import_cursor_number(&cursor, 4)};
		entry.name = read_string(builder, &cursor);
		sn_import_cursor_number(&cursor, 1); /* whether the name is mangled */
		entry.file = read_string(builder, &cursor);
		entry.line = (uint32_t)sn_import_cursor_number(&cursor, 4);
		/* the program may have ended while it wrote: the last entry may be incomplete */
		if (cursor.failed)
			break;
		if (sn_vec_push(&module->logicals, &capacity, &module->logical_count, entry) < 0)
			return -1;
	}
	sort_logicals(module->logicals, module->logical_count, NULL);
	return 0;
}

static bool begins_with_logical(const char *path)
{
	char head[10];
	FILE *file = fopen(path, "rbe");
	bool is_logical = file && fread(head, 1, sizeof(head), file) == sizeof(head) &&
			  memcmp(head, "HPCLOGICAL", sizeof(head)) == 0;
	if (file)
		fclose(file);
	return is_logical;
}

int sn_hpct_symbols_load(struct sn_db_builder *builder, struct sn_hpct_module *module,
			 struct sn_error *error)
{
	struct stat status;
	unsigned char *bytes;
	size_t length;
	bool is_kernel_file = is_in(module->file, "kernel_symbols");
	if (module->file[0] != '/' || stat(module->file, &status) < 0 || !S_ISREG(status.st_mode))
		return 0;
	if (is_in(module->file, "vdso"))
		return read_vdso(builder, module, (uint64_t)status.st_size) < 0
			   ? sn_fail_memory(error)
			   : 0;
	if (!is_kernel_file && !begins_with_logical(module->file))
		return 0;
	int code = sn_import_cursor_load(module->file, &bytes, &length, error);
	if (code == 0 && is_kernel_file)
		code = expand(&bytes, &length, module->file, error);
	if (code == 0 && (is_kernel_file ? read_kernel(builder, module, (char *)bytes)
					 : read_logical(builder, module, bytes, length)) < 0)
		code = sn_fail_memory(error);
	free(bytes);
	return code;
}

const struct sn_hpct_symbol *sn_hpct_symbols_find(const struct sn_hpct_module *module,
						  uint64_t address)
{
	const struct sn_hpct_symbol *symbols = module->symbols;
	size_t after = sn_search(i, module->symbol_count, symbols[i].address <= address);
	return after && address < symbols[after - 1].end ? symbols + after - 1 : NULL;
}

const struct sn_hpct_logical *sn_hpct_symbols_logical(const struct sn_hpct_module *module,
						      uint32_t id)
{
	const struct sn_hpct_logical *entries = module->logicals;
	size_t at = sn_search(i, module->logical_count, entries[i].id < id);
	return id != 0 && at < module->logical_count && entries[at].id == id ? entries + at : NULL;
}
