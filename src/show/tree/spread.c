/* SPDX-License-Identifier: Apache-2.0 */
/* One place over all profiles: reading, statistics and their causes; see spread.h. */
#include "spread.h"

#include "format/database/statistics.h"
#include "show/number.h"

#include <string.h>

/* While reading: values by profile. */
struct reading {
	const struct sn_view *view;
	uint32_t columns;
	struct sn_tree_value *all; /* [profile * columns + column] */
	bool is_exclusive;
};

static void add_row(struct reading *reading, uint32_t context, uint32_t column)
{
	const struct sn_view *view = reading->view;
	struct sonde_db_plane row = sonde_db_context_row(view->db, context, view->metrics[column]);
	for (size_t i = 0; i < row.count; i++) {
		struct sonde_db_stat stat;
		if (view->profiles && !view->profiles[row.ids[i]])
			continue;
		sonde_db_plane_stat(&row, i, &stat);
		sonde_db_stat_merge(
		    &reading->all[(size_t)row.ids[i] * reading->columns + column].inclusive, &stat);
	}
}

/* Those of the place itself. */
static void add_calls(struct reading *reading, uint32_t context, uint32_t column)
{
	const struct sn_view *view = reading->view;
	uint32_t calls = sonde_db_metric_calls(view->db, view->metrics[column]);
	struct sonde_db_plane row = sonde_db_context_row(view->db, context, calls);
	for (size_t i = 0; i < row.count; i++) {
		struct sonde_db_stat stat;
		sonde_db_plane_stat(&row, i, &stat);
		sonde_db_stat_merge(
		    reading->all[(size_t)row.ids[i] * reading->columns + column].calls, &stat);
	}
}

/* 0 or SN_ERR_MEMORY. */
static int make_room_for_calls(struct reading *reading, struct sn_arena *arena)
{
	const struct sn_view *view = reading->view;
	uint32_t profiles = sonde_db_profile_count(view->db);
	for (uint32_t column = 0; column < reading->columns; column++) {
		if (sonde_db_metric_calls(view->db, view->metrics[column]) == SONDE_NONE)
			continue;
		struct sonde_db_stat *calls = sn_arena_array(arena, struct sonde_db_stat, profiles);
		for (uint32_t p = 0; calls && p < profiles; p++)
			reading->all[(size_t)p * reading->columns + column].calls = calls + p;
	}
	return arena->failed ? SN_ERR_MEMORY : 0;
}

static void add_place(struct reading *reading)
{
	const struct sn_view *view = reading->view;
	for (uint32_t i = 0; i < view->place->count; i++)
		for (uint32_t column = 0; column < reading->columns; column++)
			add_calls(reading, view->place->contexts[i], column);
	for (uint32_t i = 0; i < view->place->count; i++) {
		uint32_t context = view->place->contexts[i];
		uint32_t end =
		    reading->is_exclusive ? context + 1 : sonde_db_context(view->db, context)->end;
		for (; context < end; context++)
			for (uint32_t column = 0; column < reading->columns; column++)
				add_row(reading, context, column);
	}
}

/* Keeps the profiles that have the first metric, and evaluates the formulas there. */
static void keep_measured(struct sn_spread *spread, const struct reading *reading)
{
	const struct sn_view *view = spread->view;
	uint32_t columns = reading->columns, profiles = sonde_db_profile_count(view->db);
	for (uint32_t p = 0; p < profiles; p++) {
		const struct sn_tree_value *from = &reading->all[(size_t)p * columns];
		if (from[0].inclusive.count == 0 || spread->ranks.of_profile[p] == SONDE_NONE)
			continue;
		struct sn_tree_value *to = &spread->values[(size_t)spread->count * columns];
		for (uint32_t column = 0; column < columns; column++)
			to[column] = (struct sn_tree_value){
			    from[column].inclusive, from[column].inclusive, from[column].calls};
		sn_view_derive(view, to, NULL,
			       &spread->derived[(size_t)spread->count * view->formula_count]);
		spread->profiles[spread->count++] = p;
	}
}

/* The value of a rank, or of a profile that is compared by itself, to the others. */
static void take(struct sn_spread_summary *summary, double sum, uint32_t profile)
{
	if (summary->least == SONDE_NONE || sum < summary->stat.min)
		summary->least = profile;
	if (summary->most == SONDE_NONE || sum > summary->stat.max)
		summary->most = profile;
	sn_stat_add(&summary->stat, sum);
}

