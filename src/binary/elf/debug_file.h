/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds separate debug files in the places of gdb: by build id, by .gnu_debuglink, and the file
 * shared between several (dwz) by .gnu_debugaltlink. Every candidate is verified: build id or
 * checksum.
 */
#pragma once

#include "elf_file.h"

#include <limits.h>

struct sn_debug_search {
	const char *folders; /* separated by ':' */
	const char *sysroot; /* put before every folder; "" none */
	/* Called for every path that is tried, found or not: the result depends on it. May be NULL.
	 * */
	void (*tried)(void *data, const char *path);
	void *data;
};

/*
 * The debug file of a module: `main` is the module's own file or NULL, `main_path` its path.
 * Returns NULL without one; else writes its path (PATH_MAX bytes). The caller frees the file.
 */
struct sn_elf_file *sn_debug_file_find(const struct sn_debug_search *search,
				       struct sn_elf_file *main, const char *main_path,
				       const uint8_t *build_id, size_t build_id_bytes, char *path);

/* The file that `file` (at `path`) shares debug information with, or NULL. */
struct sn_elf_file *sn_debug_file_find_shared(const struct sn_debug_search *search,
					      struct sn_elf_file *file, const char *path);
