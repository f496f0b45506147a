/* SPDX-License-Identifier: Apache-2.0 */
/* Reads lists of the kernel's symbols. */
#include "perf_kernel.h"

#include "base/search.h"
#include "base/sort_by.h"
#include "base/vec.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct sn_perf_kernel_symbol {
	uint64_t address;
	uint32_t name;
};

void sn_perf_kernel_release(struct sn_perf_kernel *kernel)
{
	sn_intern_release(&kernel->names);
	free(kernel->symbols);
}

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

static int add(struct sn_perf_kernel *kernel, uint64_t address, const char *name)
{
	uint32_t number = sn_intern_add(&kernel->names, name, strlen(name) + 1);
	if (number == SN_INTERN_NONE ||
	    sn_vec_push(&kernel->symbols, &kernel->capacity, &kernel->count,
			(struct sn_perf_kernel_symbol){address, number}))
		return SN_ERR_MEMORY;
	return 0;
}

SN_SORT_BY(sort_symbols, struct sn_perf_kernel_symbol, const void *,
	   SN_ORDER(a->address, b->address));

/* Moves all symbols to where the kernel was when recorded: its addresses differ after each boot,
 * and the recording has that of a reference symbol. */
static void shift(struct sn_perf_kernel *kernel, const struct sn_perf_space *space)
{
	uint64_t listed = 0;
	for (size_t i = 0; i < kernel->count && !listed; i++)
		if (!strcmp(sn_intern_at(&kernel->names, kernel->symbols[i].name, NULL),
			    space->kernel_symbol))
			listed = kernel->symbols[i].address;
	if (!listed || !space->kernel_start)
		return;
	for (size_t i = 0; i < kernel->count; i++)
		kernel->symbols[i].address += space->kernel_start - listed;
}

int sn_perf_kernel_load(struct sn_perf_kernel *kernel, const struct sn_perf_space *space)
{
	*kernel = (struct sn_perf_kernel){0};
	const struct sn_perf_build_id *id = sn_perf_file_build_id(space->file, "[kernel.kallsyms]");
	FILE *file = id ? open_list(id) : NULL;
	char line[512], name[256], type;
	uint64_t address;
	int result = 0;
	while (file && !result && fgets(line, sizeof(line), file))
		if (sscanf(line, "%" SCNx64 " %c %255s", &address, &type, name) == 3 && address &&
		    strchr("tTwW", type))
			result = add(kernel, address, name);
	if (file)
		fclose(file);
	sort_symbols(kernel->symbols, kernel->count, NULL);
	shift(kernel, space);
	return result;
}

const char *sn_perf_kernel_find(const struct sn_perf_kernel *kernel, uint64_t address)
{
	size_t behind = sn_search(i, kernel->count, kernel->symbols[i].address <= address);
	return behind ? sn_intern_at(&kernel->names, kernel->symbols[behind - 1].name, NULL) : NULL;
}
