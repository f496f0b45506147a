/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas that are known by name; see formula.h. */
#include "formula.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
	const char *name, *text, *about;
} shipped[] = {
#define SN_FORMULA(name, text, about) {name, text, about},
#include "formulas.def"
#undef SN_FORMULA
};

uint32_t sn_formulas_index(const struct sn_formulas *formulas, const char *name)
{
	for (uint32_t i = formulas->count; i-- > 0;) {
		const char *a = formulas->items[i]->name, *b = name;
		while (*a && (*a == *b || (strchr("-_", *a) && *b && strchr("-_", *b))))
			a++, b++;
		if (*a == *b)
			return i;
	}
	return SONDE_NONE;
}

const struct sn_formula *sn_formulas_find(const struct sn_formulas *formulas, const char *name)
{
	uint32_t index = sn_formulas_index(formulas, name);
	return index == SONDE_NONE ? NULL : formulas->items[index];
}

static int append(struct sn_formulas *formulas, struct sn_formula *formula, const char *about)
{
	size_t count = formulas->count + 1ull;
	if (sn_vec_reserve(&formulas->items, &formulas->item_capacity, count) < 0 ||
	    sn_vec_reserve(&formulas->about, &formulas->about_capacity, count) < 0) {
		sn_formula_free(formula);
		return SN_ERR_MEMORY;
	}
	formulas->items[formulas->count] = formula;
	formulas->about[formulas->count++] = about;
	return 0;
}

int sn_formulas_add(struct sn_formulas *formulas, const char *name, const char *text,
		    struct sn_formula_problem *problem, struct sn_error *error)
{
	struct sn_formula *formula;
	int code = sn_formula_parse(formulas->db, formulas, name, text, &formula, problem, error);
	if (code)
		return code;
	return append(formulas, formula, "") ? sn_fail_memory(error) : 0;
}

static int add_shipped(struct sn_formulas *formulas, size_t i)
{
	struct sn_formula *formula;
	struct sn_error error;
	if (sn_formulas_index(formulas, shipped[i].name) != SONDE_NONE ||
	    sonde_db_metric_by_name(formulas->db, shipped[i].name) != SONDE_NONE)
		return 0;
	int code = sn_formula_parse(formulas->db, formulas, shipped[i].name, shipped[i].text,
				    &formula, NULL, &error);
	if (code)
		return code == SN_ERR_MEMORY ? code : 0;
	return append(formulas, formula, shipped[i].about);
}

int sn_formulas_init(struct sn_formulas *formulas, const struct sonde_db *db)
{
	*formulas = (struct sn_formulas){.db = db};
	int code = 0;
	for (size_t i = 0; i < sizeof(shipped) / sizeof(*shipped) && !code; i++)
		code = add_shipped(formulas, i);
	const char *name, *text;
	for (uint32_t i = 0; !code && sonde_db_formula(db, i, &name, &text); i++) {
		code = sn_formulas_add(formulas, name, text, NULL, NULL);
		if (code == SN_ERR_ARGUMENT)
			code = 0;
	}
	return code;
}

void sn_formulas_release(struct sn_formulas *formulas)
{
	for (uint32_t i = 0; i < formulas->count; i++)
		sn_formula_free(formulas->items[i]);
	free(formulas->items);
	free(formulas->about);
	*formulas = (struct sn_formulas){0};
}
