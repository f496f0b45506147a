/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an HPCToolkit database holds the same values twice: by profile in profile.db, by context
 * in cct.db. Readers open one or the other, and would show different values.
 *
 * Both are scanned once. Of each value a hash of its profile, context, metric and bits is added to
 * a sum, which does not depend on the order; count and sum have to be the same (a difference goes
 * unseen once in 2^64). Summaries over all profiles are in profile.db only and do not count.
 */
#pragma once

#include "base/cursor.h"
#include "base/error.h"

/* Compares the contents of profile.db and cct.db, whose headers and footers have been checked.
 * SN_ERR_FORMAT if they differ or one is damaged; `path` is cct.db's, for the message. */
int sn_hpct_transpose_check(struct sn_bytes by_profile, struct sn_bytes by_context,
			    const char *path, struct sn_error *error);
