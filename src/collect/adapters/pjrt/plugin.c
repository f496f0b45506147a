/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugins as the program finds them: by dlsym in a library that it has opened (intercept_dl.c), or by the symbol, where
 * it is linked with a plugin. Each plugin's GetPjrtApi is answered with a copy of its table, as long as the plugin says it
 * is, in which the functions that are measured are stubs of ours. Functions have no argument that says which plugin's they
 * are, so each plugin has stubs of its own.
 */
#include "pjrt.h"

#include "collect/intercept/intercept.h"

#include <dlfcn.h>
#include <string.h>

#define NAME	   "GetPjrtApi"
#define BYTES_MOST (1u << 16) /* of a table: 50 times those of 2026 */
#define STUB_BYTES 16
#define STUBS_EACH 16 /* functions of a plugin; a power of two */

_Static_assert(SN_PJRT_WRAPPED_COUNT <= STUBS_EACH, "a stub for each function");

struct sn_pjrt_plugin sn_pjrt_plugins[SN_PJRT_PLUGINS];

typedef const struct sn_pjrt_api *get_api(void);

extern const char sn_pjrt_stubs[] __attribute__((visibility("hidden")));
__attribute__((visibility("hidden"), used)) void *sn_pjrt_called(void *record, uint32_t number);

/* They jump, so the return address is the program's. */
__asm__("	.text\n"
	"	.p2align 4\n"
	"	.globl sn_pjrt_stubs\n"
	"	.hidden sn_pjrt_stubs\n"
	"	.type sn_pjrt_stubs, @function\n"
	"sn_pjrt_stubs:\n"
	"	.cfi_startproc\n"
	"	.set number, 0\n"
	"	.rept 128\n"
	"	.p2align 4\n"
	"	endbr64\n"
	"	movl $number, %esi\n"
	"	jmp sn_pjrt_called\n"
	"	.set number, number + 1\n"
	"	.endr\n"
	"	.cfi_endproc\n"
	"	.size sn_pjrt_stubs, . - sn_pjrt_stubs\n");
_Static_assert(SN_PJRT_PLUGINS *STUBS_EACH == 128, "as many stubs are made above");

/* Which plugin's, which function: the number of the stub. */
void *sn_pjrt_called(void *record, uint32_t number)
{
	const struct sn_pjrt_made *made =
	    atomic_load_explicit(&sn_pjrt_plugins[number / STUBS_EACH].made, memory_order_acquire);
	struct sn_pjrt_call call = {.plugin = made,
				    .real = made->functions[number % STUBS_EACH],
				    .record = record,
				    .stack = SN_CALLER_STACK,
				    .pc = (uintptr_t)__builtin_return_address(0),
				    .number = number / STUBS_EACH};
	return sn_measuring() ? sn_pjrt_measured(&call, number % STUBS_EACH) : call.real(record);
}

/* ---- tables ---- */

static sn_pjrt_function *function_in(const struct sn_pjrt_api *api, uint32_t place)
{
	size_t end = offsetof(struct sn_pjrt_api, functions) + (place + 1) * sizeof(void *);
	return api->bytes >= end ? api->functions[place] : NULL;
}

sn_pjrt_function *sn_pjrt_function_at(const struct sn_pjrt_made *plugin, enum sn_pjrt_place place)
{
	return function_in(plugin->real, place);
}

bool sn_pjrt_ask(const struct sn_pjrt_made *plugin, enum sn_pjrt_place place, void *record)
{
	sn_pjrt_function *function = sn_pjrt_function_at(plugin, place);
	void *error = function ? function(record) : NULL;
	if (error) {
		struct sn_pjrt_object destroyed = SN_PJRT_NEW(sn_pjrt_object, .object = error);
		sn_pjrt_function *destroy = sn_pjrt_function_at(plugin, SN_PJRT_AT_ERROR_DESTROY);
		if (destroy)
			destroy(&destroyed);
	}
	return function && !error;
}

static void wrap(struct sn_pjrt_made *made, uint32_t plugin)
{
	static const uint32_t places[] = {
#define SN_PJRT(name, place, function) place,
	    SN_PJRT_WRAPPED(SN_PJRT)
#undef SN_PJRT
	};
	for (uint32_t i = 0; i < SN_PJRT_WRAPPED_COUNT; i++) {
		made->functions[i] = function_in(made->real, places[i]);
		if (made->functions[i])
			made->copy.functions[places[i]] =
			    (sn_pjrt_function *)(sn_pjrt_stubs +
						 (plugin * STUBS_EACH + i) * STUB_BYTES);
	}
}

