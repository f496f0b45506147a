/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as a Python file that inductor generated and the pickle of its graph: what stands
 * before the pickle's first byte (80, hexadecimal) is the file. Each of its lines is asked for what it
 * was made of. See fuzz_inductor.sh.
 */
#include "aggregate/unify/inductor_lines.h"
#include "format/database/database_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define KEY   "cab2jzc2yg4lxorp7m3ddn5fwsxkuhqvlv2bqmsyx7ae5rj5tz6q"
#define LINES 64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_file(const char *path, const uint8_t *bytes, size_t length)
{
	FILE *file = fopen(path, "w");
	if (!file || fwrite(bytes, 1, length, file) != length || fclose(file))
		abort();
}

static void ask(const char *generated)
{
	struct sn_db_builder *builder = sn_db_builder_new();
	struct sn_inductor_lines *lines = sn_inductor_lines_new(builder);
	uint32_t file = sn_db_builder_string(builder, generated);
	for (uint32_t line = 0; line <= LINES; line++) {
		const struct sn_inductor_origin *origin;
		if (sn_inductor_lines_at(lines, file, line, &origin))
			abort();
		for (uint32_t place = 0; origin && place < origin->function_count; place++)
			if (!origin->functions[place].file || !origin->functions[place].function)
				abort();
		if (origin)
			sn_inductor_is_below(
			    builder, sn_db_builder_context(builder, 0, origin->frame), origin);
	}
	sn_inductor_lines_free(lines);
	sn_db_builder_free(builder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const folders[] = {"cache", "cache/ab", "cache/fxgraph",
					      "cache/fxgraph/ab", "cache/fxgraph/ab/key"};
	char here[4096], generated[sizeof(here) + 128];
	const uint8_t *pickle = memchr(data, 0x80, size);
	size_t before = pickle ? (size_t)(pickle - data) : size;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		mkdir(folders[i], 0700);
	write_file("cache/ab/" KEY ".py", data, before);
	write_file("cache/fxgraph/ab/key/entry", data + before, size - before);
	if (!realpath("cache/ab", here))
		abort();
	snprintf(generated, sizeof(generated), "%s/" KEY ".py", here);
	ask(generated);
	return 0;
}
