/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the symbolizer for all native frames of a merged tree at once, module by module. */
#pragma once

#include "binary/symbolize.h"
#include "merge.h"

struct sn_resolved {
	/* By the merge's frame number: where the frame lies, or NULL where it is no code or has
	 * no module. They live until sn_resolved_release, and the symbolizer must live as long. */
	const struct sn_symbol_location **locations;
	struct sn_symbol_location *storage;
	size_t address_count; /* distinct ones */
	uint32_t *modules; /* symbolizer's, by the merge's module number; SONDE_NONE: not asked */
};

/* Looks modules up with up to `jobs` threads, and counts maps of generated code that could not be
 * read whole among the builder's drops. 0 or a negative enum sn_err; release in either case.
 */
int sn_resolve(const struct sn_merge *merge, struct sn_symbolizer *symbolizer, unsigned jobs,
	       struct sn_resolved *resolved);
void sn_resolved_release(struct sn_resolved *resolved);
