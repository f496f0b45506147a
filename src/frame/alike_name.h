/* SPDX-License-Identifier: Apache-2.0 */
/* Instances of one thing, such as the layers of a model: their name "nn.Module: Decoder_*", and whether they cost alike. */
#pragma once

#include "sonde/db.h"

#include <stdbool.h>
#include <stddef.h>

/* The name of a frame with a star for each number, as a text of at most `size` bytes; false if its
 * kind's numbers do not count instances, or it has no number. */
bool sn_alike_name(const struct sonde_db *db, uint32_t frame, char *text, size_t size);

/* The costs of instances of one name. */
struct sn_alike_costs {
	double count, sum, sum_squares;
};
enum { SN_ALIKE_LEAST = 3 };
void sn_alike_add(struct sn_alike_costs *costs, double cost);
/* Whether they are alike: at least SN_ALIKE_LEAST that cost something, with a standard deviation of at most half of
 * their mean. */
bool sn_alike_near(const struct sn_alike_costs *costs);
