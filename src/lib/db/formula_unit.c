/* SPDX-License-Identifier: Apache-2.0 */
/* Units of formulas; see formula_unit.h. */
#include "formula_unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void multiply(struct sn_dimension *dimension, const char *unit, int power)
{
	int i = 0;
	while (i < dimension->count && strcmp(dimension->bases[i].unit, unit) != 0)
		i++;
	if (i == SN_DIMENSION_BASES) {
		dimension->is_unknown = true;
		return;
	}
	if (i == dimension->count) {
		snprintf(dimension->bases[i].unit, sizeof(dimension->bases[i].unit), "%s", unit);
		dimension->bases[i].power = 0;
		dimension->count++;
	}
	dimension->bases[i].power += power;
	if (dimension->bases[i].power == 0)
		dimension->bases[i] = dimension->bases[--dimension->count];
}

struct sn_dimension sn_dimension_of(const char *unit)
{
	struct sn_dimension dimension = {.count = 0};
	if (strlen(unit) >= sizeof(dimension.bases[0].unit))
		dimension.is_unknown = true;
	else if (*unit && strcmp(unit, "1") != 0)
		multiply(&dimension, unit, 1);
	return dimension;
}

static bool is_alike(const struct sn_dimension *a, const struct sn_dimension *b)
{
	struct sn_dimension quotient = *a;
	for (int i = 0; i < b->count; i++)
		multiply(&quotient, b->bases[i].unit, -b->bases[i].power);
	return quotient.count == 0 && !quotient.is_unknown && !b->is_unknown;
}

struct sn_dimension sn_dimension_sum(struct sn_dimension a, struct sn_dimension b)
{
	if (a.is_literal)
		return b;
	if (b.is_literal)
		return a;
	if (!is_alike(&a, &b))
		a.is_unknown = true;
	a.is_ratio = a.is_ratio && b.is_ratio;
	return a;
}

struct sn_dimension sn_dimension_product(struct sn_dimension a, struct sn_dimension b, int power)
{
	struct sn_dimension result = a;
	for (int i = 0; i < b.count; i++)
		multiply(&result, b.bases[i].unit, power * b.bases[i].power);
	result.is_unknown |= b.is_unknown;
	result.is_literal = a.is_literal && b.is_literal;
	result.is_ratio = power < 0 && a.count > 0 && result.count == 0 && !result.is_unknown;
	return result;
}

struct sn_dimension sn_dimension_power(struct sn_dimension a, double exponent)
{
	a.is_ratio = false;
	for (int i = 0; i < a.count; i++) {
		double power = a.bases[i].power * exponent;
		if (!(fabs(power) < 100) || power != floor(power) || power == 0)
			a.is_unknown = true;
		else
			a.bases[i].power = (int)power;
	}
	return a;
}

static void append(char *text, size_t size, const char *joint, const char *unit, int power)
{
	size_t used = strlen(text);
	if (power == 1)
		snprintf(text + used, size - used, "%s%s", used ? joint : "", unit);
	else
		snprintf(text + used, size - used, "%s%s^%d", used ? joint : "", unit, power);
}

double sn_dimension_unit(const struct sn_dimension *dimension, char *unit, size_t size)
{
	char below[128] = "";
	double scale = 1;
	unit[0] = '\0';
	if (dimension->is_unknown)
		return 1;
	if (dimension->count == 0) {
		snprintf(unit, size, "%s", dimension->is_ratio ? "ratio" : "1");
		return 1;
	}
	for (int i = 0; i < dimension->count; i++) {
		const char *base = dimension->bases[i].unit;
		int power = dimension->bases[i].power;
		if (power > 0) {
			append(unit, size, "*", base, power);
		} else if (strcmp(base, "ns") == 0) {
			append(below, sizeof(below), "/", "s", -power);
			scale = pow(1e9, -power);
		} else {
			append(below, sizeof(below), "/", base, -power);
		}
	}
	size_t used = strlen(unit);
	if (*below)
		snprintf(unit + used, size - used, "%s/%s", used ? "" : "1", below);
	return scale;
}
