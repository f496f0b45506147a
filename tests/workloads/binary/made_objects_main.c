// SPDX-License-Identifier: Apache-2.0
// Opens the library of made_objects.c, made_objects_main LIBRARY OBJECT.
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **arguments)
{
	void *library = count > 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
	unsigned (*run)(const char *, unsigned long) = library ? dlsym(library, "made_run") : NULL;
	if (!run)
		return 1;
	printf("%u\n", run(arguments[2], 500000000));
	return 0;
}
