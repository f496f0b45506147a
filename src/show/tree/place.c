/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matching contexts are put together where their call paths are the same functions; see place.h.
 * Paths are compared by the numbers that they get in one pass over the tree.
 */
#include "place.h"

#include "base/arena.h"
#include "base/sort_by.h"
#include "base/table.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "frame/group.h"
#include "show/label.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A search for places. */
struct search {
	const struct sonde_db *db;
	uint32_t metric;
	struct sn_groups groups;
	struct sn_table paths;	/* (path of the caller, function) to a path less 1 */
	struct sn_table places; /* path to its place */
	struct sn_arena arena;
	bool *keep;	/* [context]: selected by the pattern */
	uint32_t *path; /* [context]: equal for the same functions; the root's is 0 */
};

static int number_paths(struct search *search)
{
	for (uint32_t i = 1; i < sonde_db_context_count(search->db); i++) {
		const struct sonde_db_context *context = sonde_db_context(search->db, i);
		uint32_t number = sn_table_add(
		    &search->paths, sn_table_pair(search->path[context->parent],
						  search->groups.of_frame[context->frame]));
		if (number == SN_TABLE_NONE)
			return SN_ERR_MEMORY;
		search->path[i] = number + 1;
	}
	return 0;
}

static int add_context(struct sn_places *places, struct search *search, uint32_t context,
		       uint32_t path)
{
	struct sonde_db_summary summary;
	uint32_t number = sn_table_add(&search->places, path);
	if (number == SN_TABLE_NONE ||
	    (number == places->count &&
	     sn_vec_push(&places->items, &places->capacity, &places->count, (struct sn_place){0})))
		return SN_ERR_MEMORY;
	struct sn_place *place = places->items + number;
	if (sn_vec_push(&place->contexts, &place->capacity, &place->count, context))
		return SN_ERR_MEMORY;
	sonde_db_summary(search->db, context, search->metric, &summary);
	place->cost += summary.inclusive.sum;
	return 0;
}

static int add_matches(struct sn_places *places, struct search *search)
{
	uint32_t count = sonde_db_context_count(search->db);
	for (uint32_t i = 0; i < count;) {
		if (!search->keep[i]) {
			i++;
			continue;
		}
		if (add_context(places, search, i, search->path[i]))
			return SN_ERR_MEMORY;
		i = sonde_db_context(search->db, i)->end; /* all below is selected with it */
	}
	return 0;
}

/* The most expensive first, of equal ones that which was met first. */
SN_SORT_BY(sort_places, struct sn_place, const void *,
	   SN_ORDER(b->cost, a->cost) ?: SN_ORDER(a->contexts[0], b->contexts[0]));

/* Keeps the contexts whose name is exactly the text: `main` means main and not the
 * __libc_start_main above it. False without any. */
static bool keep_exact(struct search *search, const char *text)
{
	uint32_t count = sonde_db_context_count(search->db);
	bool has_any = false;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t frame = sonde_db_context(search->db, i)->frame;
		uint32_t name = sonde_db_frame(search->db, frame)->name;
		search->keep[i] = strcmp(sonde_db_string(search->db, name), text) == 0;
		has_any |= search->keep[i];
	}
	return has_any;
}

static int find_matches(struct sn_places *places, struct search *search,
			const struct sn_query *query, const char *text, struct sn_error *error)
{
	uint32_t count = sonde_db_context_count(search->db);
	search->keep = sn_arena_array(&search->arena, bool, count);
	search->path = sn_arena_array(&search->arena, uint32_t, count);
	int code = search->arena.failed ? SN_ERR_MEMORY : 0;
	if (code == 0 && !keep_exact(search, text)) {
		memset(search->keep, 1, count);
		code = sn_query_restrict(query, search->db, search->keep, error);
	}
	if (code == 0)
		code = sn_groups_init(&search->groups, search->db, SN_GROUP_FUNCTION, error);
	if (code == 0)
		code = number_paths(search);
	if (code == 0)
		code = add_matches(places, search);
	if (code == 0 && places->count > 0)
		sort_places(places->items, places->count, NULL);
	return code;
}

static int add_number(struct sn_places *places, struct search *search, const char *text,
		      struct sn_error *error)
{
	errno = 0;
	unsigned long long number = strtoull(text, NULL, 10);
	uint32_t count = sonde_db_context_count(search->db);
	if (errno || number >= count)
		return sn_fail(error, SN_ERR_ARGUMENT, "there are contexts 0 to %u", count - 1);
	return add_context(places, search, (uint32_t)number, 0);
}

int sn_places_find(struct sn_places *places, const struct sonde_db *db, const char *text,
		   uint32_t metric, struct sn_error *error)
{
	struct search search = {.db = db, .metric = metric};
	struct sn_query *query = NULL;
	bool is_number = *text && text[strspn(text, "0123456789")] == '\0';
	*places = (struct sn_places){0};
	int code = is_number ? add_number(places, &search, text, error)
			     : sn_query_parse(text, &query, error);
	if (code == 0 && query)
		code = find_matches(places, &search, query, text, error);
	sn_query_free(query);
	sn_groups_release(&search.groups);
	sn_table_release(&search.paths);
	sn_table_release(&search.places);
	sn_arena_release(&search.arena);
	return sn_fail_code(error, code);
}

void sn_places_release(struct sn_places *places)
{
	for (uint32_t i = 0; i < places->count; i++)
		free(places->items[i].contexts);
	free(places->items);
	*places = (struct sn_places){0};
}

void sn_place_path(const struct sonde_db *db, uint32_t context, size_t columns, char *text,
		   size_t size)
{
	enum { MOST = 64 };
	uint32_t frames[MOST], count = 0, at = context;
	char label[SN_LABEL_CHARS];
	for (; at != 0 && count < MOST; at = sonde_db_context(db, at)->parent)
		frames[count++] = sonde_db_context(db, at)->frame;
	if (count == 0)
		frames[count++] = sonde_db_context(db, 0)->frame;
	/* from the inside out, as long as there is room */
	uint32_t first = 0;
	size_t used = 0;
	for (; first < count; first++) {
		sn_label_name(db, SN_GROUP_LINE, frames[first], label);
		size_t wanted = sn_utf8_columns(label) + 3;
		if (columns && first > 0 && used + wanted + 4 > columns)
			break;
		used += wanted;
	}
	snprintf(text, size, "%s", first < count || at != 0 ? "... > " : "");
	for (uint32_t i = first; i-- > 0;) {
		sn_label_name(db, SN_GROUP_LINE, frames[i], label);
		size_t length = strlen(text);
		snprintf(text + length, size - length, "%s%s", label, i ? " > " : "");
	}
}
