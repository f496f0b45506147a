/* SPDX-License-Identifier: Apache-2.0 */
/* The application's ranks, and how they differ; see ranks.h. */
#include "ranks.h"

#include "base/error.h"
#include "base/search.h"
#include "base/table.h"
#include "format/database/statistics.h"

#include <stdlib.h>

/* Whether a profile is one of a rank. */
static bool has_rank(const struct sonde_db *db, const bool *profiles, uint32_t profile)
{
	return (!profiles || profiles[profile]) && sonde_db_profile(db, profile)->rank >= 0;
}

/* Numbers the ranks, of each run by itself: *count of them. */
static int number_ranks(struct sn_db_ranks *ranks, const struct sonde_db *db, const bool *profiles)
{
	struct sn_table numbers = {0};
	int code = 0;
	for (uint32_t p = 0; p < sonde_db_profile_count(db) && code == 0; p++) {
		const struct sonde_db_profile *profile = sonde_db_profile(db, p);
		uint32_t number = SONDE_NONE;
		if (has_rank(db, profiles, p)) {
			number = sn_table_add(&numbers,
					      sn_table_pair(profile->run, (uint32_t)profile->rank));
			code = number == SN_TABLE_NONE ? SN_ERR_MEMORY : 0;
		}
		ranks->of_profile[p] = number;
	}
	ranks->count = numbers.count;
	sn_table_release(&numbers);
	return code;
}

/* Each profile stands for itself: those of the only rank, or all that count. */
static void number_profiles(struct sn_db_ranks *ranks, const struct sonde_db *db,
			    const bool *profiles)
{
	bool is_one_rank = ranks->count == 1;
	ranks->count = 0;
	for (uint32_t p = 0; p < sonde_db_profile_count(db); p++) {
		bool counts = is_one_rank ? has_rank(db, profiles, p) : !profiles || profiles[p];
		ranks->of_profile[p] = counts ? ranks->count++ : SONDE_NONE;
	}
}

/* Profiles by whom they belong to, in a counting sort. */
static int order_profiles(struct sn_db_ranks *ranks, uint32_t profiles)
{
	uint32_t *next = calloc(ranks->count + 1ull, sizeof(*next));
	if (!next)
		return SN_ERR_MEMORY;
	for (uint32_t p = 0; p < profiles; p++)
		if (ranks->of_profile[p] != SONDE_NONE)
			next[ranks->of_profile[p] + 1]++;
	for (uint32_t i = 0; i < ranks->count; i++)
		next[i + 1] += next[i];
	ranks->order_count = next[ranks->count];
	for (uint32_t p = 0; p < profiles; p++)
		if (ranks->of_profile[p] != SONDE_NONE)
			ranks->order[next[ranks->of_profile[p]]++] = p;
	free(next);
	return 0;
}

int sn_db_ranks_init(struct sn_db_ranks *ranks, const struct sonde_db *db, const bool *profiles)
{
	uint32_t count = sonde_db_profile_count(db), counted = 0;
	*ranks = (struct sn_db_ranks){.of_profile = calloc(count + 1ull, sizeof(uint32_t)),
				      .order = calloc(count + 1ull, sizeof(uint32_t))};
	if (!ranks->of_profile || !ranks->order || number_ranks(ranks, db, profiles))
		return SN_ERR_MEMORY;
	ranks->are_ranks = ranks->count > 1;
	if (!ranks->are_ranks)
		number_profiles(ranks, db, profiles);
	for (uint32_t p = 0; p < count; p++)
		counted += !profiles || profiles[p];
	int code = order_profiles(ranks, count);
	ranks->are_all = ranks->order_count == counted;
	return code;
}

void sn_db_ranks_release(struct sn_db_ranks *ranks)
{
	free(ranks->of_profile);
	free(ranks->order);
	*ranks = (struct sn_db_ranks){0};
}

static bool is_last_of_rank(const struct sn_db_ranks *ranks, uint32_t at)
{
	return at + 1 == ranks->order_count ||
	       ranks->of_profile[ranks->order[at + 1]] != ranks->of_profile[ranks->order[at]];
}

static void take(struct sonde_db_stat *across, const struct sonde_db_stat *of_one)
{
	if (of_one->count > 0)
		sn_stat_add(across, of_one->sum);
}

struct sonde_db_stat sn_db_ranks_at(const struct sn_db_ranks *ranks, const struct sonde_db *db,
				    uint32_t metric, uint32_t context)
{
	uint32_t end = sonde_db_context(db, context)->end;
	struct sonde_db_stat across = {0}, rank = {0}, one;
	for (uint32_t i = 0; i < ranks->order_count; i++) {
		struct sonde_db_plane plane = sonde_db_profile_plane(db, ranks->order[i], metric);
		size_t at = sn_search(k, plane.count, plane.ids[k] < context);
		for (; at < plane.count && plane.ids[at] < end; at++) {
			sonde_db_plane_stat(&plane, at, &one);
			sonde_db_stat_merge(&rank, &one);
		}
		if (is_last_of_rank(ranks, i)) {
			take(&across, &rank);
			rank = (struct sonde_db_stat){0};
		}
	}
	return across;
}

/* Carries a rank's values up, gives them to the sets and clears them. */
static void close_rank(const struct sonde_db *db, struct sonde_db_stat *sums,
		       struct sonde_db_stat *across)
{
	for (uint32_t c = sonde_db_context_count(db); c-- > 0;) {
		if (sums[c].count <= 0)
			continue;
		if (c > 0)
			sonde_db_stat_merge(&sums[sonde_db_context(db, c)->parent], &sums[c]);
		take(&across[c], &sums[c]);
		sums[c] = (struct sonde_db_stat){0};
	}
}

int sn_db_ranks_compare(const struct sn_db_ranks *ranks, const struct sonde_db *db, uint32_t metric,
			struct sonde_db_stat *across)
{
	struct sonde_db_stat *sums = calloc(sonde_db_context_count(db) + 1ull, sizeof(*sums)), one;
	if (!sums)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < ranks->order_count; i++) {
		struct sonde_db_plane plane = sonde_db_profile_plane(db, ranks->order[i], metric);
		for (size_t at = 0; at < plane.count; at++) {
			sonde_db_plane_stat(&plane, at, &one);
			sonde_db_stat_merge(&sums[plane.ids[at]], &one);
		}
		if (is_last_of_rank(ranks, i))
			close_rank(db, sums, across);
	}
	free(sums);
	return 0;
}
