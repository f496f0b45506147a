/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units of formulas, by the rules of dimensions: summands must have the same unit, a product has
 * the product of the units. Private to formulas.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { SN_DIMENSION_BASES = 4 };

/* A product of powers of units. */
struct sn_dimension {
	struct {
		char unit[24];
		int power; /* not 0 */
	} bases[SN_DIMENSION_BASES];
	int count;
	bool is_unknown;
	bool is_literal; /* a plain number, which takes the unit of its other summand */
	bool is_ratio;	 /* one quantity in parts of another: shown in percent */
};

/* Of a metric's unit: "1" and "" are none. */
struct sn_dimension sn_dimension_of(const char *unit);
/* Of a sum, a difference, the lesser or greater of two, or either of two. */
struct sn_dimension sn_dimension_sum(struct sn_dimension a, struct sn_dimension b);
/* a * b ^ power, power being 1 or -1. */
struct sn_dimension sn_dimension_product(struct sn_dimension a, struct sn_dimension b, int power);
/* a ^ exponent; unknown if that is not a product of whole powers. */
struct sn_dimension sn_dimension_power(struct sn_dimension a, double exponent);

/* Writes the unit as in reports; returns the factor for values, because rates are per second and
 * times are nanoseconds. "" is unknown. */
double sn_dimension_unit(const struct sn_dimension *dimension, char *unit, size_t size);
