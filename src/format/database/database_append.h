/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A section behind a database that is already whole, with a new section table behind it: for what
 * is known only once all else is written. Those who write databases know nothing of it, and nothing
 * is written twice.
 */
#ifndef SN_FORMAT_DATABASE_APPEND_H
#define SN_FORMAT_DATABASE_APPEND_H

#include "base/buffer.h"
#include "base/error.h"

/*
 * Gives the database at `path` this section, in place of the one of its type that it has. It must
 * not be open elsewhere: write beside and rename. 0 or a negative enum sn_err, so where the buffer
 * has failed; then the file is as it was, or useless.
 */
int sn_db_append(const char *path, unsigned type, const struct sn_buffer *section,
		 struct sn_error *error);

#endif
