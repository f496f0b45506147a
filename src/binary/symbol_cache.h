/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locations already resolved, kept in one file per module between runs, so that a second analysis
 * opens neither symbol tables nor debug information.
 *
 * A file is named by the module's build id (without one, by its path) and says what its contents
 * were made of: each file that was read or looked for, with size and time. It is believed only
 * while all of that is unchanged, so that debug symbols installed later are found. Files are
 * checksummed, written beside and renamed; anything wrong with one makes it as if it were not
 * there. Writers may race: one of them wins, and what the other learned is learned again.
 */
#ifndef SN_BINARY_SYMBOL_CACHE_H
#define SN_BINARY_SYMBOL_CACHE_H

#include "string_pool.h"
#include "symbolize.h"

/* The whole folder is kept below this: the files longest unused are removed when one is written. */
#define SN_SYMBOL_CACHE_BYTES_MAX     (512ull << 20)
/* A module whose locations grow beyond this starts anew. */
#define SN_SYMBOL_CACHE_LOCATIONS_MAX 2000000u

struct sn_symbol_known {
	uint64_t address;
	struct sn_symbol_location location;
};

/* A file that the contents depend on, as it was then. */
struct sn_symbol_dependency {
	const char *path;
	int64_t modified_ns;
	int64_t size_bytes; /* -1: it did not exist */
};

struct sn_symbol_cache_key {
	const char *folder;
	const char *options; /* what else decides the outcome: search paths */
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
	void *image; /* what names and frames point into; malloc'ed */
	struct sn_symbol_frame *frames;
};

/* The file's state now. */
void sn_symbol_dependency_read(struct sn_symbol_dependency *dependency);

/* False where nothing usable is kept; `cache` is then all zero. */
bool sn_symbol_cache_load(const struct sn_symbol_cache_key *key, struct sn_symbol_cache *cache);
void sn_symbol_cache_release(struct sn_symbol_cache *cache);
/* Writes `cache`, with what another process has written meanwhile. SN_ERR_IO, SN_ERR_MEMORY. */
int sn_symbol_cache_save(const struct sn_symbol_cache_key *key, const struct sn_symbol_cache *cache,
			 struct sn_error *error);

#endif
