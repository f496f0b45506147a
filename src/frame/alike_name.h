/* SPDX-License-Identifier: Apache-2.0 */
/* Names of instances of one thing, such as the layers of a model: "nn.Module: Decoder_*". */
#pragma once

#include "sonde/db.h"

#include <stdbool.h>
#include <stddef.h>

/* The name of a frame with a star for each number, as a text of at most `size` bytes; false if its
 * kind's numbers do not count instances, or it has no number. */
bool sn_alike_name(const struct sonde_db *db, uint32_t frame, char *text, size_t size);
