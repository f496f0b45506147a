/* SPDX-License-Identifier: Apache-2.0 */
/* The last frame of a calling context, and its name. Both belong to the database. */
#pragma once

#include "sonde/db.h"

static inline const struct sonde_db_frame *sn_context_frame(const struct sonde_db *db,
							    uint32_t context)
{
	return sonde_db_frame(db, sonde_db_context(db, context)->frame);
}

static inline const char *sn_context_name(const struct sonde_db *db, uint32_t context)
{
	return sonde_db_string(db, sn_context_frame(db, context)->name);
}
