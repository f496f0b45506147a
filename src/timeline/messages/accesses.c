/* SPDX-License-Identifier: Apache-2.0 */
/* Sums accesses to remote memory in one pass over threads. */
#include "accesses.h"

#include "base/intern.h"
#include "base/sort_by.h"
#include "timeline/track_walk.h"

enum wish { ACCESS, PEER, BYTES, POSTED, WISHES };

static const struct sn_attribute_wish wishes[WISHES] = {
    [ACCESS] = {"access", SONDE_ATTRIBUTE_UNSIGNED},
    [PEER] = {"peer", SONDE_ATTRIBUTE_UNSIGNED},
    [BYTES] = {"bytes", SONDE_ATTRIBUTE_UNSIGNED},
    [POSTED] = {"posted", SONDE_ATTRIBUTE_UNSIGNED},
};

struct access_key {
	uint64_t peer;
	uint32_t process, frame;
	uint32_t kind, unused;
};

struct summing {
	const struct sn_answers *answers;
	struct sn_intern keys;
	struct sn_accesses *accesses; /* by key */
};

static int add_access(void *data, const struct sn_walked_event *event)
{
	struct summing *summing = data;
	struct sn_accesses *accesses = summing->accesses;
	uint64_t access = sn_walked_number(event, ACCESS);
	if (access < SN_ACCESS_TO || access > SN_ACCESS_WRITTEN)
		return 0;
	struct access_key key = {
	    .peer = UINT64_MAX,
	    .process = sn_walked_process(&summing->answers->processes, event),
	    .frame = sonde_db_context(summing->answers->db, event->context)->frame,
	    .kind = (uint32_t)access,
	};
	sn_walked_value(event, PEER, &key.peer);
	uint32_t number = sn_intern_item(
	    &summing->keys, &key, sizeof(key), &accesses->items, &accesses->capacity,
	    {key.peer, key.process, key.frame, (uint32_t)accesses->count++, key.kind});
	if (number == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	struct sn_access *sum = accesses->items + number;
	double time = (double)(event->end_ns - event->start_ns);
	sum->count++;
	sum->bytes += (double)sn_walked_number(event, BYTES);
	sum->time_ns += time;
	sum->apart_ns += (double)sn_walked_number(event, POSTED);
	sum->longest_ns = time > sum->longest_ns ? time : sum->longest_ns;
	return 0;
}

SN_SORT_BY(sort_by_time, struct sn_access, const void *,
	   SN_ORDER(b->time_ns, a->time_ns) ?: SN_ORDER(a->number, b->number));

int sn_accesses(const struct sn_answers *answers, struct sn_accesses *accesses,
		struct sn_error *error)
{
	struct summing summing = {.answers = answers, .accesses = accesses};
	struct sn_track_walk walk = {
	    .tracks = SN_WALK_THREADS,
	    .wishes = wishes,
	    .wish_count = WISHES,
	    .needs_first = true,
	    .visit = add_access,
	    .data = &summing,
	};
	*accesses = (struct sn_accesses){0};
	int result = sn_track_walk(&answers->processes, SONDE_NONE, &walk, error);
	sort_by_time(accesses->items, accesses->count, NULL);
	sn_intern_release(&summing.keys);
	return result;
}
