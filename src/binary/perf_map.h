/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of code generated at run time, from the file that just-in-time compilers write for perf:
 * perf-PID.map, a line "START SIZE NAME" for each function, both numbers hexadecimal. If code was
 * moved or replaced, the later line counts. Lines of any other form are ignored.
 *
 * Names as V8 writes them, "JS:*name /file.js:3:5", are split into function, file and line; the
 * mark of the compiler's tier is removed, so that a function has one name.
 *
 * The file is not trusted. Memory is bounded by the addresses that are looked up, time by
 * SN_PERF_MAP_BYTES_MAX and by sorting; lines are truncated to 4,095 bytes.
 */
#pragma once

#include "base/error.h"
#include "string_pool.h"
#include "symbolize.h"

#include <sys/types.h>

/* The rest of a larger file is not read: SN_SYMBOL_PARTIAL. A large program's map has a few MB. */
#define SN_PERF_MAP_BYTES_MAX (UINT64_C(256) << 20)

struct sn_perf_map;

/* A map's entry for an address; all 0 and NULL without one. */
struct sn_perf_map_name {
	struct sn_symbol_frame frame; /* name, file and function_line; strings of the pool */
	uint64_t start;		      /* of the function */
};

/*
 * SN_SYMBOL_SYMBOLS or SN_SYMBOL_PARTIAL if *map was set, which the caller must free;
 * SN_SYMBOL_FOREIGN if the file's owner is neither this user, root nor the owner of its folder;
 * SN_SYMBOL_NOT_FOUND if it cannot be read or is no regular file. A symbolic link is not followed.
 */
enum sn_symbol_status sn_perf_map_open(const char *path, struct sn_perf_map **map);
/* The same of a process of that user: its own file is no stranger's, whoever asks. */
enum sn_symbol_status sn_perf_map_open_of(const char *path, uid_t owner, struct sn_perf_map **map);
void sn_perf_map_free(struct sn_perf_map *map);

/*
 * Stores the functions at the ascending addresses[count] in names[count]. Reads the whole file, so
 * look up many at once. 0 or SN_ERR_MEMORY.
 */
int sn_perf_map_find(const struct sn_perf_map *map, const uint64_t *addresses, size_t count,
		     struct sn_string_pool *pool, struct sn_perf_map_name *names);
