/* SPDX-License-Identifier: Apache-2.0 */
/* Where the calling thread is: in place of the device's own, which knows no loader. What a command list runs belongs to the
 * lines that appended it. */
#include "../device/place.h"
#include "driver.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <string.h>

#define MOST_FRAMES 48
#define MOST_NATIVE 4

static __thread const char *given;

void place_is(const char *place)
{
	given = place;
}

static bool is_of_runtime(const char *module)
{
	return strstr(module, "/libze_") || strstr(module, "/libsonde");
}

void fake_place_here(char *text, size_t size)
{
	void *frames[MOST_FRAMES];
	size_t length = 0;
	snprintf(text, size, "%s", given ? given : "");
	if (given)
		return;
	int count = backtrace(frames, MOST_FRAMES), written = 0;
	for (int index = 1; index < count && written < MOST_NATIVE; index++) {
		Dl_info module;
		const char *at = (char *)frames[index] - 1;
		if (!dladdr(at, &module) || !module.dli_fname || is_of_runtime(module.dli_fname))
			continue;
		int added =
		    snprintf(text + length, size - length, "%s%s+0x%lx", written++ ? " " : "",
			     module.dli_fname, (unsigned long)(at - (char *)module.dli_fbase));
		if (added < 0 || (size_t)added >= size - length)
			return;
		length += (size_t)added;
	}
}