/* Profiles of a rank lie together, because the database orders them so. */
static void summarize(struct sn_spread *spread, uint32_t column)
{
	struct sn_spread_summary *summary = &spread->metrics[column];
	uint32_t columns = sn_view_columns(spread->view);
	const uint32_t *rank_of = spread->ranks.of_profile;
	summary->least = summary->most = SONDE_NONE;
	for (uint32_t i = 0; i < spread->count;) {
		uint32_t first = SONDE_NONE, rank = rank_of[spread->profiles[i]];
		double sum = 0;
		for (; i < spread->count && rank_of[spread->profiles[i]] == rank; i++) {
			const struct sonde_db_stat *stat =
			    &spread->values[(size_t)i * columns + column].inclusive;
			if (stat->count > 0 && first == SONDE_NONE)
				first = spread->profiles[i];
			sum += stat->sum;
		}
		if (first != SONDE_NONE)
			take(summary, sum, first);
	}
	summary->mean = sonde_db_stat_mean(&summary->stat);
	summary->deviation = sonde_db_stat_deviation(&summary->stat);
	summary->cv = summary->mean > 0 ? summary->deviation / summary->mean : 0;
	summary->imbalance = summary->mean > 0 ? summary->stat.max / summary->mean - 1 : 0;
}

/* ---- what they differ by ---- */

static bool is_same_group(const struct sonde_db *db, enum sn_spread_axis axis, uint32_t a,
			  uint32_t b)
{
	const struct sonde_db_profile *x = sonde_db_profile(db, a), *y = sonde_db_profile(db, b);
	switch (axis) {
	case SN_AXIS_HOST:
		return x->host == y->host;
	case SN_AXIS_RANK:
		return x->host == y->host && x->rank == y->rank && x->rank >= 0;
	case SN_AXIS_PROCESS:
		return x->host == y->host && x->pid == y->pid;
	default:
		return false;
	}
}

/* Profiles of a group lie together, because the database orders them so. */
static struct sn_spread_cause explain(const struct sn_spread *spread, enum sn_spread_axis axis)
{
	struct sn_spread_cause cause = {.axis = axis};
	double between = 0, greatest = -1, all_mean = sonde_db_stat_mean(&spread->profile_set);
	double deviation = sonde_db_stat_deviation(&spread->profile_set);
	for (uint32_t i = 0; i < spread->count;) {
		uint32_t first = i;
		double sum = 0;
		for (; i < spread->count &&
		       is_same_group(spread->view->db, axis, spread->profiles[first],
				     spread->profiles[i]);
		     i++)
			sum += sn_spread_value(spread, i);
		if (i == first)
			sum = sn_spread_value(spread, i++);
		double mean = sum / (i - first), away = mean - all_mean;
		between += (i - first) * away * away;
		cause.groups++;
		if (mean > greatest) {
			greatest = mean;
			cause.profile = spread->profiles[first];
		}
	}
	double total = deviation * deviation * spread->count;
	/* Groups of a few explain much by chance alone: less what chance does (Kelley's epsilon
	 * squared) */
	double share = total > 0 ? between / total : 0;
	double spare = (double)spread->count - cause.groups;
	cause.explained = spare > 0 ? 1 - (1 - share) * (spread->count - 1) / spare : share;
	cause.ratio = all_mean > 0 ? greatest / all_mean : 0;
	return cause;
}

/* Ranks are compared by what each has in all its threads. */
static struct sn_spread_cause explain_by_rank(const struct sn_spread *spread)
{
	struct sn_spread_cause cause = explain(spread, SN_AXIS_RANK);
	cause.profile = spread->metrics[0].most;
	cause.ratio = 1 + spread->metrics[0].imbalance;
	return cause;
}

/* Groups must be fewer than what they group, and explain more than half. */
static void find_cause(struct sn_spread *spread)
{
	static const enum sn_spread_axis axes[] = {SN_AXIS_HOST, SN_AXIS_RANK, SN_AXIS_PROCESS};
	spread->cause = (struct sn_spread_cause){0};
	for (size_t i = 0; i < sizeof(axes) / sizeof(*axes) && !spread->cause.axis; i++) {
		struct sn_spread_cause cause = axes[i] == SN_AXIS_RANK && spread->ranks.are_ranks
						   ? explain_by_rank(spread)
						   : explain(spread, axes[i]);
		if (cause.groups > 1 && cause.groups < spread->count && cause.explained > 0.5)
			spread->cause = cause;
	}
	if (!spread->cause.axis)
		spread->cause = spread->ranks.are_ranks ? explain_by_rank(spread)
							: explain(spread, SN_AXIS_THREAD);
}

