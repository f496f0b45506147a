/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions, inlined calls and lines of addresses, from DWARF 2 to 5.
 *
 * Not based on a general library because a profile looks up few addresses in very large files: only
 * units that contain such an address are walked, only entries that enclose one are decoded
 * completely, and nothing else is stored. Each read is bounded, and so is the total work: a damaged
 * file gives fewer results, never a crash or a hang. Types, variables and call frames are not read.
 */
#pragma once

#include "binary/elf/debug_file.h"
#include "binary/elf/elf_file.h"
#include "binary/string_pool.h"
#include "binary/symbolize.h"

struct sn_dwarf;

/*
 * `file` has the debug sections; `shared` is the file it shares some with (dwz), or NULL; `code`
 * the file with the places of code (the module's own, or `file`). All must outlive the result.
 * Builds the index of units. NULL without memory or without units.
 */
struct sn_dwarf *sn_dwarf_open(struct sn_elf_file *file, struct sn_elf_file *shared,
			       const struct sn_elf_file *code);
/* From now on functions in separate files (.dwo, .dwp) are found; `path` is that of the file with
 * the debug sections. */
void sn_dwarf_use_split(struct sn_dwarf *dwarf, const struct sn_debug_search *search,
			const char *path);
void sn_dwarf_free(struct sn_dwarf *dwarf);

/* Removes all references to strings of earlier pools, which may then be released. */
void sn_dwarf_forget(struct sn_dwarf *dwarf);

/*
 * Resolves ascending addresses into out[count], which start zeroed. An address without debug
 * information keeps depth 0; one with a line but no function gets one frame without name. Here a
 * frame's linkage_name is the raw symbol or NULL, and its name that of the source. Frames and
 * strings belong to the pool. SN_ERR_MEMORY or 0.
 */
int sn_dwarf_resolve(struct sn_dwarf *dwarf, const uint64_t *addresses, size_t count,
		     struct sn_string_pool *pool, struct sn_symbol_location *out);
