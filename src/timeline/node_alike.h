/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Annotations and modules that are instances of one thing: "FSDP::all_gather (layers.0)" to
 * "(layers.31)". Nobody changes one of them alone, and each has so little that another node would
 * seem to have most.
 */
#pragma once

#include "sonde/db.h"

/* Of each frame the one that represents it: the first of those whose names differ in their numbers
 * alone, if there are three at least, with similar costs; else itself. The caller frees it; NULL without
 * memory. */
uint32_t *sn_node_alike(const struct sonde_db *db);
