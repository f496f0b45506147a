/* SPDX-License-Identifier: Apache-2.0 */
/* Reads lists of the kernel's symbols. */
#include "perf_kernel.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the running kernel has this build id, which is among the notes it shows. */
static bool is_running(const struct sn_perf_build_id *id)
{
	unsigned char notes[4096];
	FILE *file = fopen("/sys/kernel/notes", "re");
	size_t length = file ? fread(notes, 1, sizeof(notes), file) : 0;
	if (file)
		fclose(file);
	return memmem(notes, length, id->bytes, id->length) != NULL;
}

static FILE *open_list(const struct sn_perf_build_id *id)
{
	char path[PATH_MAX], hex[41] = "";
	const char *home = getenv("HOME");
	for (uint32_t i = 0; i < id->length; i++)
		snprintf(hex + 2 * i, 3, "%02x", id->bytes[i]);
	snprintf(path, sizeof(path), "%s/.debug/[kernel.kallsyms]/%s/kallsyms", home ? home : "",
		 hex);
	FILE *file = fopen(path, "re");
	return file || !is_running(id) ? file : fopen("/proc/kallsyms", "re");
}

/* Moves all symbols to where the kernel was when recorded: its addresses differ after each boot,
 * and the recording has that of a reference symbol. */
static void shift(struct sn_kallsyms *kernel, const struct sn_perf_space *space)
{
	uint64_t listed = sn_kallsyms_address(kernel, space->kernel_symbol);
	if (!listed || !space->kernel_start)
		return;
	for (size_t i = 0; i < kernel->count; i++)
		kernel->symbols[i].address += space->kernel_start - listed;
}

int sn_perf_kernel_load(struct sn_kallsyms *kernel, const struct sn_perf_space *space)
{
	const struct sn_perf_build_id *id = sn_perf_file_build_id(space->file, "[kernel.kallsyms]");
	FILE *file = id ? open_list(id) : NULL;
	int result = sn_kallsyms_read(kernel, file);
	if (file)
		fclose(file);
	shift(kernel, space);
	return result;
}
