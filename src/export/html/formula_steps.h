/* SPDX-License-Identifier: Apache-2.0 */
/* A formula for programs that evaluate it themselves: what the HTML page does. */
#pragma once

#include "lib/db/formula.h"

/*
 * The formula's steps as a JSON array in postfix order, for programs that evaluate it themselves
 * (docs/format/html.md). free() it; NULL without memory.
 */
char *sn_formula_steps_json(const struct sn_formula *formula);
