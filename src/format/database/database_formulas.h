/* SPDX-License-Identifier: Apache-2.0 */
/* The section of formulas (docs/format/database.md): texts that are known in a database by name. */
#pragma once

#include "base/buffer.h"

#include <stdint.h>

/* Neither contains NUL. */
struct sn_database_formula {
	const char *name, *text;
};

/* Puts the section's bytes into the buffer. */
void sn_db_lay_formulas(const struct sn_database_formula *formulas, uint32_t count,
			struct sn_buffer *section);
