/* SPDX-License-Identifier: Apache-2.0 */
/* Finds annotations and modules that are alike; see node_alike.h. */
#include "node_alike.h"

#include "base/intern.h"
#include "format/measurement/measurement.h"
#include "frame/alike_name.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 512 };

/* Where a cost arises. */
enum place { OF_DEVICES, OF_THREADS, PLACES };

/* The frames of one name without numbers. */
struct stem {
	uint32_t first; /* frame */
	struct sn_alike_costs costs[PLACES];
};

struct alike {
	const struct sonde_db *db;
	struct sn_intern names;
	struct stem *stems;
	size_t capacity;
	uint32_t *stem_of;	 /* by frame; SONDE_NONE */
	double (*costs)[PLACES]; /* by frame */
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
static bool add_costs(struct alike *alike, enum place place, const char *metric)
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
		alike->costs[frame][place] += summary.inclusive.sum;
		has_any |= summary.inclusive.sum > 0;
	}
	return has_any;
}

/* Of threads by the first metric that there is: times that nest, or samples. */
static void sum_costs(struct alike *alike)
{
	static const char *const of_threads[] = {"real-time", "region-time", "cpu-time"};
	add_costs(alike, OF_DEVICES, "kernel-time");
	add_costs(alike, OF_DEVICES, "copy-time");
	for (size_t i = 0; i < sizeof(of_threads) / sizeof(*of_threads); i++)
		if (add_costs(alike, OF_THREADS, of_threads[i]))
			break;
	for (uint32_t i = 0; i < sonde_db_frame_count(alike->db); i++)
		for (int place = 0; alike->stem_of[i] != SONDE_NONE && place < PLACES; place++)
			sn_alike_add(&alike->stems[alike->stem_of[i]].costs[place],
				     alike->costs[i][place]);
}

/* Near wherever they cost something, and somewhere they do. */
static bool are_near(const struct stem *stem)
{
	bool costs_any = false;
	for (int place = 0; place < PLACES; place++) {
		const struct sn_alike_costs *costs = &stem->costs[place];
		if (costs->sum > 0 && !sn_alike_near(costs))
			return false;
		costs_any |= costs->sum > 0;
	}
	return costs_any;
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
	    .costs = calloc(count + 1ull, sizeof(double[PLACES])),
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
