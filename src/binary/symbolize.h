/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From addresses in load modules to functions, loops, inlined calls, files and lines.
 *
 * A symbolizer holds modules. Many addresses of a module are looked up at once, because the
 * expensive steps (mapping a file, scanning a symbol table, walking a compilation unit) are then
 * done once. Symbols come from the module's file and from its separate debug file, found as gdb
 * finds
 * it: by build id, by .gnu_debuglink, by .gnu_debugaltlink. A file is used only if its build id is
 * the one measured. Nothing is fetched from a network, and no debug information is read for an
 * address that is in the symbol cache. See docs/design/symbols.md.
 *
 * MT: different modules may be looked up by different threads at once; sn_symbolizer_module and
 * sn_symbolizer_free must not run beside any other call.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_symbolizer;

struct sn_symbolizer_options {
	/* Where resolved addresses are kept between runs. NULL: $XDG_CACHE_HOME/sonde, else
	 * ~/.cache/sonde; "": nowhere. */
	const char *cache_folder;
	/* Folders of separate debug files, separated by ':'. NULL: $SONDE_DEBUG_PATH, else
	 * /usr/lib/debug. */
	const char *debug_path;
	/* Put before every module's path and every debug folder; NULL or "": nothing. */
	const char *sysroot;
	/* Leave loops out of locations. */
	bool no_loops;
};

enum sn_symbol_kind {
	SN_SYMBOL_FUNCTION, /* the physical one */
	SN_SYMBOL_INLINED,  /* has no code of its own here */
	SN_SYMBOL_LOOP,
};

/* One level of the call path at an address. The strings are valid until the symbolizer is freed. */
struct sn_symbol_frame {
	const char *name;	  /* readable: demangled, without parameters; NULL unknown */
	const char *linkage_name; /* the symbol if it differs from the name; else NULL */
	const char *file;	  /* as the compiler wrote it, made absolute; NULL unknown */
	uint32_t line; /* in `file`: of the address, or of the call inlined next; 0 unknown */
	uint32_t function_line; /* where the function is declared, the loop begins; 0 unknown */
	uint32_t kind;		/* enum sn_symbol_kind */
	/* Of a loop, which has no name: the address of its first instruction, which identifies a
	 * loop without a line; and its number among those that begin at its line, from 1, in the
	 * order of the source; 0 the only one. */
	uint64_t loop_header;
	uint32_t loop_number;
	/* Of the code at `line`, to distinguish loops: its column, its lexical block, and the
	 * compiler's number of the block of code. 0 unknown, and always from the cache. */
	uint32_t column, block, discriminator;
	/* The compiler's number of the call inlined next, among those at `line`; 0 one alone, and
	 * always from the cache. */
	uint32_t call_discriminator;
};

/*
 * frames[0] is the physical function, frames[depth - 1] the innermost inlined one or loop. Loops
 * are in the function, inlined or not, in whose source they are. depth is at least 1: for an
 * unknown address the one frame is all NULL and 0, and the caller prints `libfoo.so+0x1234`.
 */
struct sn_symbol_location {
	const struct sn_symbol_frame *frames;
	uint32_t depth;
	/* ELF virtual address where the physical function begins: from its symbol, or for a
	 * stripped file from the unwind table, so that nameless code still groups by function. 0
	 * unknown. */
	uint64_t function_start;
};

enum sn_symbol_status {
	SN_SYMBOL_NOT_LOADED, /* all looked up addresses were in the cache */
	SN_SYMBOL_LINES,      /* symbols, and debug information with lines */
	SN_SYMBOL_SYMBOLS,    /* symbols, but no debug information */
	SN_SYMBOL_STRIPPED,   /* the file has neither; functions are known by their start, if at all
			       */
	SN_SYMBOL_NOT_FOUND,  /* the file is gone or cannot be read */
	SN_SYMBOL_DIFFERS,    /* the file is not the one measured: another build id. Not used */
	SN_SYMBOL_UNSUPPORTED, /* not a 64-bit little-endian ELF file, or damaged */
	SN_SYMBOL_NO_FILE,     /* anonymous memory: there is no file */
	/* Of maps of code generated at run time (perf_map.h): */
	SN_SYMBOL_FOREIGN, /* another user's; not read */
	SN_SYMBOL_PARTIAL, /* larger than the limit: the rest has no names */
};

struct sn_symbol_module_info {
	enum sn_symbol_status status;
	const char *debug_file; /* the separate debug file used, or NULL. Valid as long as names. */
	uint64_t asked_count;	/* addresses looked up */
	uint64_t cached_count;	/* ... of these, found in the cache */
	uint64_t unnamed_count; /* ... without a name */
	uint64_t lineless_count; /* ... without a line */
};

/* options may be NULL. *symbolizer is set only on success. */
int sn_symbolizer_new(const struct sn_symbolizer_options *options,
		      struct sn_symbolizer **symbolizer, struct sn_error *error);
/* Also writes new locations to the cache, as sn_symbolizer_save does. NULL is allowed. */
void sn_symbolizer_free(struct sn_symbolizer *symbolizer);
/* If the cache cannot be written, the results are not affected; the text gives the reason. */
int sn_symbolizer_save(struct sn_symbolizer *symbolizer, struct sn_error *error);

/*
 * Adds a module; numbers are from 0. Opens no file. `flags` is enum sn_module_flags of
 * format/measurement/measurement.h. A build id of 0 bytes is unknown: then the file is used without
 * this check.
 */
int sn_symbolizer_module(struct sn_symbolizer *symbolizer, const char *path,
			 const uint8_t *build_id, size_t build_id_bytes, uint32_t flags,
			 uint32_t *module);

/*
 * Resolves `count` ELF virtual addresses, sorted ascending (equal ones allowed), into out[count].
 * For return addresses the caller passes address - 1. An unreadable module is no failure: its
 * addresses are unknown and its status gives the reason. Fails without memory, for an unknown
 * module or unsorted addresses.
 */
int sn_symbolizer_lookup(struct sn_symbolizer *symbolizer, uint32_t module,
			 const uint64_t *addresses, size_t count, struct sn_symbol_location *out);

/*
 * Frees all results of a module: its locations, their strings and info.debug_file are no longer
 * valid. Files stay open. For callers that look up a whole large module, part by part, without a
 * cache folder.
 */
void sn_symbolizer_forget(struct sn_symbolizer *symbolizer, uint32_t module);

void sn_symbolizer_module_info(const struct sn_symbolizer *symbolizer, uint32_t module,
			       struct sn_symbol_module_info *info);
/* One phrase: "the file has changed since it was measured". */
const char *sn_symbol_status_text(enum sn_symbol_status status);
