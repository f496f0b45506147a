/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Swift symbols ($s, $S, _T0: the scheme of Swift 4 and later), by the demangler of Swift's runtime
 * library, which a machine that runs Swift programs has. Without it they keep their mangled names.
 */
#include "demangle.h"
#include "base/text.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>

/* Of the runtime: the result is malloc'ed where `out` is NULL; NULL if not a Swift symbol. */
typedef char *swift_demangle_function(const char *symbol, size_t length, char *out,
				      size_t *out_length, uint32_t flags);

static swift_demangle_function *swift_demangle;

static void find_runtime(void)
{
	static const char *const libraries[] = {"libswiftDemangle.so", "libswiftCore.so"};
	for (size_t i = 0; i < 2 && !swift_demangle; i++) {
		void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
		if (library)
			swift_demangle =
			    (swift_demangle_function *)dlsym(library, "swift_demangle");
	}
}

char *sn_demangle_swift(const char *symbol)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const char *plain = symbol + (symbol[0] == '_' && symbol[1] == '$');
	size_t length = strlen(symbol);
	if ((!sn_text_begins(plain, "$s") && !sn_text_begins(plain, "$S") &&
	     !sn_text_begins(plain, "_T0")) ||
	    length > SN_DEMANGLE_SYMBOL_MAX)
		return NULL;
	pthread_once(&once, find_runtime);
	return swift_demangle ? swift_demangle(symbol, length, NULL, NULL, 0) : NULL;
}
