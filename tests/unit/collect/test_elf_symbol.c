/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols of loaded modules: the same addresses as dlsym gives, from libraries of both scopes, the
 * program itself and the kernel's shared object, whose table holds offsets instead of addresses.
 */
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include <cmocka.h>

#include "collect/unwind/elf_symbol.h"

struct wanted {
	const char *name;
	struct sn_module module;
	bool found;
};

static int take_module(struct dl_phdr_info *info, size_t size, void *data)
{
	struct wanted *wanted = data;

	if (wanted->found || !strstr(info->dlpi_name, wanted->name))
		return 0;
	wanted->found = true;
	wanted->module = (struct sn_module){.bias = info->dlpi_addr, .start = UINTPTR_MAX};
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = (info->dlpi_addr + segment->p_vaddr) & ~(uintptr_t)4095;
		uintptr_t end = info->dlpi_addr + segment->p_vaddr + segment->p_memsz;
		if (segment->p_type != PT_LOAD)
			continue;
		if (start < wanted->module.start)
			wanted->module.start = start;
		if (end > wanted->module.end)
			wanted->module.end = end;
	}
	return 0;
}

static struct sn_module module_named(const char *name)
{
	struct wanted wanted = {.name = name};

	dl_iterate_phdr(take_module, &wanted);
	assert_true(wanted.found);
	return wanted.module;
}

static void like_dlsym(void **state)
{
	static const char *const names[] = {"qsort",   "getenv", "fopen",
					    "environ", "stderr", "abort"};
	struct sn_module libc = module_named("libc.so");

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_int_equal(sn_elf_symbol(&libc, names[i], NULL),
				 (uintptr_t)dlsym(dlopen("libc.so.6", RTLD_NOW), names[i]));
}

static void sizes(void **state)
{
	struct sn_module libc = module_named("libc.so");
	size_t bytes = 0;

	assert_int_not_equal(sn_elf_symbol(&libc, "stderr", &bytes), 0);
	assert_int_equal(bytes, sizeof(void *));
}

static void absent(void **state)
{
	struct sn_module libc = module_named("libc.so");
	struct sn_module cmocka = module_named("cmocka");

	assert_int_equal(sn_elf_symbol(&libc, "no_such_symbol_in_libc", NULL), 0);
	assert_int_equal(sn_elf_symbol(&libc, "", NULL), 0);
	/* used there, defined elsewhere */
	assert_int_equal(sn_elf_symbol(&cmocka, "malloc", NULL), 0);
	/* thread-local, and chosen at run time */
	assert_int_equal(sn_elf_symbol(&libc, "errno", NULL), 0);
	assert_int_equal(sn_elf_symbol(&libc, "strchr", NULL), 0);
}

static void local_scope(void **state)
{
	void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
	struct sn_module libm = module_named("libm.so");

	assert_non_null(library);
	assert_int_equal(sn_elf_symbol(&libm, "frexp", NULL), (uintptr_t)dlsym(library, "frexp"));
	assert_int_not_equal(sn_elf_symbol(&libm, "frexp", NULL), 0);
}

static void kernel_object(void **state)
{
	uintptr_t start = getauxval(AT_SYSINFO_EHDR);
	/* linked at 0, two pages of code and data */
	struct sn_module vdso = {.start = start, .end = start + 8192, .bias = start};

	if (!start)
		skip();
	uintptr_t address = sn_elf_symbol(&vdso, "__vdso_clock_gettime", NULL);
	assert_true(address > start && address < start + 8192);
}

static void not_elf(void **state)
{
	static const char text[4096] = "not an ELF image";
	struct sn_module module = {.start = (uintptr_t)text, .end = (uintptr_t)text + sizeof(text)};

	assert_int_equal(sn_elf_symbol(&module, "main", NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(like_dlsym),    cmocka_unit_test(sizes),
	    cmocka_unit_test(absent),	     cmocka_unit_test(local_scope),
	    cmocka_unit_test(kernel_object), cmocka_unit_test(not_elf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
