/* SPDX-License-Identifier: Apache-2.0 */
/* See next.h. */
#include "next.h"

#include "base/sort_by.h"
#include "format/epoch/epoch_keep.h"
#include "format/epoch/epoch_store.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

SN_SORT_BY(sort_by_id, struct sn_epoch_info, const void *, SN_ORDER_BY(a, b, head.id));

struct search {
	struct sn_push_cursor *cursor;
	struct sn_epoch_moment now;
	struct sn_error *damage;
};

static uint64_t done_parts(const struct search *search, const struct sn_epoch_info *info)
{
	return info->head.id == search->cursor->epoch ? search->cursor->parts : 0;
}

static uint64_t samples_of(const struct sn_epoch_piece *piece)
{
	uint64_t samples = 0;
	for (size_t i = 0; i < piece->count_count; i++)
		samples += piece->counts[i].count;
	for (size_t i = 0; i < piece->stack_count; i++)
		samples += piece->stacks[i].count;
	return samples;
}

/* Adds up the parts of an epoch that are to be pushed. 1; 0 if there are none; or a negative enum sn_err. */
static int add_up(const struct search *search, struct sn_epoch_info *info,
		  struct sn_push_unit *unit, struct sn_error *error)
{
	const struct sn_push_cursor *cursor = search->cursor;
	struct sn_epoch_piece piece;
	uint64_t part = 0, done = done_parts(search, info), most = UINT64_MAX;
	int result = 0;
	*unit = (struct sn_push_unit){.epoch = info->head.id, .first = done, .last = done};
	if (info->head.id == cursor->epoch && cursor->sending > cursor->parts)
		most = cursor->sending;
	while (info->reader && (result = sn_epoch_reader_next(info->reader, &piece, error)) > 0) {
		part += piece.begins_part;
		if (part <= done || part > most)
			continue;
		if (unit->last == unit->first)
			unit->begin_ns = piece.flush->begin_ns;
		unit->end_ns = piece.flush->end_ns;
		unit->samples += samples_of(&piece);
		unit->last = part;
	}
	return result < 0 ? result : unit->last > unit->first;
}

/* By the boot's clock where it lasts, as the writer tells ages. */
static bool is_too_old(const struct search *search, const struct sn_epoch_info *info)
{
	return info->summary.parts && sn_epoch_age(&info->summary, &search->now) > SN_PUSH_AGE_NS;
}

static void pass(struct search *search, const struct sn_epoch_info *info)
{
	if (*info->damage && !*search->damage->text)
		sn_fail(search->damage, SN_ERR_FORMAT,
			"'%s' is damaged, what follows is not pushed: %s", info->name,
			info->damage);
	search->cursor->epoch = info->head.id + 1;
	search->cursor->parts = search->cursor->sending = 0;
}

/* 1 if the epoch has the unit; 0 if the next one may have it; or a negative enum sn_err. */
static int look_at(struct search *search, struct sn_epoch_info *info, struct sn_push_unit *unit,
		   struct sn_error *error)
{
	int result = add_up(search, info, unit, error);
	if (result < 0 || info->is_current)
		return result;
	if (result > 0 && !is_too_old(search, info))
		return 1;
	search->cursor->given_up += unit->samples;
	pass(search, info);
	return 0;
}

static bool may_be_pushed(const struct search *search, const struct sn_epoch_info *info)
{
	return info->head.level == SN_EPOCH_FLUSHES && info->head.id >= search->cursor->epoch &&
	       (info->reader || !info->is_current);
}

/* Of the samples that were taken, those that were not lost. */
static uint64_t kept_of(const struct sn_epoch_summary *summary)
{
	return summary->samples > summary->lost ? summary->samples - summary->lost : 0;
}

/* The writer numbers epochs in the order in which they begin. An epoch that cannot be read may be one that was merged, whose number is
 * later than that of the current one: it is passed over once its turn has come. */
static int search_store(struct search *search, struct sn_epoch_store *store,
			struct sn_push_unit *unit, struct sn_error *error)
{
	int result = 0;
	search->cursor->waiting = 0;
	for (size_t i = 0; i < store->count; i++) {
		struct sn_epoch_info *info = store->epochs + i;
		if (!may_be_pushed(search, info))
			continue;
		if (result > 0)
			search->cursor->waiting += kept_of(&info->summary);
		else
			result = look_at(search, info, unit, error);
		if (result > 0 && unit->epoch == info->head.id)
			search->cursor->waiting += unit->samples;
		if (result < 0 || info->is_current)
			break;
	}
	return result;
}

/* A store that has no number as late as the cursor's was begun anew. */
static void check_numbers(struct sn_push_cursor *cursor, const struct sn_epoch_store *store)
{
	uint64_t last = store->count ? store->epochs[store->count - 1].head.id : 0;
	if (last + 1 < cursor->epoch)
		cursor->epoch = cursor->parts = cursor->sending = 0;
}

int sn_push_next(const char *store, struct sn_push_cursor *cursor, struct sn_push_unit *unit,
		 struct sn_error *damage, struct sn_error *error)
{
	struct search search = {.cursor = cursor, .damage = damage};
	struct sn_epoch_store opened;
	sn_epoch_now(&search.now);
	if (access(store, R_OK | X_OK) == 0 && !sn_epoch_is_store(store))
		return 0; /* nothing was flushed yet */
	int result = sn_epoch_store_open(&opened, store, 0, UINT64_MAX, error);
	if (result)
		return result;
	sort_by_id(opened.epochs, opened.count, NULL);
	check_numbers(cursor, &opened);
	result = search_store(&search, &opened, unit, error);
	sn_epoch_store_close(&opened);
	return result;
}
