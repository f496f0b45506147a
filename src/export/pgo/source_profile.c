/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of functions and lines; see source_profile.h. */
#include "source_profile.h"

#include "base/sort_by.h"

#include <stdlib.h>
#include <string.h>

void sn_pgo_profile_release(struct sn_pgo_profile *profile)
{
	sn_intern_release(&profile->names);
	sn_intern_release(&profile->node_keys);
	sn_intern_release(&profile->line_keys);
	sn_intern_release(&profile->target_keys);
	free(profile->nodes);
	free(profile->lines);
	free(profile->targets);
	free(profile->order);
	*profile = (struct sn_pgo_profile){0};
}

static uint32_t noted(struct sn_pgo_profile *profile, uint32_t number)
{
	profile->failed |= number == SN_INTERN_NONE;
	return number;
}

uint32_t sn_pgo_profile_name(struct sn_pgo_profile *profile, const char *name)
{
	return noted(profile, sn_intern_add_text(&profile->names, name, strlen(name)));
}

uint32_t sn_pgo_profile_node(struct sn_pgo_profile *profile, uint32_t parent, uint32_t offset,
			     uint32_t discriminator, uint32_t name)
{
	uint32_t key[] = {parent, offset, discriminator, name};
	if (profile->failed)
		return SN_PGO_NONE;
	return noted(profile,
		     sn_intern_item(&profile->node_keys, key, sizeof(key), &profile->nodes,
				    &profile->node_capacity,
				    {parent, offset, discriminator, name, 0, 0, 0, 0, 0, 0}));
}

uint32_t sn_pgo_profile_line(struct sn_pgo_profile *profile, uint32_t node, uint32_t offset,
			     uint32_t discriminator)
{
	uint32_t key[] = {node, offset, discriminator};
	if (profile->failed)
		return SN_PGO_NONE;
	return noted(profile, sn_intern_item(&profile->line_keys, key, sizeof(key), &profile->lines,
					     &profile->line_capacity,
					     {.node = node,
					      .offset = offset,
					      .discriminator = discriminator,
					      .function = SN_PGO_NONE}));
}

void sn_pgo_profile_count(struct sn_pgo_profile *profile, uint32_t line, uint32_t function,
			  uint64_t count)
{
	if (profile->failed)
		return;
	struct sn_pgo_line *own = &profile->lines[line];
	if (own->function != function)
		own->most = 0;
	own->function = function;
	if (count <= own->most)
		return;
	own->count += count - own->most;
	own->most = count;
}

void sn_pgo_profile_call(struct sn_pgo_profile *profile, uint32_t line, uint32_t name,
			 uint64_t count)
{
	uint32_t key[] = {line, name};
	if (profile->failed)
		return;
	uint32_t number = noted(
	    profile, sn_intern_item(&profile->target_keys, key, sizeof(key), &profile->targets,
				    &profile->target_capacity, {line, name, 0}));
	if (!profile->failed)
		profile->targets[number].count += count;
}

/* ---- what is of one, together ---- */

SN_SORT_BY(sort_targets, struct sn_pgo_target, const struct sn_pgo_profile *,
	   SN_ORDER(a->line, b->line) ?: SN_ORDER(b->count, a->count)
					     ?: strcmp(sn_pgo_name(of, a->name),
						       sn_pgo_name(of, b->name)));
SN_SORT_BY(sort_lines, struct sn_pgo_line, const void *,
	   SN_ORDER_BY(a, b, node, offset, discriminator));

/* Of functions that stand by themselves, and so have no place, the hottest first. */
static int compare_nodes(const struct sn_pgo_profile *profile, const struct sn_pgo_node *a,
			 const struct sn_pgo_node *b)
{
	int order = SN_ORDER_BY(a, b, parent, offset, discriminator);
	if (!order && a->parent == SN_PGO_NONE)
		order = SN_ORDER(b->total, a->total);
	return order ? order : strcmp(sn_pgo_name(profile, a->name), sn_pgo_name(profile, b->name));
}

SN_SORT_BY(sort_order, uint32_t, const struct sn_pgo_profile *,
	   compare_nodes(of, &of->nodes[*a], &of->nodes[*b]));

static void place_targets(struct sn_pgo_profile *profile)
{
	uint32_t count = profile->target_keys.count;
	sort_targets(profile->targets, count, profile);
	for (uint32_t i = 0; i < count; i++) {
		struct sn_pgo_line *line = &profile->lines[profile->targets[i].line];
		if (!line->end_target)
			line->first_target = i;
		line->end_target = i + 1;
	}
}

static void place_lines(struct sn_pgo_profile *profile)
{
	uint32_t count = profile->line_keys.count;
	sort_lines(profile->lines, count, NULL);
	for (uint32_t i = 0; i < count; i++) {
		struct sn_pgo_node *node = &profile->nodes[profile->lines[i].node];
		if (!node->end_line)
			node->first_line = i;
		node->end_line = i + 1;
		node->total += profile->lines[i].count;
	}
	/* what is inlined comes after what it is inlined into */
	for (uint32_t i = profile->node_keys.count; i-- > 0;)
		if (profile->nodes[i].parent != SN_PGO_NONE)
			profile->nodes[profile->nodes[i].parent].total += profile->nodes[i].total;
}

static void place_nodes(struct sn_pgo_profile *profile)
{
	uint32_t count = profile->node_keys.count;
	for (uint32_t i = 0; i < count; i++)
		profile->order[i] = i;
	sort_order(profile->order, count, profile);
	profile->first_function = count;
	for (uint32_t i = count; i-- > 0;) {
		uint32_t parent = profile->nodes[profile->order[i]].parent;
		if (parent == SN_PGO_NONE) {
			profile->first_function = i;
			continue;
		}
		struct sn_pgo_node *node = &profile->nodes[parent];
		if (!node->end_child)
			node->end_child = i + 1;
		node->first_child = i;
	}
}

int sn_pgo_profile_finish(struct sn_pgo_profile *profile)
{
	profile->order = calloc((size_t)profile->node_keys.count + 1, sizeof(*profile->order));
	if (profile->failed || !profile->order)
		return SN_ERR_MEMORY;
	place_targets(profile);
	place_lines(profile);
	place_nodes(profile);
	return 0;
}
