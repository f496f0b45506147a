/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matching contexts are put together where their call paths are the same functions; see place.h.
 * Paths are compared by the numbers that they get in one pass over the tree.
 */
#include "place.h"

#include "base/utf8.h"
#include "group.h"
#include "show/label.h"
#include "pairs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct finding {
	const struct sonde_db *db;
	uint32_t metric;
	struct sn_groups groups;
	struct sn_pairs pairs;
	bool *keep;	    /* [context]: selected by the pattern */
	uint32_t *path;	    /* [context]: equal for the same functions */
	uint32_t *place_of; /* [path]: plus 1 */
};

static int number_paths(struct finding *finding)
{
	uint32_t count = sonde_db_context_count(finding->db);
	finding->path = malloc((count + 1ull) * sizeof(*finding->path));
	if (!finding->path)
		return SN_ERR_MEMORY;
	finding->path[0] = 0;
	for (uint32_t i = 1; i < count; i++) {
		const struct sonde_db_context *context = sonde_db_context(finding->db, i);
		finding->path[i] = sn_pairs_intern(&finding->pairs, finding->path[context->parent],
						   finding->groups.of_frame[context->frame]);
		if (!finding->path[i])
			return SN_ERR_MEMORY;
	}
	return 0;
}

static int add_context(struct sn_places *places, struct finding *finding, uint32_t context)
{
	uint32_t *number = &finding->place_of[finding->path[context]];
	if (!*number) {
		void *items =
		    realloc(places->items, (places->count + 1ull) * sizeof(*places->items));
		if (items)
			places->items = items;
		double *costs =
		    items ? realloc(places->costs, (places->count + 1ull) * sizeof(*costs)) : NULL;
		if (!costs)
			return SN_ERR_MEMORY;
		places->costs = costs;
		places->items[places->count] = (struct sn_place){0};
		places->costs[places->count] = 0;
		*number = ++places->count;
	}
	struct sn_place *place = &places->items[*number - 1];
	/* grown by half again at powers of two */
	if ((place->count & (place->count - 1)) == 0) {
		size_t capacity = place->count ? 2ull * place->count : 1;
		uint32_t *contexts = realloc(place->contexts, capacity * sizeof(*contexts));
		if (!contexts)
			return SN_ERR_MEMORY;
		place->contexts = contexts;
	}
	place->contexts[place->count++] = context;
	struct sonde_db_summary summary;
	sonde_db_summary(finding->db, context, finding->metric, &summary);
	places->costs[*number - 1] += summary.inclusive.sum;
	return 0;
}

static int add_matches(struct sn_places *places, struct finding *finding)
{
	uint32_t count = sonde_db_context_count(finding->db);
	for (uint32_t i = 0; i < count;) {
		if (!finding->keep[i]) {
			i++;
			continue;
		}
		if (add_context(places, finding, i))
			return SN_ERR_MEMORY;
		i = sonde_db_context(finding->db, i)->end; /* all below is selected with it */
	}
	return 0;
}

/* Most expensive first. */
static void sort_places(struct sn_places *places)
{
	for (uint32_t i = 1; i < places->count && places->count < 10000; i++)
		for (uint32_t j = i; j > 0 && places->costs[j] > places->costs[j - 1]; j--) {
			double cost = places->costs[j];
			struct sn_place place = places->items[j];
			places->costs[j] = places->costs[j - 1];
			places->items[j] = places->items[j - 1];
			places->costs[j - 1] = cost;
			places->items[j - 1] = place;
		}
}

/* Keeps the contexts that are called just so, which is what somebody who types a name means:
 * `main`, and not the __libc_start_main above it. False without any. */
static bool keep_exact(struct finding *finding, const char *text)
{
	uint32_t count = sonde_db_context_count(finding->db);
	bool has_any = false;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t frame = sonde_db_context(finding->db, i)->frame;
		uint32_t name = sonde_db_frame(finding->db, frame)->name;
		finding->keep[i] = strcmp(sonde_db_string(finding->db, name), text) == 0;
		has_any |= finding->keep[i];
	}
	return has_any;
}

static int find_matches(struct sn_places *places, struct finding *finding, const char *text,
			struct sn_error *error)
{
	struct sn_query *query = NULL;
	uint32_t count = sonde_db_context_count(finding->db);
	int code = sn_query_parse(text, &query, error);
	if (code)
		return code;
	finding->keep = malloc(count + 1ull);
	finding->place_of = calloc(count + 2ull, sizeof(*finding->place_of));
	sn_pairs_init(&finding->pairs);
	code = finding->keep && finding->place_of ? 0 : SN_ERR_MEMORY;
	if (code == 0 && !keep_exact(finding, text)) {
		memset(finding->keep, 1, count + 1ull);
		code = sn_query_restrict(query, finding->db, finding->keep, error);
	}
	if (code == 0)
		code = sn_groups_init(&finding->groups, finding->db, SN_GROUP_FUNCTION, error);
	if (code == 0)
		code = number_paths(finding);
	if (code == 0)
		code = add_matches(places, finding);
	if (code == 0)
		sort_places(places);
	sn_query_free(query);
	sn_groups_release(&finding->groups);
	sn_pairs_release(&finding->pairs);
	free(finding->keep);
	free(finding->path);
	free(finding->place_of);
	return code == SN_ERR_MEMORY ? sn_fail(error, code, "out of memory") : code;
}

static int take_number(struct sn_places *places, struct finding *finding, const char *text,
		       struct sn_error *error)
{
	errno = 0;
	unsigned long long number = strtoull(text, NULL, 10);
	uint32_t count = sonde_db_context_count(finding->db), root_path = 0, place_of[1] = {0};
	if (errno || number >= count)
		return sn_fail(error, SN_ERR_ARGUMENT, "there are contexts 0 to %u", count - 1);
	/* one path, whatever the context */
	uint32_t *path = calloc(count, sizeof(*path));
	if (!path)
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	path[number] = root_path;
	finding->path = path;
	finding->place_of = place_of;
	int code = add_context(places, finding, (uint32_t)number);
	free(path);
	return code ? sn_fail(error, code, "out of memory") : 0;
}

int sn_places_find(struct sn_places *places, const struct sonde_db *db, const char *text,
		   uint32_t metric, struct sn_error *error)
{
	struct finding finding = {.db = db, .metric = metric};
	*places = (struct sn_places){0};
	if (*text && text[strspn(text, "0123456789")] == '\0')
		return take_number(places, &finding, text, error);
	return find_matches(places, &finding, text, error);
}

void sn_places_release(struct sn_places *places)
{
	for (uint32_t i = 0; i < places->count; i++)
		free(places->items[i].contexts);
	free(places->items);
	free(places->costs);
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
