/* SPDX-License-Identifier: Apache-2.0 */
/* Swift symbols, by the demangler of the Swift runtime where one is installed. */
#include "demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

/* Of the Swift runtime: the result is malloc'ed where out is NULL; NULL if not a Swift symbol. */
typedef char *swift_demangle_function(const char *symbol, size_t length, char *out,
				      size_t *out_length, uint32_t flags);

static swift_demangle_function *runtime_demangle;

static void find_runtime(void)
{
	static const char *const libraries[] = {"libswiftDemangle.so", "libswiftCore.so"};
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]) && !runtime_demangle; i++) {
		void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
		if (library)
			runtime_demangle =
			    (swift_demangle_function *)dlsym(library, "swift_demangle");
	}
}

char *sn_demangle_swift(const char *symbol)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	size_t length = strlen(symbol);
	bool is_swift = strncmp(symbol, "$s", 2) == 0 || strncmp(symbol, "$S", 2) == 0 ||
			strncmp(symbol, "_$s", 3) == 0 || strncmp(symbol, "_$S", 3) == 0 ||
			strncmp(symbol, "_T0", 3) == 0;
	if (!is_swift || length > SN_DEMANGLE_SYMBOL_MAX)
		return NULL;
	pthread_once(&once, find_runtime);
	return runtime_demangle ? runtime_demangle(symbol, length, NULL, NULL, 0) : NULL;
}
