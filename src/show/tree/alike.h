/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers that are alike: siblings whose names differ in their numbers alone ("nn.Module:
 * DecoderLayer_0" to "_35") and whose costs are near each other become one node, and what is below
 * them one subtree; in there, the first Linear of one goes to the first Linear of the others.
 */
#ifndef SN_SHOW_ALIKE_H
#define SN_SHOW_ALIKE_H

#include "tree.h"

/* Folds them in a tree whose siblings were merged by function or line. Does nothing to one that
 * compares profiles: what was merged could not be compared. 0 or a negative code. */
int sn_tree_fold(struct sn_tree *tree, struct sn_error *error);

/* The name of a frame with a star for each number, as a text of at most `size` bytes; false where
 * it is of a kind whose numbers do not count instances, or has none. */
bool sn_alike_name(const struct sonde_db *db, uint32_t frame, char *text, size_t size);

#endif
