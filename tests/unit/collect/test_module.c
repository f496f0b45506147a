/* SPDX-License-Identifier: Apache-2.0 */
/* The list of modules and their rules while libraries are unloaded, replaced and moved. */
#include "collect/unwind/module_list.h"
#include "collect/unwind/rule.h"
#include "collect/unwind/unwind.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

typedef void call_function(void (*function)(void));

struct library {
	void *handle;
	call_function *call;
};

static struct library load(const char *path)
{
	struct library library = {.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
	assert_non_null(library.handle);
	*(void **)&library.call = dlsym(library.handle, "module_call");
	assert_non_null(library.call);
	return library;
}

/* As the collector's own dlclose. */
static void unload(struct library library)
{
	sn_modules_unloading(true);
	dlclose(library.handle);
	sn_modules_unloading(false);
}

static struct sn_unwinder unwinder;
static struct sn_unwind_result result;

static void __attribute__((noinline)) look(void)
{
	result = sn_unwind_here(&unwinder, 0, 0, 64);
	__asm__ volatile("" ::: "memory");
}

/* result.frames[0] is look, [1] the library's, [2] this function. */
static void __attribute__((noinline)) unwind_through(struct library library)
{
	library.call(look);
	assert_true(result.complete);
	assert_false(result.scanned);
	Dl_info info;
	assert_true(dladdr((void *)result.frames[1].pc, &info));
	assert_string_equal(info.dli_sname, "module_call");
	assert_true(dladdr((void *)(result.frames[2].pc - 1), &info));
	assert_true(result.frames[2].pc > (uintptr_t)unwind_through &&
		    result.frames[2].pc < (uintptr_t)unwind_through + 4096);
	assert_non_null(strstr(sn_module_at(result.frames[1].module)->path, "module-"));
}

static int set_up(void **state)
{
	(void)state;
	return sn_modules_init();
}

static void test_another_at_the_same_address(void **state)
{
	(void)state;
	unsigned met = 0;
	for (unsigned round = 0; round < 20; round++) {
		struct library first = load(MODULE_SMALL);
		unwind_through(first);
		uint32_t first_module = result.frames[1].module;
		unload(first);
		struct library second = load(MODULE_LARGE);
		met += second.call == first.call;
		unwind_through(second);
		assert_int_not_equal(result.frames[1].module, first_module);
		assert_string_equal(sn_module_at(result.frames[1].module)->path, MODULE_LARGE);
		unload(second);
	}
	if (!met)
		skip(); /* the loader chose another place each time */
}

/* Each comes back to the record it had. */
static void test_records_do_not_grow(void **state)
{
	(void)state;
	uint32_t count = 0;
	for (unsigned round = 0; round < 40; round++) {
		struct library library = load(round % 2 ? MODULE_SMALL : MODULE_LARGE);
		unwind_through(library);
		unload(library);
		if (round == 10)
			count = sn_module_count();
	}
	assert_int_equal(sn_module_count(), count);
}

static _Atomic bool is_done;
static _Atomic uintptr_t place;
static _Atomic unsigned found, lost; /* rules */

/* Without a word to the collector, as by munmap. The first time it waits for the other thread, which on a busy machine may come late. */
static void *load_and_unload(void *unused)
{
	(void)unused;
	for (unsigned round = 0; round < 400; round++) {
		struct library library = load(MODULE_LARGE);
		atomic_store(&place, (uintptr_t)library.call);
		if (round % 8 == 0)
			sn_modules_stale();
		do
			usleep(100);
		while (!atomic_load(&found));
		if (!round)
			atomic_store(&lost, 0);
		dlclose(library.handle);
		while (!atomic_load(&lost))
			usleep(100);
	}
	atomic_store(&is_done, true);
	return NULL;
}

static void test_unmapped_while_it_is_read(void **state)
{
	(void)state;
	pthread_t thread;
	atomic_store(&is_done, false);
	assert_int_equal(pthread_create(&thread, NULL, load_and_unload, NULL), 0);
	while (!atomic_load(&is_done)) {
		bool lasting;
		uintptr_t at = atomic_load(&place);
		for (unsigned offset = 0; at && offset < 40; offset++) {
			uint64_t rule = sn_rule_compile(at + offset, &lasting);
			if (SN_RULE_KIND(rule) == SN_RULE_GUESS)
				lost++;
			else
				found++;
		}
		sn_modules_settle();
	}
	pthread_join(thread, NULL);
	sn_modules_stale();
	sn_modules_settle();
}

/* What servers do to have their code on huge pages: copy it, put the copy in its place. */
static void move_code(uintptr_t code)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = (void *)(code & ~(page - 1));
	void *copy = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(copy, MAP_FAILED);
	memcpy(copy, at, page);
	assert_int_equal(mprotect(copy, page, PROT_READ | PROT_EXEC), 0);
	assert_ptr_equal(mremap(copy, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, at), at);
}

static void test_code_moved_to_other_memory(void **state)
{
	(void)state;
	for (unsigned known_before = 0; known_before < 2; known_before++) {
		struct library library = load(MODULE_SMALL);
		if (known_before)
			unwind_through(library);
		uint32_t module = known_before ? result.frames[1].module : SN_MODULE_NONE;
		move_code((uintptr_t)library.call);
		sn_modules_stale();
		unwind_through(library);
		assert_string_equal(sn_module_at(result.frames[1].module)->path, MODULE_SMALL);
		assert_false(sn_module_at(result.frames[1].module)->flags & 8 /* anonymous */);
		if (known_before)
			assert_int_equal(result.frames[1].module, module);
		unload(library);
	}
}

/* Memory of nobody's where a library was is not the library's. */
static void test_code_made_where_a_library_was(void **state)
{
	(void)state;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct library library = load(MODULE_SMALL);
	unwind_through(library);
	void *at = (void *)((uintptr_t)library.call & ~(page - 1));
	unload(library);
	void *made = mmap(at, page, PROT_READ | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (made != at)
		skip();
	sn_modules_stale();
	uint32_t module = sn_module_find_or_refresh((uintptr_t)at);
	assert_int_not_equal(module, SN_MODULE_NONE);
	assert_true(sn_module_at(module)->flags & 8 /* anonymous */);
	munmap(made, page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_another_at_the_same_address),
	    cmocka_unit_test(test_records_do_not_grow),
	    cmocka_unit_test(test_unmapped_while_it_is_read),
	    cmocka_unit_test(test_code_moved_to_other_memory),
	    cmocka_unit_test(test_code_made_where_a_library_was),
	};
	return cmocka_run_group_tests(tests, set_up, NULL);
}
