/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long it takes to open a database, and then to have one context over all profiles: the row
 * found, checked and summed up; of the context and metric with the most values.
 * Usage: bench-read-context DB   (prints JSON)
 */
#include "sonde/db.h"

#include <stdio.h>
#include <time.h>

static double now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

struct place {
	uint32_t context, metric;
	double profiles;
};

/* The place that most profiles have a value at, among contexts without descendants: there summaries
 * tell how many, so that no row is read. */
static struct place widest(const struct sonde_db *db)
{
	struct place best = {0};
	for (uint32_t m = 0; m < sonde_db_metric_count(db); m++) {
		struct sonde_db_summary_plane plane = sonde_db_summary_plane(db, m);
		for (size_t i = 0; i < plane.count; i++) {
			uint32_t context = plane.contexts[i];
			struct sonde_db_stat across;
			if (sonde_db_context(db, context)->end > context + 1)
				continue;
			sonde_db_summary_stat(&plane, i, SONDE_DB_ACROSS, &across);
			if (across.count > best.profiles)
				best = (struct place){context, m, across.count};
		}
	}
	return best;
}

int main(int argc, char **argv)
{
	struct sonde_db *db;
	struct sonde_db_error error;
	double start = now_ms();
	if (argc != 2 || sonde_db_open(argv[1], &db, &error))
		return 128;
	double opened = now_ms();
	struct place place = widest(db);
	double times[2], sum = 0;
	size_t count = 0;
	for (int i = 0; i < 2; i++) {
		double begin = now_ms();
		struct sonde_db_plane row = sonde_db_context_row(db, place.context, place.metric);
		sum = 0;
		for (size_t j = 0; j < row.count; j++)
			sum += sonde_db_plane_sum(&row, j);
		count = row.count;
		times[i] = now_ms() - begin;
	}
	if (sonde_db_damage(db))
		return 128;
	printf("{\"open_ms\":%.3f,\"profiles\":%u,\"context\":%u,\"metric\":%u,\"values\":%zu,"
	       "\"sum\":%.17g,\"first_ms\":%.3f,\"again_ms\":%.3f}\n",
	       opened - start, (unsigned)sonde_db_profile_count(db), place.context, place.metric,
	       count, sum, times[0], times[1]);
	sonde_db_close(db);
	return 0;
}
