/* SPDX-License-Identifier: Apache-2.0 */
/* See process_stat.h. */
#include "process_stat.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint64_t sn_process_stat(pid_t pid, enum sn_process_field field)
{
	char path[64], text[1024];
	uint64_t value = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *file = fopen(path, "re");
	size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	if (file)
		fclose(file);
	text[length] = 0;
	const char *at = strrchr(text, ')'); /* field 2, the only one with blanks */
	for (unsigned number = 2; at && number < field; number++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, "%" SCNu64, &value) == 1 ? value : 0;
}
