/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses to functions, inlined calls and lines. The fixtures (tests/workloads/binary/symbols)
 * are loaded and called; the addresses they call back from are resolved and compared with marks in
 * their sources. tests/cli/binary/test_symbols.py compares whole functions with addr2line.
 */
#include "binary/elf/elf_file.h"
#include "binary/symbolize.h"
#include "format/measurement/measurement.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- help ---- */

/* The number of the line that holds a mark; 0 without one. */
static uint32_t marked_line(const char *source, const char *kind, const char *name)
{
	char path[PATH_MAX], mark[256], line[512];
	uint32_t number = 0;
	snprintf(path, sizeof(path), SOURCES "/%s", source);
	snprintf(mark, sizeof(mark), "%s %s", kind, name);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		char *at = strstr(line, mark);
		number++;
		if (at && strchr(" \n", at[strlen(mark)])) {
			fclose(file);
			return number;
		}
	}
	fclose(file);
	fail_msg("no mark '%s' in %s", mark, source);
	return 0;
}

static struct sn_symbolizer *new_symbolizer(const char *cache, const char *debug_path)
{
	struct sn_symbolizer *symbolizer;
	/* loops have tests of their own */
	struct sn_symbolizer_options options = {
	    .cache_folder = cache, .debug_path = debug_path, .no_loops = true};
	assert_int_equal(sn_symbolizer_new(&options, &symbolizer, NULL), 0);
	return symbolizer;
}

static struct sn_symbol_location look_up(struct sn_symbolizer *symbolizer, const char *path,
					 uint64_t address, struct sn_symbol_module_info *info)
{
	struct sn_symbol_location location = {0};
	struct sn_symbol_module_info ignored;
	uint32_t module;
	assert_int_equal(sn_symbolizer_module(symbolizer, path, NULL, 0, 0, &module), 0);
	assert_int_equal(sn_symbolizer_lookup(symbolizer, module, &address, 1, &location), 0);
	assert_true(location.depth >= 1);
	sn_symbolizer_module_info(symbolizer, module, info ? info : &ignored);
	return location;
}

static uint64_t called_from;

static int note_caller(int x)
{
	called_from = (uint64_t)(uintptr_t)__builtin_return_address(0) - 1;
	return x;
}

/* Runs a function of a fixture; the ELF virtual address it called back from. */
static uint64_t call_address(const char *path, const char *function)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	Dl_info info;
	if (!library)
		fail_msg("%s", dlerror());
	int (*call)(int (*)(int), int) = (int (*)(int (*)(int), int))dlsym(library, function);
	assert_non_null(call);
	call(note_caller, 5);
	assert_true(dladdr((void *)call, &info) != 0);
	uint64_t address = called_from - (uint64_t)(uintptr_t)info.dli_fbase;
	dlclose(library);
	return address;
}

struct expected {
	const char *name;
	const char *mark; /* name in the source's marks */
};

static void check_chain(const char *path, const char *source, const char *function,
			const struct expected *chain, uint32_t depth)
{
	struct sn_symbolizer *symbolizer = new_symbolizer("", "/nonexistent");
	struct sn_symbol_location location =
	    look_up(symbolizer, path, call_address(path, function), NULL);
	if (location.depth != depth)
		fail_msg("%s: %u levels, not %u", path, location.depth, depth);
	for (uint32_t i = 0; i < depth; i++) {
		const struct sn_symbol_frame *frame = &location.frames[i];
		if (!frame->name || !frame->file)
			fail_msg("%s: %s in %s", path, frame->name, frame->file);
		assert_string_equal(frame->name, chain[i].name);
		assert_int_equal(frame->line, marked_line(source, "mark", chain[i].mark));
		assert_int_equal(frame->function_line,
				 marked_line(source, "declares", chain[i].mark));
		assert_int_equal(frame->kind, i > 0 ? SN_SYMBOL_INLINED : SN_SYMBOL_FUNCTION);
		assert_string_equal(strrchr(frame->file, '/') + 1, source);
	}
	sn_symbolizer_free(symbolizer);
}

