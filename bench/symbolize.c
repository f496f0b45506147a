/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbolises addresses of one file, read from standard input in hexadecimal, one a line; prints the
 * time it took, or with --print what addr2line -f -i -a prints, for comparing the two. With --cache
 * FOLDER the symbol cache is used.
 */
#include "binary/symbolize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_ms(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

static size_t read_addresses(uint64_t **addresses)
{
	size_t count = 0, capacity = 0;
	char line[64];
	while (fgets(line, sizeof(line), stdin)) {
		if (count == capacity) {
			capacity = capacity ? capacity * 2 : 1024;
			*addresses = realloc(*addresses, capacity * sizeof(**addresses));
			if (!*addresses)
				exit(1);
		}
		(*addresses)[count++] = strtoull(line, NULL, 16);
	}
	if (count > 0)
		qsort(*addresses, count, sizeof(**addresses), by_value);
	return count;
}

static void print(const uint64_t *addresses, const struct sn_symbol_location *locations,
		  size_t count, bool is_readable)
{
	for (size_t i = 0; i < count; i++) {
		printf("0x%016lx\n", addresses[i]);
		for (uint32_t j = locations[i].depth; j-- > 0;) {
			const struct sn_symbol_frame *frame = &locations[i].frames[j];
			const char *name = frame->name ? frame->name : "?\?";
			if (!is_readable && frame->linkage_name)
				name = frame->linkage_name;
			printf("%s\n%s:%u\n", name, frame->file ? frame->file : "?\?", frame->line);
		}
	}
}

int main(int argc, char **argv)
{
	struct sn_symbolizer_options options = {.cache_folder = "", .no_loops = true};
	struct sn_symbolizer *symbolizer;
	struct sn_symbol_module_info info;
	struct sn_error error = {""};
	uint64_t *addresses = NULL;
	const char *path = NULL;
	bool is_printing = false, is_readable = false;
	uint32_t module;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--print") == 0)
			is_printing = true;
		else if (strcmp(argv[i], "--readable") == 0)
			is_printing = is_readable = true;
		else if (strcmp(argv[i], "--cache") == 0 && i + 1 < argc)
			options.cache_folder = argv[++i];
		else
			path = argv[i];
	}
	if (!path) {
		fprintf(stderr,
			"usage: bench_symbolize [--print|--readable] [--cache FOLDER] FILE\n");
		return 129;
	}
	size_t count = read_addresses(&addresses);
	struct sn_symbol_location *locations = calloc(count + 1, sizeof(*locations));
	double start = now_ms();
	if (!locations || sn_symbolizer_new(&options, &symbolizer, &error) < 0 ||
	    sn_symbolizer_module(symbolizer, path, NULL, 0, 0, &module) < 0 ||
	    sn_symbolizer_lookup(symbolizer, module, addresses, count, locations) < 0) {
		fprintf(stderr, "failed: %s\n", error.text);
		return 1;
	}
	double end = now_ms();
	sn_symbolizer_module_info(symbolizer, module, &info);
	if (is_printing)
		print(addresses, locations, count, is_readable);
	else
		printf("%zu addresses in %.1f ms: %s, %lu without a name, %lu without a line, %lu "
		       "from "
		       "the cache\n",
		       count, end - start, sn_symbol_status_text(info.status), info.unnamed_count,
		       info.lineless_count, info.cached_count);
	sn_symbolizer_free(symbolizer);
	free(locations);
	free(addresses);
	return 0;
}
