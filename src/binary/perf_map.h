/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of code made at run time, from the file that just-in-time compilers write for perf:
 * perf-PID.map, a line "START SIZE NAME" for each function, both numbers hexadecimal. Where code
 * was moved or replaced, the later line holds. Lines of any other form are passed over.
 *
 * Names as V8 writes them, "JS:*name /file.js:3:5", are taken apart into function, file and line;
 * the mark of the compiler's tier is left out, so that a function stays one.
 *
 * Anybody may have written the file. Memory is bounded by the addresses that are looked up, time by
 * SN_PERF_MAP_BYTES_MAX and by sorting; of a line not more than 4,095 bytes are kept.
 */
#ifndef SN_BINARY_PERF_MAP_H
#define SN_BINARY_PERF_MAP_H

#include "base/error.h"
#include "string_pool.h"
#include "symbolize.h"

/* What lies beyond this of a file is not read: SN_SYMBOL_PARTIAL. A large program's map has a few
 * MB. */
#define SN_PERF_MAP_BYTES_MAX (UINT64_C(256) << 20)

struct sn_perf_map;

/* What a map says of an address: all 0 and NULL where it says nothing. */
struct sn_perf_map_name {
	struct sn_symbol_frame frame; /* name, file and function_line; strings of the pool */
	uint64_t start;		      /* of the function */
};

/*
 * SN_SYMBOL_SYMBOLS or SN_SYMBOL_PARTIAL where *map was set, which is then the caller's to free;
 * SN_SYMBOL_FOREIGN where the file belongs to none of this user, root and the owner of its folder;
 * SN_SYMBOL_NOT_FOUND where it cannot be read or is no regular file. A symbolic link is not
 * followed.
 */
enum sn_symbol_status sn_perf_map_open(const char *path, struct sn_perf_map **map);
void sn_perf_map_free(struct sn_perf_map *map);

/*
 * The functions at addresses[count], which ascend, in names[count]. The whole file is read: ask for
 * many at once. 0 or SN_ERR_MEMORY.
 */
int sn_perf_map_find(const struct sn_perf_map *map, const uint64_t *addresses, size_t count,
		     struct sn_string_pool *pool, struct sn_perf_map_name *names);

#endif
