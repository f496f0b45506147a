/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section of formulas (docs/format/database.md): texts that are known in a database by name.
 *
 * It is put behind a database that is already whole, with a new section table behind it, so that
 * those who write databases know nothing of formulas and nothing is written twice.
 */
#ifndef SN_FORMAT_DATABASE_FORMULAS_H
#define SN_FORMAT_DATABASE_FORMULAS_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Neither contains NUL. */
struct sn_database_formula {
	const char *name, *text;
};

/* The section's bytes, from malloc, padded with zeroes to SN_SECTION_ALIGN beyond *length; NULL
 * without memory. */
unsigned char *sn_db_lay_formulas(const struct sn_database_formula *formulas, uint32_t count,
				  size_t *length);

/*
 * Gives the database at `path` these formulas, in place of those it has. It must not be open
 * elsewhere: write beside and rename. 0 or a negative enum sn_err; then the file is as it was, or
 * useless.
 */
int sn_db_store_formulas(const char *path, const struct sn_database_formula *formulas,
			 uint32_t count, struct sn_error *error);

#endif