/* The copy; NULL without memory, or where the table is of an unknown form. */
static struct sn_pjrt_made *make(const struct sn_pjrt_api *real, uint32_t plugin)
{
	if (real->bytes < sizeof(*real) || real->bytes > BYTES_MOST || real->version.major != 0)
		return NULL;
	size_t bytes = offsetof(struct sn_pjrt_made, copy) + real->bytes;
	struct sn_pjrt_made *made = sn_pages_map(bytes);
	if (!made)
		return NULL;
	made->real = real;
	made->bytes = bytes;
	memcpy(&made->copy, real, real->bytes);
	wrap(made, plugin);
	return made;
}

static const struct sn_pjrt_api *api_of(uint32_t number)
{
	struct sn_pjrt_plugin *plugin = &sn_pjrt_plugins[number];
	const struct sn_pjrt_api *real =
	    ((get_api *)atomic_load_explicit(&plugin->get, memory_order_relaxed))();
	struct sn_pjrt_made *there = atomic_load_explicit(&plugin->made, memory_order_acquire);
	if (!there && real && sn_measuring()) {
		struct sn_pjrt_made *made = make(real, number);
		/* release: complete before a stub looks at it */
		if (made && atomic_compare_exchange_strong_explicit(&plugin->made, &there, made,
								    memory_order_release,
								    memory_order_acquire))
			there = made;
		else if (made)
			sn_pages_unmap(made, made->bytes);
	}
	if (there && there->real == real)
		return &there->copy;
	plugin->is_other |= real != NULL;
	return real;
}

/* ---- how the program finds them ---- */

#define GETTER(number)                                                                             \
	static const struct sn_pjrt_api *get_##number(void)                                        \
	{                                                                                          \
		return api_of(number);                                                             \
	}                                                                                          \
	_Static_assert(number < SN_PJRT_PLUGINS, "a plugin's place")
GETTER(0);
GETTER(1);
GETTER(2);
GETTER(3);
GETTER(4);
GETTER(5);
GETTER(6);
GETTER(7);

static get_api *const getters[SN_PJRT_PLUGINS] = {get_0, get_1, get_2, get_3,
						  get_4, get_5, get_6, get_7};

/* The place of a plugin, by its function; SN_PJRT_PLUGINS where there are too many. */
static uint32_t place_of(void *get)
{
	for (uint32_t i = 0; i < SN_PJRT_PLUGINS; i++) {
		void *there = NULL;
		if (atomic_compare_exchange_strong(&sn_pjrt_plugins[i].get, &there, get) ||
		    there == get)
			return i;
	}
	return SN_PJRT_PLUGINS;
}

bool sn_pjrt_has_stand_in(const char *name)
{
	return *name == *NAME && !strcmp(name, NAME);
}

SN_PUBLIC(const struct sn_pjrt_api *, GetPjrtApi, (void));

void *sn_pjrt_stand_in(const char *name, void *found)
{
	if (found == (void *)GetPjrtApi)
		return sn_pjrt_lookup_global(NULL);
	if (!found || !sn_pjrt_has_stand_in(name) || !sn_measuring())
		return found;
	uint32_t place = place_of(found);
	return place < SN_PJRT_PLUGINS ? (void *)getters[place] : found;
}

/* A caller's own library's, or that of a library that it is linked with; NULL: they have none. */
static void *of_library(const void *caller)
{
	Dl_info info;
	void *library = dladdr(caller, &info) && info.dli_fname && *info.dli_fname
			    ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
			    : NULL;
	void *found = library ? sn_real_dlsym(library, NAME) : NULL;
	if (library)
		dlclose(library);
	return found == (void *)GetPjrtApi ? NULL : found;
}

void *sn_pjrt_lookup_global(const void *caller)
{
	void *found = sn_real_dlsym(RTLD_NEXT, NAME);
	if (!found && caller)
		found = of_library(caller);
	return found ? sn_pjrt_stand_in(NAME, found) : NULL;
}

/* The one that a caller is linked with. */
static void *meant_by(const void *caller)
{
	return of_library(caller) ?: sn_real_dlsym(RTLD_NEXT, NAME);
}

/* For a program that is linked with a plugin. It hides nobody's: what asks for a name gets the plugin's (sn_pjrt_stand_in). */
SN_PUBLIC(const struct sn_pjrt_api *, GetPjrtApi, (void))
{
	void *found = meant_by(__builtin_return_address(0));
	uint32_t place = found && sn_measuring() ? place_of(found) : SN_PJRT_PLUGINS;
	if (place < SN_PJRT_PLUGINS)
		return api_of(place);
	return found ? ((get_api *)found)() : NULL;
}
