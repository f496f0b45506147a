/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolved locations, stored in one file per module, so that a second analysis opens neither symbol
 * tables nor debug information.
 *
 * A file is named by the module's build id (without one, by its path) and lists each file that was
 * read or searched for, with size and time. It is used only while all of these are unchanged, so
 * that debug symbols installed later are found. Files are checksummed and renamed into place; a
 * damaged one is ignored. If two processes write at once, one wins, and the other's locations are
 * resolved again.
 */
#pragma once

#include "string_pool.h"
#include "symbolize.h"

/* The limit of the whole folder: when a file is written, the least recently used ones are removed.
 * */
#define SN_SYMBOL_CACHE_BYTES_MAX     (512ull << 20)
/* If a module's locations exceed this, its cache starts again from empty. */
#define SN_SYMBOL_CACHE_LOCATIONS_MAX 2000000u

struct sn_symbol_known {
	uint64_t address;
	struct sn_symbol_location location;
};

/* The state of a file on which the contents depend. */
struct sn_symbol_dependency {
	const char *path;
	int64_t modified_ns;
	int64_t size_bytes; /* -1: it did not exist */
};

struct sn_symbol_cache_key {
	const char *folder;
	const char *options; /* other inputs of the result: search paths */
	const char *path;    /* the module's, with sysroot */
	const uint8_t *build_id;
	size_t build_id_bytes;
};

struct sn_symbol_cache {
	enum sn_symbol_status status;
	const char *debug_file;	       /* or NULL */
	struct sn_symbol_known *known; /* by ascending address; malloc'ed */
	size_t known_count;
	struct sn_symbol_dependency *dependencies; /* malloc'ed */
	size_t dependency_count;
	void *image; /* holds names and frames; malloc'ed */
	struct sn_symbol_frame *frames;
};

/* Reads the file's present state. */
void sn_symbol_dependency_read(struct sn_symbol_dependency *dependency);

/* False if there is no usable file; `cache` is then all zero. */
bool sn_symbol_cache_load(const struct sn_symbol_cache_key *key, struct sn_symbol_cache *cache);
void sn_symbol_cache_release(struct sn_symbol_cache *cache);
/* Writes `cache`, merged with locations that another process has written meanwhile. SN_ERR_IO,
 * SN_ERR_MEMORY. */
int sn_symbol_cache_save(const struct sn_symbol_cache_key *key, const struct sn_symbol_cache *cache,
			 struct sn_error *error);
