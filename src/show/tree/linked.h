/* SPDX-License-Identifier: Apache-2.0 */
/* Collects nodes of a tree, each below an earlier one, and then puts them in pre-order. */
#pragma once

#include "tree.h"

struct sn_linked {
	uint32_t count;
	struct sn_tree_node *nodes; /* in order of arrival */
	uint32_t *first_child, *last_child, *next_sibling;
};

/* With room for so many, in the arena. 0 or SN_ERR_MEMORY. */
int sn_linked_init(struct sn_linked *linked, struct sn_arena *arena, uint32_t most);
/* Adds a node for `frame` below `parent`; the first one is the root. Returns its number. */
uint32_t sn_linked_add(struct sn_linked *linked, uint32_t parent, uint32_t frame);
/* Writes the nodes in pre-order, siblings in order of arrival, to ordered[count], and each one's
 * place there to place[count]. */
void sn_linked_order(const struct sn_linked *linked, struct sn_tree_node *ordered, uint32_t *place);