/* ---- names and lines ---- */

static const char *const fixtures[] = {"dwarf5",  "dwarf4", "dwarf2", "packed",	      "types",
				       "dwarf64", "clang5", "clang4", "clang_packed", "zstd"};

static void inlined_calls_of_every_form_of_debug_information(void **state)
{
	static const struct expected c[] = {
	    {"sn_fixture_outer", "sn_fixture_outer"}, {"middle", "middle"}, {"inner", "inner"}};
	static const struct expected cplus[] = {
	    {"shapes::visit_all", "shapes::visit_all"},
	    {"shapes::Box<int>::visit", "shapes::Box<int>::visit"}};
	static const struct expected hidden[] = {{"hidden", "hidden"}};
	unsigned tested = 0;
	for (size_t i = 0; i < sizeof(fixtures) / sizeof(fixtures[0]); i++) {
		char path[PATH_MAX];
		snprintf(path, sizeof(path), FIXTURES "/libsymbols_%s.so", fixtures[i]);
		if (access(path, R_OK) < 0) /* no clang here */
			continue;
		check_chain(path, "chain.c", "sn_fixture_outer", c, 3);
		check_chain(path, "shapes.cc", "sn_fixture_shapes", cplus, 2);
		check_chain(path, "chain.c", "sn_fixture_hidden", hidden, 1);
		tested++;
	}
	assert_true(tested >= 6);
}

static void rust_names(void **state)
{
	for (int i = 0; i < 2; i++) {
		const char *path =
		    i ? FIXTURES "/libsymbols_rust_v0.so" : FIXTURES "/libsymbols_rust_legacy.so";
		if (access(path, R_OK) < 0) /* no rustc here */
			continue;
		struct sn_symbolizer *symbolizer = new_symbolizer("", "");
		struct sn_symbol_location location =
		    look_up(symbolizer, path, call_address(path, "sn_fixture_rust"), NULL);
		const struct sn_symbol_frame *last = &location.frames[location.depth - 1];
		assert_string_equal(last->name, "<fixture::Counter as fixture::Visit>::visit");
		assert_int_equal(last->line, marked_line("crate.rs", "mark", "visit"));
		assert_non_null(last->linkage_name);
		sn_symbolizer_free(symbolizer);
	}
}

static void plt_entries_carry_their_targets_name(void **state)
{
	const char *path = FIXTURES "/libsymbols_plain.so";
	struct sn_elf_file *file;
	bool is_found = false;
	assert_int_equal(sn_elf_file_open(path, &file, NULL), 0);
	struct sn_symbolizer *symbolizer = new_symbolizer("", "");
	for (uint32_t i = 0; i < file->section_count; i++) {
		const struct sn_elf_section *section = &file->sections[i];
		if (strncmp(section->name, ".plt", 4) != 0)
			continue;
		for (uint64_t at = 0; at < section->header.sh_size; at += 8) {
			const char *name =
			    look_up(symbolizer, path, section->header.sh_addr + at, NULL)
				.frames[0]
				.name;
			is_found |= name && strcmp(name, "strtol@plt") == 0;
		}
	}
	assert_true(is_found);
	sn_symbolizer_free(symbolizer);
	sn_elf_file_free(file);
}

static void the_kernels_shared_object(void **state)
{
	void *vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
	void *function = vdso ? dlsym(vdso, "__vdso_clock_gettime") : NULL;
	Dl_info info;
	struct sn_symbol_location location;
	uint32_t module;
	if (!function || !dladdr(function, &info))
		skip();
	struct sn_symbolizer *symbolizer = new_symbolizer("", "");
	uint64_t address = (uint64_t)((uintptr_t)function - (uintptr_t)info.dli_fbase) + 1;
	sn_symbolizer_module(symbolizer, "[vdso]", NULL, 0, SN_MODULE_VDSO, &module);
	assert_int_equal(sn_symbolizer_lookup(symbolizer, module, &address, 1, &location), 0);
	assert_string_equal(location.frames[0].name, "clock_gettime");
	sn_symbolizer_free(symbolizer);
	dlclose(vdso);
}

