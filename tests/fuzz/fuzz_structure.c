/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as an ELF file whose whole structure is written: functions, control flow, jump
 * tables, loops, inlined calls. The first byte of an input says how.
 */
#include "fuzz_file.h"

#include "binary/structure/structure.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every scope is in its parent's list, every range in code. */
static void write_function(void *data, const struct sn_structure_function *function, FILE *out)
{
	uint32_t seen = 1;
	for (uint32_t i = 0; i < function->scope_count; i++) {
		const struct sn_scope *scope = &function->scopes[i];
		for (uint32_t at = scope->first_child; at != SN_SCOPE_NONE;
		     at = function->scopes[at].next) {
			if (function->scopes[at].parent != i)
				abort();
			seen++;
		}
		for (uint32_t at = scope->first_range; at != SN_SCOPE_NONE;
		     at = function->ranges[at].next)
			if (function->ranges[at].start >= function->ranges[at].end)
				abort();
		if (scope->name)
			fputs(scope->name, out);
	}
	if (seen != function->scope_count)
		abort();
}

static bool take(void *data, const char *text, size_t length)
{
	*(size_t *)data += length;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sn_structure_options options = {.jobs = 1, .debug_path = ""};
	struct sn_structure *structure;
	size_t written = 0;
	struct sn_structure_writer writer = {write_function, take, &written};
	char path[FUZZ_PATH_MAX];
	if (size < 2)
		return 0;
	options.no_lines = data[0] & 1;
	int fd = fuzz_file(data + 1, size - 1, path);
	if (sn_structure_open(path, &options, &structure, NULL) == 0) {
		if (sn_structure_write(structure, &writer, NULL) < 0)
			abort();
		sn_structure_free(structure);
	}
	close(fd);
	return 0;
}
