/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The importer of a store of continuous profiling (format/epoch): each origin becomes a profile,
 * each image a frame with its functions below.
 */
#pragma once

#include "import/core/importer.h"

/* Which part of a store is wanted: the `own` of a struct sn_import_request; NULL: all of it. */
struct sn_epochs_wanted {
	/* Since the Unix epoch, both included; 0 and UINT64_MAX: no limit. A part that lies in it to
	 * some extent is taken as a whole. */
	uint64_t since_ns, until_ns;
	const char *image; /* the path of an image or its last component; NULL: all */
	/* A part lies in the range in which it begins, so that ranges one after the other, each without its end, share none. */
	bool is_apart;
	/* Of this epoch alone, its parts from the first to before the last one (from 0); 0: of all. */
	uint64_t epoch, first_part, last_part;
	bool names_only; /* neither loops, nor a cache of what was looked up */
};

extern const struct sn_importer sn_importer_epochs;
