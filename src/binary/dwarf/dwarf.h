/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions, inlined calls and lines of addresses, from DWARF 2 to 5.
 *
 * Written here instead of on a general library because a profile asks few addresses of very large
 * files: only the units that hold an asked address are walked, in them only what encloses one is
 * looked at closely, and nothing is kept of the rest. Every read is bounded, and so is the whole: a
 * damaged file yields less, never a crash or a hang. Types, variables and call frames are not read.
 */
#ifndef SN_BINARY_DWARF_H
#define SN_BINARY_DWARF_H

#include "binary/elf/debug_file.h"
#include "binary/elf/elf_file.h"
#include "binary/string_pool.h"
#include "binary/symbolize.h"

struct sn_dwarf;

/*
 * `file` has the debug sections; `shared` is the file it shares some with (dwz), or NULL; `code`
 * the file that says where code is (the module's own, or `file`). All outlive the result. Builds
 * the index of units. NULL for lack of memory or of units.
 */
struct sn_dwarf *sn_dwarf_open(struct sn_elf_file *file, struct sn_elf_file *shared,
			       const struct sn_elf_file *code);
/* Functions that are in files of their own (.dwo, .dwp) are found from here on; `path` is that of
 * the file with the debug sections. */
void sn_dwarf_use_split(struct sn_dwarf *dwarf, const struct sn_debug_search *search,
			const char *path);
void sn_dwarf_free(struct sn_dwarf *dwarf);

/* Forgets all strings of pools given so far, which may then be released. */
void sn_dwarf_forget(struct sn_dwarf *dwarf);

/*
 * Resolves ascending addresses into out[count], which start zeroed. An address without debug
 * information keeps depth 0; one with a line but no function gets one frame without name. Here a
 * frame's linkage_name is the raw symbol or NULL and its name what the source says. Frames and
 * strings are the pool's. SN_ERR_MEMORY or 0.
 */
int sn_dwarf_resolve(struct sn_dwarf *dwarf, const uint64_t *addresses, size_t count,
		     struct sn_string_pool *pool, struct sn_symbol_location *out);

#endif
