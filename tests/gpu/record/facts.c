/* SPDX-License-Identifier: Apache-2.0 */
#include "tool.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

void record_line_of(const char *key, const char *path)
{
	char text[2048] = "";
	FILE *file = fopen(path, "re");
	size_t got = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	if (file)
		fclose(file);
	text[strcspn(text, "\n")] = '\0';
	if (got)
		record_fact(key, text);
}

static void add_command(void)
{
	char text[2048];
	FILE *file = fopen("/proc/self/cmdline", "re");
	size_t got = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	if (file)
		fclose(file);
	for (size_t index = 0; index + 1 < got; index++)
		text[index] = text[index] ? text[index] : ' ';
	text[got] = '\0';
	record_fact("command", text);
}

void record_facts(void)
{
	struct utsname system;
	if (!uname(&system)) {
		record_fact("system", system.release);
		record_fact("machine", system.machine);
	}
	add_command();
}