int sn_spread_init(struct sn_spread *spread, const struct sn_view *view, struct sn_error *error)
{
	uint32_t columns = sn_view_columns(view);
	size_t profiles = sonde_db_profile_count(view->db);
	*spread = (struct sn_spread){.view = view};
	struct sn_arena *arena = &spread->arena;
	struct reading reading = {
	    .view = view,
	    .columns = columns,
	    .all = sn_arena_array(arena, struct sn_tree_value, profiles * columns),
	    .is_exclusive = view->sort == SN_SORT_EXCLUSIVE};
	spread->profiles = sn_arena_array(arena, uint32_t, profiles);
	spread->values = sn_arena_array(arena, struct sn_tree_value, profiles * columns);
	spread->derived = sn_arena_array(arena, struct sn_derived, profiles * view->formula_count);
	spread->metrics = sn_arena_array(arena, struct sn_spread_summary, view->metric_count);
	int code =
	    arena->failed || make_room_for_calls(&reading, arena) ? sn_fail_memory(error) : 0;
	if (code == 0 && sn_db_ranks_init(&spread->ranks, view->db, view->profiles))
		code = sn_fail_memory(error);
	if (code == 0)
		add_place(&reading);
	if (code == 0 && sonde_db_damage(view->db))
		code = sn_fail(error, SN_ERR_FORMAT, "%s", sonde_db_damage(view->db));
	if (code != 0) {
		sn_spread_release(spread);
		return code;
	}
	keep_measured(spread, &reading);
	for (uint32_t m = 0; m < view->metric_count; m++)
		summarize(spread, m);
	for (uint32_t i = 0; i < spread->count; i++)
		sn_stat_add(&spread->profile_set, sn_spread_value(spread, i));
	if (spread->count > 0)
		find_cause(spread);
	return 0;
}

void sn_spread_release(struct sn_spread *spread)
{
	sn_db_ranks_release(&spread->ranks);
	sn_arena_release(&spread->arena);
	*spread = (struct sn_spread){0};
}

/* ---- in words ---- */

static void name_group(const struct sn_spread *spread, char *text, size_t size)
{
	const struct sonde_db *db = spread->view->db;
	const struct sonde_db_profile *profile = sonde_db_profile(db, spread->cause.profile);
	switch (spread->cause.axis) {
	case SN_AXIS_HOST:
		snprintf(text, size, "host %.200s", sonde_db_string(db, profile->host));
		break;
	case SN_AXIS_RANK:
		snprintf(text, size, "rank %d", profile->rank);
		break;
	case SN_AXIS_PROCESS:
		snprintf(text, size, "process %llu", (unsigned long long)profile->pid);
		break;
	default:
		sn_view_profile_name(db, spread->cause.profile, text, size);
	}
}

static const char *group_word(enum sn_spread_axis axis, uint32_t count)
{
	static const char *const words[][2] = {[SN_AXIS_NONE] = {"", ""},
					       [SN_AXIS_HOST] = {"host", "hosts"},
					       [SN_AXIS_RANK] = {"rank", "ranks"},
					       [SN_AXIS_PROCESS] = {"process", "processes"},
					       [SN_AXIS_THREAD] = {"profile", "profiles"}};
	return words[axis][count != 1];
}

/* Below this the most is not far enough above the mean to be called imbalance. */
static const double least_imbalance = 0.1;

uint32_t sn_spread_words(const struct sn_spread *spread,
			 char words[SN_SPREAD_WORDS][SN_SPREAD_WORD_CHARS])
{
	const struct sn_spread_summary *all = &spread->metrics[0];
	const struct sn_spread_cause *cause = &spread->cause;
	const char *unit = sonde_db_string(
	    spread->view->db, sonde_db_metric(spread->view->db, spread->view->metrics[0])->unit);
	char who[300];
	uint32_t count = 0;
	if (all->stat.count < 2)
		return 0;
	if (all->imbalance < least_imbalance) {
		snprintf(words[count++], SN_SPREAD_WORD_CHARS,
			 "balanced: the most is %.2fx the mean", 1 + all->imbalance);
		return count;
	}
	name_group(spread, who, sizeof(who));
	snprintf(words[count++], SN_SPREAD_WORD_CHARS,
		 "imbalanced: %s takes %.2fx the mean of all %u %s", who, cause->ratio,
		 cause->groups, group_word(cause->axis, cause->groups));
	if (cause->axis != SN_AXIS_THREAD && cause->explained > 0.5)
		snprintf(words[count++], SN_SPREAD_WORD_CHARS,
			 "it differs by %s: %s of the variance lies between them",
			 group_word(cause->axis, 1), sn_number_part(cause->explained, 1).text);
	double wait = all->stat.max - all->mean;
	if (strcmp(unit, "ns") == 0)
		snprintf(
		    words[count++], SN_SPREAD_WORD_CHARS,
		    "if the others wait for the slowest, waiting costs %s of its time: %s each, %s "
		    "in all",
		    sn_number_part(wait, all->stat.max).text, sn_number_time(wait).text,
		    sn_number_time(wait * all->stat.count).text);
	return count;
}