/* ---- which file ---- */

static void a_stripped_file_with_its_debug_file(void **state)
{
	struct sn_symbol_module_info info;
	struct sn_symbolizer *symbolizer = new_symbolizer("", "/nonexistent");
	uint64_t address = call_address(FIXTURES "/libsymbols_plain.so", "sn_fixture_outer");
	struct sn_symbol_location location =
	    look_up(symbolizer, FIXTURES "/libsymbols_stripped.so", address, &info);
	assert_int_equal(info.status, SN_SYMBOL_LINES);
	assert_string_equal(info.debug_file, FIXTURES "/libsymbols_stripped.debug");
	assert_int_equal(location.depth, 3);
	assert_string_equal(location.frames[2].name, "inner");
	assert_int_equal(location.frames[2].line, marked_line("chain.c", "mark", "inner"));
	sn_symbolizer_free(symbolizer);
}

static void copy_file(const char *from, const char *to, long bytes)
{
	FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
	assert_non_null(in);
	assert_non_null(out);
	for (int c; bytes-- != 0 && (c = getc(in)) != EOF;)
		putc(c, out);
	fclose(in);
	fclose(out);
}

static char folder[PATH_MAX];

static int make_folder(void **state)
{
	snprintf(folder, sizeof(folder), "%s/sonde-symbols-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[PATH_MAX + 16];
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

static const char *in_folder(const char *name)
{
	static char paths[4][PATH_MAX + 64];
	static unsigned next;
	char *path = paths[next++ % 4];
	snprintf(path, PATH_MAX + 64, "%s/%s", folder, name);
	return path;
}

static void a_debug_file_with_another_checksum_is_not_used(void **state)
{
	struct sn_symbol_module_info info;
	struct sn_symbolizer *symbolizer = new_symbolizer("", "/nonexistent");
	copy_file(FIXTURES "/libsymbols_stripped.so", in_folder("libsymbols_stripped.so"), -1);
	copy_file(FIXTURES "/libsymbols_stripped.debug", in_folder("libsymbols_stripped.debug"),
		  -1);
	FILE *file = fopen(in_folder("libsymbols_stripped.debug"), "ab");
	fputc(0, file);
	fclose(file);
	look_up(symbolizer, in_folder("libsymbols_stripped.so"), 0x1100, &info);
	assert_int_equal(info.status, SN_SYMBOL_SYMBOLS);
	assert_null(info.debug_file);
	sn_symbolizer_free(symbolizer);
}

/* No name, but one function start for all its addresses. */
static void a_bare_file_groups_by_function(void **state)
{
	const char *plain = FIXTURES "/libsymbols_plain.so", *bare = FIXTURES "/libsymbols_bare.so";
	struct sn_symbol_module_info info;
	struct sn_symbolizer *symbolizer = new_symbolizer("", "");
	uint64_t address = call_address(plain, "sn_fixture_hidden");
	struct sn_symbol_location known = look_up(symbolizer, plain, address, NULL);
	assert_string_equal(known.frames[0].name, "hidden");
	struct sn_symbol_location location = look_up(symbolizer, bare, address, &info);
	assert_int_equal(info.status, SN_SYMBOL_SYMBOLS);
	assert_null(location.frames[0].name);
	assert_int_equal(location.function_start, known.function_start);
	assert_int_equal(look_up(symbolizer, bare, address - 3, NULL).function_start,
			 known.function_start);
	address = call_address(plain, "sn_fixture_outer");
	assert_string_equal(look_up(symbolizer, bare, address, NULL).frames[0].name,
			    "sn_fixture_outer");
	sn_symbolizer_free(symbolizer);
}

static enum sn_symbol_status status_of(const char *path, const uint8_t *build_id, size_t bytes,
				       uint32_t flags)
{
	struct sn_symbol_module_info info;
	struct sn_symbol_location location;
	struct sn_symbolizer *symbolizer = new_symbolizer("", "");
	uint64_t address = 0x1100;
	uint32_t module;
	sn_symbolizer_module(symbolizer, path, build_id, bytes, flags, &module);
	assert_int_equal(sn_symbolizer_lookup(symbolizer, module, &address, 1, &location), 0);
	sn_symbolizer_module_info(symbolizer, module, &info);
	if (info.status > SN_SYMBOL_STRIPPED)
		assert_null(location.frames[0].name);
	sn_symbolizer_free(symbolizer);
	return info.status;
}

static void only_the_measured_file_is_used(void **state)
{
	const char *path = FIXTURES "/libsymbols_dwarf5.so";
	struct sn_elf_file *file;
	uint8_t build_id[SN_BUILD_ID_BYTES_MAX];
	assert_int_equal(sn_elf_file_open(path, &file, NULL), 0);
	size_t bytes = file->build_id_bytes;
	memcpy(build_id, file->build_id, bytes);
	sn_elf_file_free(file);
	assert_int_equal(bytes, 20);
	assert_int_equal(status_of(path, build_id, bytes, 0), SN_SYMBOL_LINES);
	assert_int_equal(status_of(FIXTURES "/libsymbols_dwarf5.so (deleted)", build_id, bytes, 0),
			 SN_SYMBOL_LINES);
	assert_int_equal(status_of(FIXTURES "/libsymbols_dwarf5.so (deleted)", NULL, 0, 0),
			 SN_SYMBOL_NOT_FOUND);
	build_id[3] ^= 1;
	assert_int_equal(status_of(path, build_id, bytes, 0), SN_SYMBOL_DIFFERS);
	assert_int_equal(status_of("/nonexistent", build_id, bytes, 0), SN_SYMBOL_NOT_FOUND);
	assert_int_equal(status_of(SOURCES "/chain.c", NULL, 0, 0), SN_SYMBOL_UNSUPPORTED);
	assert_int_equal(status_of("/dev/null", NULL, 0, 0), SN_SYMBOL_UNSUPPORTED);
	assert_int_equal(status_of("", NULL, 0, SN_MODULE_ANONYMOUS), SN_SYMBOL_NO_FILE);
}

/* ---- damage ---- */

static void truncated_files_give_less_and_do_no_harm(void **state)
{
	const char *path = FIXTURES "/libsymbols_dwarf5.so", *cut = in_folder("cut.so");
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	uint64_t address = call_address(path, "sn_fixture_shapes");
	for (long i = 0; i < 60; i++) {
		struct sn_symbolizer *symbolizer = new_symbolizer("", "");
		copy_file(path, cut, (long)status.st_size * i / 60);
		look_up(symbolizer, cut, address, NULL);
		sn_symbolizer_free(symbolizer);
	}
}

static void unsorted_addresses_are_refused(void **state)
{
	struct sn_symbolizer *symbolizer = new_symbolizer("", "");
	struct sn_symbol_location out[2];
	uint64_t addresses[2] = {2, 1};
	uint32_t module;
	sn_symbolizer_module(symbolizer, "/nonexistent", NULL, 0, 0, &module);
	assert_int_equal(sn_symbolizer_lookup(symbolizer, module, addresses, 2, out),
			 SN_ERR_ARGUMENT);
	assert_int_equal(sn_symbolizer_lookup(symbolizer, module + 1, addresses, 1, out),
			 SN_ERR_ARGUMENT);
	sn_symbolizer_free(symbolizer);
}

/* ---- cache ---- */

static void check_inner(const struct sn_symbol_location *location)
{
	assert_int_equal(location->depth, 3);
	assert_string_equal(location->frames[0].name, "sn_fixture_outer");
	assert_string_equal(location->frames[2].name, "inner");
	assert_int_equal(location->frames[2].kind, SN_SYMBOL_INLINED);
	assert_int_equal(location->frames[2].line, marked_line("chain.c", "mark", "inner"));
	assert_non_null(location->frames[2].file);
}

static void the_cache_answers_the_second_time(void **state)
{
	const char *path = in_folder("cached.so");
	struct sn_symbol_module_info info;
	copy_file(FIXTURES "/libsymbols_dwarf5.so", path, -1);
	uint64_t address = call_address(path, "sn_fixture_outer");
	for (int i = 0; i < 2; i++) {
		struct sn_symbolizer *symbolizer = new_symbolizer(in_folder("a/cache"), "");
		struct sn_symbol_location location = look_up(symbolizer, path, address, &info);
		assert_int_equal(info.cached_count, i);
		assert_int_equal(info.status, SN_SYMBOL_LINES);
		check_inner(&location);
		sn_symbolizer_free(symbolizer);
	}
	/* a file that has changed since is read again */
	copy_file(FIXTURES "/libsymbols_bare.so", path, -1);
	struct sn_symbolizer *symbolizer = new_symbolizer(in_folder("a/cache"), "");
	look_up(symbolizer, path, address, &info);
	assert_int_equal(info.cached_count, 0);
	assert_int_equal(info.status, SN_SYMBOL_SYMBOLS);
	sn_symbolizer_free(symbolizer);
}

static const char *only_file_in(const char *path)
{
	static char found[PATH_MAX];
	DIR *directory = opendir(path);
	struct dirent *entry;
	found[0] = '\0';
	assert_non_null(directory);
	while ((entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			snprintf(found, sizeof(found), "%s/%s", path, entry->d_name);
	closedir(directory);
	assert_true(found[0] != '\0');
	return found;
}

static void a_damaged_cache_is_as_none(void **state)
{
	const char *path = FIXTURES "/libsymbols_dwarf5.so", *cache = in_folder("damaged");
	struct sn_symbol_module_info info;
	uint64_t address = call_address(path, "sn_fixture_outer");
	for (long i = 0; i < 400; i += 3) {
		struct sn_symbolizer *symbolizer = new_symbolizer(cache, "");
		struct sn_symbol_location location = look_up(symbolizer, path, address, &info);
		assert_int_equal(info.cached_count, 0);
		check_inner(&location);
		sn_symbolizer_free(symbolizer);
		const char *kept = only_file_in(cache);
		FILE *file = fopen(kept, "r+b");
		fseek(file, 0, SEEK_END);
		long size = ftell(file);
		fseek(file, i % size, SEEK_SET);
		int c = getc(file);
		fseek(file, i % size, SEEK_SET);
		putc(c ^ 0x41, file);
		fclose(file);
		if (i % 2)
			assert_int_equal(truncate(kept, i % size), 0);
	}
}

static void two_writers_of_one_cache_lose_nothing_in_turn(void **state)
{
	const char *path = FIXTURES "/libsymbols_dwarf5.so", *cache = in_folder("two");
	uint64_t a = call_address(path, "sn_fixture_outer");
	uint64_t b = call_address(path, "sn_fixture_hidden");
	struct sn_symbol_module_info info;
	struct sn_symbolizer *first = new_symbolizer(cache, ""),
			     *second = new_symbolizer(cache, "");
	look_up(first, path, a, NULL);
	look_up(second, path, b, NULL);
	sn_symbolizer_free(first);
	sn_symbolizer_free(second);
	struct sn_symbolizer *third = new_symbolizer(cache, "");
	struct sn_symbol_location location = look_up(third, path, a, &info);
	assert_int_equal(info.cached_count, 1);
	check_inner(&location);
	location = look_up(third, path, b, &info);
	assert_int_equal(info.cached_count, 1);
	assert_string_equal(location.frames[0].name, "hidden");
	sn_symbolizer_free(third);
}

static void debug_symbols_installed_later_are_found(void **state)
{
	const char *path = in_folder("libsymbols_stripped.so"), *cache = in_folder("later");
	uint64_t address = call_address(FIXTURES "/libsymbols_plain.so", "sn_fixture_outer");
	struct sn_symbol_module_info info;
	copy_file(FIXTURES "/libsymbols_stripped.so", path, -1);
	unlink(in_folder("libsymbols_stripped.debug"));
	for (int i = 0; i < 2; i++) {
		struct sn_symbolizer *symbolizer = new_symbolizer(cache, "/nonexistent");
		look_up(symbolizer, path, address, &info);
		assert_int_equal(info.status, SN_SYMBOL_SYMBOLS);
		assert_int_equal(info.cached_count, i);
		sn_symbolizer_free(symbolizer);
	}
	copy_file(FIXTURES "/libsymbols_stripped.debug", in_folder("libsymbols_stripped.debug"),
		  -1);
	struct sn_symbolizer *symbolizer = new_symbolizer(cache, "/nonexistent");
	struct sn_symbol_location location = look_up(symbolizer, path, address, &info);
	assert_int_equal(info.status, SN_SYMBOL_LINES);
	check_inner(&location);
	sn_symbolizer_free(symbolizer);
}

static void the_cache_is_trimmed_by_last_use(void **state)
{
	const char *path = FIXTURES "/libsymbols_dwarf5.so", *cache = in_folder("trimmed");
	char old[PATH_MAX];
	struct sn_symbol_module_info info;
	uint64_t address = call_address(path, "sn_fixture_outer");
	snprintf(old, sizeof(old), "%s/aa.sonde-symbols", cache);
	assert_int_equal(mkdir(cache, 0700), 0);
	fclose(fopen(old, "w"));
	if (truncate(old, 600l << 20) < 0) /* no sparse files here */
		skip();
	struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	assert_int_equal(utimensat(AT_FDCWD, old, times, 0), 0);
	for (int i = 0; i < 2; i++) {
		struct sn_symbolizer *symbolizer = new_symbolizer(cache, "");
		look_up(symbolizer, path, address, &info);
		assert_int_equal(info.cached_count, i);
		sn_symbolizer_free(symbolizer);
		assert_int_equal(access(old, F_OK), -1);
	}
}

static void an_unwritable_cache_is_said_and_does_no_harm(void **state)
{
	const char *path = FIXTURES "/libsymbols_dwarf5.so";
	struct sn_error error = {""};
	uint64_t address = call_address(path, "sn_fixture_outer");
	struct sn_symbolizer *symbolizer = new_symbolizer("/dev/null/cache", "");
	struct sn_symbol_location location = look_up(symbolizer, path, address, NULL);
	check_inner(&location);
	assert_int_equal(sn_symbolizer_save(symbolizer, &error), SN_ERR_IO);
	assert_non_null(strstr(error.text, "/dev/null"));
	sn_symbolizer_free(symbolizer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(inlined_calls_of_every_form_of_debug_information),
	    cmocka_unit_test(rust_names),
	    cmocka_unit_test(plt_entries_carry_their_targets_name),
	    cmocka_unit_test(the_kernels_shared_object),
	    cmocka_unit_test(a_stripped_file_with_its_debug_file),
	    cmocka_unit_test(a_debug_file_with_another_checksum_is_not_used),
	    cmocka_unit_test(a_bare_file_groups_by_function),
	    cmocka_unit_test(only_the_measured_file_is_used),
	    cmocka_unit_test(truncated_files_give_less_and_do_no_harm),
	    cmocka_unit_test(unsorted_addresses_are_refused),
	    cmocka_unit_test(the_cache_answers_the_second_time),
	    cmocka_unit_test(a_damaged_cache_is_as_none),
	    cmocka_unit_test(two_writers_of_one_cache_lose_nothing_in_turn),
	    cmocka_unit_test(debug_symbols_installed_later_are_found),
	    cmocka_unit_test(the_cache_is_trimmed_by_last_use),
	    cmocka_unit_test(an_unwritable_cache_is_said_and_does_no_harm),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
