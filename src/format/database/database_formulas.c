/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas as a section; see database_formulas.h. */
#include "database_formulas.h"

#include "database.h"

void sn_db_lay_formulas(const struct sn_database_formula *formulas, uint32_t count,
			struct sn_buffer *section)
{
	struct sn_database_formulas head = {count, 0};
	sn_buffer_put(section, &head, sizeof(head));
	for (uint32_t i = 0; i < count; i++) {
		sn_buffer_put(section, formulas[i].name, strlen(formulas[i].name) + 1);
		sn_buffer_put(section, formulas[i].text, strlen(formulas[i].text) + 1);
	}
}
