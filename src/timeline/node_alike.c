/* SPDX-License-Identifier: Apache-2.0 */
/* Finds annotations and modules that are alike; see node_alike.h. */
#include "node_alike.h"

#include "base/intern.h"
#include "format/measurement/measurement.h"
#include "frame/alike_name.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* So many at least, whose costs deviate by no more than this part of their mean: as in reports. */
enum { LEAST_ALIKE = 3, NAME_BYTES = 512 };
static const double most_deviation = 0.5;

/* The frames of one name without numbers. */
struct stem {
	uint32_t first; /* frame */
	double count, sum, sum_squares;
};

struct alike {
	const struct sonde_db *db;
	struct sn_intern names;
	struct stem *stems;
	size_t capacity;
	uint32_t *stem_of; /* by frame; SONDE_NONE */
	double *costs;	   /* by frame */
};

static bool may_stand_for(const struct sonde_db_frame *frame)
{
	return (frame->kind == SN_FRAME_REGION || frame->kind == SN_FRAME_PYTHON) &&
	       !(frame->flags & SN_FRAME_ITERATION);
}

static int find_stems(struct alike *alike)
{
	char key[NAME_BYTES];
	for (uint32_t i = 0; i < sonde_db_frame_count(alike->db); i++) {
		const struct sonde_db_frame *frame = sonde_db_frame(alike->db, i);
		alike->stem_of[i] = SONDE_NONE;
		if (!may_stand_for(frame) || !sn_alike_name(alike->db, i, key + 1, sizeof(key) - 1))
			continue;
		key[0] = (char)frame->kind;
		uint32_t stem = sn_intern_item(&alike->names, key, 1 + strlen(key + 1),
					       &alike->stems, &alike->capacity, {.first = i});
		if (stem == SN_INTERN_NONE)
			return SN_ERR_MEMORY;
		alike->stem_of[i] = stem;
	}
	return 0;
}

/* Adds what the frames' contexts cost by a metric; whether there was any. */
static bool add_costs(struct alike *alike, const char *metric)
{
	const struct sonde_db *db = alike->db;
	uint32_t number = sonde_db_metric_by_name(db, metric);
	bool has_any = false;
	for (uint32_t i = 1; number != SONDE_NONE && i < sonde_db_context_count(db); i++) {
		uint32_t frame = sonde_db_context(db, i)->frame;
		struct sonde_db_summary summary;
		if (alike->stem_of[frame] == SONDE_NONE ||
		    !sonde_db_summary(db, i, number, &summary))
			continue;
		alike->costs[frame] += summary.inclusive.sum;
		has_any |= summary.inclusive.sum > 0;
	}
	return has_any;
}

static void sum_costs(struct alike *alike)
{
	bool has_any = add_costs(alike, "kernel-time");
	has_any |= add_costs(alike, "copy-time");
	if (!has_any)
		add_costs(alike, "real-time");
	for (uint32_t i = 0; i < sonde_db_frame_count(alike->db); i++) {
		if (alike->stem_of[i] == SONDE_NONE)
			continue;
		struct stem *stem = alike->stems + alike->stem_of[i];
		stem->count++;
		stem->sum += alike->costs[i];
		stem->sum_squares += alike->costs[i] * alike->costs[i];
	}
}

static bool are_near(const struct stem *stem)
{
	double mean = stem->sum / stem->count;
	double variance = stem->sum_squares / stem->count - mean * mean;
	return stem->count >= LEAST_ALIKE &&
	       sqrt(variance > 0 ? variance : 0) <= most_deviation * mean;
}

static uint32_t represent(const struct alike *alike, uint32_t frame)
{
	uint32_t stem = alike->stem_of[frame];
	return stem != SONDE_NONE && are_near(alike->stems + stem) ? alike->stems[stem].first
								   : frame;
}

uint32_t *sn_node_alike(const struct sonde_db *db)
{
	uint32_t count = sonde_db_frame_count(db);
	struct alike alike = {
	    .db = db,
	    .stem_of = malloc((count + 1ull) * sizeof(uint32_t)),
	    .costs = calloc(count + 1ull, sizeof(double)),
	};
	uint32_t *representatives = malloc((count + 1ull) * sizeof(uint32_t));
	bool has_memory = representatives && alike.stem_of && alike.costs && !find_stems(&alike);
	if (has_memory && alike.names.count)
		sum_costs(&alike);
	for (uint32_t i = 0; has_memory && i < count; i++)
		representatives[i] = represent(&alike, i);
	sn_intern_release(&alike.names);
	free(alike.stems);
	free(alike.stem_of);
	free(alike.costs);
	if (has_memory)
		return representatives;
	free(representatives);
	return NULL;
}
