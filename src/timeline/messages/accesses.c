/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over threads; see accesses.h. */
#include "accesses.h"

#include "timeline/attributes.h"
#include "base/intern.h"
#include "base/vec.h"
#include "timeline/threads/thread_activity.h"
#include "timeline/track_blocks.h"

enum wanted { ACCESS, PEER, BYTES, POSTED, WANTED };

static const struct sn_attribute_wish wishes[WANTED] = {
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

struct pass {
	const struct sn_answers *answers;
	uint32_t process; /* whose thread is read */
	struct sn_attributes attributes;
	struct sn_intern keys;
	struct sn_accesses *accesses; /* by key */
};

static int take(struct pass *pass, const struct sonde_event_block *block, size_t at)
{
	uint64_t access, bytes = 0, posted = 0;
	if (!sn_attributes_get(&pass->attributes, ACCESS, at, &access) || access < SN_ACCESS_TO ||
	    access > SN_ACCESS_WRITTEN)
		return 0;
	struct access_key key = {
	    .peer = UINT64_MAX,
	    .process = pass->process,
	    .frame = sonde_db_context(pass->answers->db, block->contexts[at])->frame,
	    .kind = (uint32_t)access,
	};
	sn_attributes_get(&pass->attributes, PEER, at, &key.peer);
	sn_attributes_get(&pass->attributes, BYTES, at, &bytes);
	sn_attributes_get(&pass->attributes, POSTED, at, &posted);
	struct sn_accesses *accesses = pass->accesses;
	uint32_t number = sn_intern_add(&pass->keys, &key, sizeof(key));
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&accesses->items, &accesses->capacity, number + 1ull) < 0)
		return SN_ERR_MEMORY;
	if (number == accesses->count)
		accesses->items[accesses->count++] =
		    (struct sn_access){key.peer, key.process, key.frame, number, key.kind};
	struct sn_access *sum = accesses->items + number;
	double time = (double)(block->ends_ns[at] - block->starts_ns[at]);
	sum->count++;
	sum->bytes += (double)bytes;
	sum->time_ns += time;
	sum->apart_ns += (double)posted;
	sum->longest_ns = time > sum->longest_ns ? time : sum->longest_ns;
	return 0;
}

static int take_block(void *data, const struct sonde_track *track,
		      struct sonde_event_cursor *cursor, const struct sonde_event_block *block)
{
	struct pass *pass = data;
	int result = 0;
	(void)track;
	sn_attributes_read(&pass->attributes, cursor, block);
	for (size_t i = 0; i < block->count && !result; i++)
		result = take(pass, block, i);
	return result;
}

static int read_all(struct pass *pass, struct sn_error *error)
{
	const struct sonde_trace *trace = pass->answers->trace;
	const struct sn_processes *processes = &pass->answers->processes;
	int result = 0;
	if (pass->attributes.keys[ACCESS] == SONDE_NONE)
		return 0;
	for (uint32_t i = 0; i < sonde_trace_track_count(trace) && !result; i++) {
		const struct sonde_track *track = sonde_trace_track(trace, i);
		if (track->kind != SONDE_TRACK_INTERVALS ||
		    sonde_db_profile(pass->answers->db, track->profile)->kind !=
			SONDE_PROFILE_THREAD)
			continue;
		pass->process = processes->callers[processes->of_profile[track->profile]];
		result = sn_track_blocks(trace, i, 0, take_block, pass, error);
	}
	return result;
}

static int by_time(const void *left, const void *right)
{
	const struct sn_access *a = left, *b = right;
	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

int sn_accesses(const struct sn_answers *answers, struct sn_accesses *accesses,
		struct sn_error *error)
{
	struct pass pass = {.answers = answers, .accesses = accesses};
	*accesses = (struct sn_accesses){0};
	int result =
	    sn_attributes_init(&pass.attributes, answers->db, answers->trace, wishes, WANTED)
		? sn_fail(error, SN_ERR_MEMORY, "out of memory")
		: read_all(&pass, error);
	if (accesses->count)
		qsort(accesses->items, accesses->count, sizeof(*accesses->items), by_time);
	sn_attributes_release(&pass.attributes);
	sn_intern_release(&pass.keys);
	return result;
}
