/* SPDX-License-Identifier: Apache-2.0 */
/* See copies.h. */
#include "copies.h"

#include "operations.h"
#include "timeline/track_walk.h"

#include <math.h>
#include <stdlib.h>

static const struct sn_attribute_wish wishes[] = {{"bytes", SONDE_ATTRIBUTE_SIGNED}};

struct walk {
	sn_visit_copy *visit;
	void *data;
};

static int visit_event(void *data, const struct sn_walked_event *event)
{
	const struct walk *walk = data;
	uint64_t bytes;
	struct sn_copy copy = {
	    .start_ns = event->start_ns,
	    .end_ns = event->end_ns,
	    .bytes = sn_walked_value(event, 0, &bytes) ? (double)(int64_t)bytes : (double)NAN,
	    .context = event->context,
	    .profile = event->track->profile,
	};
	walk->visit(walk->data, &copy);
	return 0;
}

int sn_copies_walk(const struct sn_processes *processes, uint32_t profile, sn_visit_copy *visit,
		   void *data, struct sn_error *error)
{
	uint32_t count = sonde_db_context_count(processes->db);
	bool *are_copies = calloc(count + 1ull, sizeof(*are_copies));
	for (uint32_t i = 0; i < count && are_copies; i++)
		are_copies[i] = sn_device_work(processes->db, i) == SN_WORK_COPY;
	struct walk walk = {visit, data};
	struct sn_track_walk events = {
	    .tracks = SN_WALK_STREAMS,
	    .contexts = are_copies,
	    .wishes = wishes,
	    .wish_count = 1,
	    .visit = visit_event,
	    .data = &walk,
	};
	int result =
	    are_copies ? sn_track_walk(processes, profile, &events, error) : sn_fail_memory(error);
	free(are_copies);
	return result;
}
