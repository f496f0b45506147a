/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures of a causal graph: variables as boxes in columns from causes (left) to effects (right),
 * joined by arrows. Black stands for a positive effect, red with an open head for a negative one,
 * grey for one without a sign; an arrow is as wide as its share of the variance, dashed where few
 * samples have it, and without a head where its direction is not known.
 *
 * The caller fills in a struct sn_causal_drawing, whose texts and arrays stay its own:
 *
 *	sn_causal_dot(&drawing, out);
 *	result = sn_causal_svg(&drawing, out);
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SN_CAUSAL_NO_TARGET UINT32_MAX
/* Below this frequency an arrow is dashed. */
#define SN_CAUSAL_FREQUENT  0.8
/* Variables in one picture; of more, those that lie nearest to the target are drawn. */
enum { SN_CAUSAL_DRAWN = 60 };

struct sn_causal_variable {
	const char *name;
	uint32_t tier; /* a cause has no higher tier than its effects; 0 for all without tiers */
	bool is_category;
};

/* Numbers that are not known are NAN. */
struct sn_causal_arrow {
	uint32_t from, to; /* variables */
	bool is_directed;
	double frequency; /* 0 to 1, of the samples: that have the edge, in any direction */
	double directed;  /* of the samples: from -> to */
	double reversed;  /* to -> from */
	double effect, effect_low, effect_high; /* of from on to, with its 95 % interval */
	double same_sign; /* of the samples with an effect: that of `effect` */
	double share;	  /* 0 to 1, of the variance of `to` */
};

struct sn_causal_drawing {
	const char *title;
	const struct sn_causal_variable *variables;
	uint32_t variable_count;
	uint32_t target; /* a variable, or SN_CAUSAL_NO_TARGET */
	const struct sn_causal_arrow *arrows;
	size_t arrow_count;
	const char *const *tiers; /* names, by tier; or NULL */
	uint32_t tier_count;
};

/* 1 or -1; 0 where there is no effect, or its interval holds 0. */
int sn_causal_sign(const struct sn_causal_arrow *arrow);

/* For Graphviz, all variables that have an arrow, and the target. */
void sn_causal_dot(const struct sn_causal_drawing *drawing, FILE *out);
/* An SVG file, light or dark as the reader's system is, with names and effects as tooltips. An
 * arrow is an element with the id "arrow-N", N its number in `arrows`, a variable one with
 * "variable-N". 0 or SN_ERR_MEMORY. */
int sn_causal_svg(const struct sn_causal_drawing *drawing, FILE *out);
