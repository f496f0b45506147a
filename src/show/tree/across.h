/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How profiles differ at each node of a tree: statistics of their inclusive sums, as the database
 * has them for whole contexts, for nodes that stand for several contexts or a selection as well.
 */
#ifndef SN_SHOW_ACROSS_H
#define SN_SHOW_ACROSS_H

#include "tree.h"

/* Fills in tree->across. node_of[context]; keep[context] and profiles[profile] may be NULL: all.
 * Costs as much as reading all values of the tree's metrics, times the depth, unless the tree is
 * the database's own, whose summaries are taken. */
int sn_across_load(struct sn_tree *tree, const uint32_t *node_of, const bool *keep,
		   const bool *profiles, struct sn_error *error);

#endif
