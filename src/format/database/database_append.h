/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appends a section and a new section table to a complete database, for data that is known only
 * after everything else is written. The writers of databases do not need to know it.
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"

/*
 * Appends the section to the database at `path`, replacing one of its type. The file must not be
 * open elsewhere: use it before the file is renamed to its final name. 0 or a negative enum sn_err,
 * also if the buffer has failed; the file is then unchanged or unusable.
 */
int sn_db_append(const char *path, unsigned type, const struct sn_buffer *section,
		 struct sn_error *error);
