/* SPDX-License-Identifier: Apache-2.0 */
/* Builds one function's tree of scopes; see structure.h. */
#pragma once

#include "nest.h"
#include "structure.h"

/* Memory of one thread, used for one function after another. */
struct sn_scopes {
	struct sn_scope *scopes;
	struct sn_scope_range *ranges;
	uint32_t scope_count, range_count;
	size_t scope_capacity, range_capacity;
	uint32_t *last_child; /* by scope */
	size_t last_capacity;
	bool failed;
};

/* Starts a new tree for the function of `location`. */
void sn_scopes_begin(struct sn_scopes *scopes, const struct sn_symbol_location *location,
		     uint64_t start);
/*
 * Adds the instructions in [start, end) at `location`, which includes loops. Addresses ascend from
 * call to call. `with_line`: in a scope for their line. Returns their scope.
 */
uint32_t sn_scopes_add(struct sn_scopes *scopes, const struct sn_symbol_location *location,
		       uint64_t start, uint64_t end, bool with_line);
/* Counts a loop of the binary, whose header is in `scope`. */
void sn_scopes_count_loop(struct sn_scopes *scopes, uint32_t scope, bool is_irreducible);
/* Accumulates sizes and lines upwards. */
void sn_scopes_finish(struct sn_scopes *scopes);
void sn_scopes_release(struct sn_scopes *scopes);
