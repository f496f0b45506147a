/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of code made at run time, from the file that just-in-time compilers write for perf:
 * perf-PID.map, a line "START SIZE NAME" for each function, both numbers hexadecimal. Where code
 * was moved or replaced, the later line holds. Lines of any other form are passed over.
 *
 * Names as V8 writes them, "JS:*name /file.js:3:5", are taken apart into function, file and line;
 * the mark of the compiler's tier is left out, so that a function stays one.
 */
#ifndef SN_BINARY_PERF_MAP_H
#define SN_BINARY_PERF_MAP_H

#include "base/error.h"
#include "string_pool.h"
#include "symbolize.h"

struct sn_perf_map;

/* 0, SN_ERR_IO or SN_ERR_MEMORY. *map is set only on success; free it with sn_perf_map_free. */
int sn_perf_map_open(const char *path, struct sn_perf_map **map);
void sn_perf_map_free(struct sn_perf_map *map);

/*
 * The function at an address: fills in frame's name, file and function_line with the pool's
 * strings, and *start. False where the map has none.
 */
bool sn_perf_map_find(const struct sn_perf_map *map, uint64_t address, struct sn_string_pool *pool,
		      struct sn_symbol_frame *frame, uint64_t *start);

#endif
