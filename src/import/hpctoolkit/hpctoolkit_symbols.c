/* SPDX-License-Identifier: Apache-2.0 */
/* See hpctoolkit_symbols.h. */
#include "hpctoolkit_symbols.h"

#include "import/core/cursor.h"
#include "hpctoolkit_vdso.h"

#include "base/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifdef SN_HAVE_LZMA
#include <lzma.h>
#endif

/* Whether a file lies in a folder of that name. */
static bool is_in(const char *path, const char *folder)
{
	const char *slash = strrchr(path, '/');
	size_t length = strlen(folder);
	if (!slash || (size_t)(slash - path) < length)
		return false;
	const char *start = slash - length;
	return memcmp(start, folder, length) == 0 && (start == path || start[-1] == '/');
}

static int compare_symbols(const void *left, const void *right)
{
	const struct sn_hpct_symbol *a = left, *b = right;
	return (a->address > b->address) - (a->address < b->address);
}

/* A line of "nm": data and lines that cannot be read are left out. */
static int add_symbol(struct sn_db_builder *builder, struct sn_hpct_module *module,
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
	if (sn_vec_reserve(&module->symbols, capacity, module->symbol_count + 1) < 0)
		return -1;
	module->symbols[module->symbol_count++] =
	    (struct sn_hpct_symbol){address, UINT64_MAX, sn_db_builder_string(builder, name)};
	return 0;
}

static int parse_symbols(struct sn_db_builder *builder, struct sn_hpct_module *module, char *text)
{
	size_t capacity = 0;
	char *save = NULL;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (add_symbol(builder, module, &capacity, line) < 0)
			return -1;
	if (module->symbol_count)
		qsort(module->symbols, module->symbol_count, sizeof(*module->symbols),
		      compare_symbols);
	return 0;
}

static bool is_compressed(const unsigned char *bytes, size_t length)
{
	return length >= 6 && memcmp(bytes,
				     "\xfd"
				     "7zXZ",
				     6) == 0;
}

/* The text in the file, ended by a NUL; takes the bytes. */
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

static uint32_t take_string(struct sn_db_builder *builder, struct sn_import_cursor *cursor)
{
	uint32_t length = (uint32_t)sn_import_cursor_number(cursor, 4);
	const char *text = (const char *)sn_import_cursor_take(cursor, length);
	return text && length ? sn_db_builder_string_n(builder, text, length) : SONDE_NONE;
}

static int compare_logicals(const void *left, const void *right)
{
	const struct sn_hpct_logical *a = left, *b = right;
	return (a->id > b->id) - (a->id < b->id);
}

/* "/.../logical/python.123" and its like are all of "<logical python>". */
static void name_logical(struct sn_db_builder *builder, struct sn_hpct_module *module)
{
	const char *slash = strrchr(module->path, '/'), *base = slash ? slash + 1 : module->path;
	const char *dot = strrchr(base, '.');
	char name[256];
	snprintf(name, sizeof(name), "<logical %.*s>",
		 dot && dot != base ? (int)(dot - base) : (int)strlen(base), base);
	struct sonde_db_module record = {.path = sn_db_builder_string(builder, name),
					 .build_id = SONDE_NONE};
	module->logical_module = sn_db_builder_module(builder, &record);
}

static int parse_logical(struct sn_db_builder *builder, struct sn_hpct_module *module,
			 const unsigned char *bytes, size_t length)
{
	struct sn_import_cursor cursor = {bytes, length, 10, true, false};
	size_t capacity = 0;
	module->is_logical = true;
	name_logical(builder, module);
	while (cursor.at < length) {
		struct sn_hpct_logical entry = {.id =
						    (uint32_t)sn_import_cursor_number(&cursor, 4)};
		entry.name = take_string(builder, &cursor);
		sn_import_cursor_number(&cursor, 1); /* whether the name is mangled */
		entry.file = take_string(builder, &cursor);
		entry.line = (uint32_t)sn_import_cursor_number(&cursor, 4);
		if (cursor
			.failed) /* written while the program ran: the last one may be cut short */
			break;
		if (sn_vec_reserve(&module->logicals, &capacity, module->logical_count + 1) < 0)
			return -1;
		module->logicals[module->logical_count++] = entry;
	}
	if (module->logical_count)
		qsort(module->logicals, module->logical_count, sizeof(*module->logicals),
		      compare_logicals);
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
		return sn_hpct_vdso_load(builder, module, (size_t)status.st_size, error);
	if (!is_kernel_file && !begins_with_logical(module->file))
		return 0;
	int code = sn_import_cursor_load(module->file, &bytes, &length, error);
	if (code == 0 && is_kernel_file)
		code = expand(&bytes, &length, module->file, error);
	if (code == 0 && (is_kernel_file ? parse_symbols(builder, module, (char *)bytes)
					 : parse_logical(builder, module, bytes, length)) < 0)
		code = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	free(bytes);
	return code;
}

const struct sn_hpct_symbol *sn_hpct_symbols_find(const struct sn_hpct_module *module,
						  uint64_t address)
{
	size_t low = 0, high = module->symbol_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (module->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < module->symbols[low - 1].end ? module->symbols + low - 1 : NULL;
}

const struct sn_hpct_logical *sn_hpct_symbols_logical(const struct sn_hpct_module *module,
						      uint32_t id)
{
	struct sn_hpct_logical key = {.id = id};
	if (id == 0 || module->logical_count == 0)
		return NULL;
	return bsearch(&key, module->logicals, module->logical_count, sizeof(key),
		       compare_logicals);
}
