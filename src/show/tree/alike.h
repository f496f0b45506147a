/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Similar layers: siblings whose names differ only in their numbers ("nn.Module: DecoderLayer_0" to
 * "_35") and whose costs are similar become one node with one subtree; in it, the first Linear of
 * one is merged with the first Linear of the others.
 */
#pragma once

#include "tree.h"

/* Folds them in a tree whose siblings were merged by function or line. Does nothing to a tree that
 * compares profiles, because merged nodes could not be compared. 0 or a negative code. */
int sn_tree_fold(struct sn_tree *tree, struct sn_error *error);
