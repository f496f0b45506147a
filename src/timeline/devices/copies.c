/* SPDX-License-Identifier: Apache-2.0 */
/* Visits the copies between host and devices, with direction, bytes and time. */
#include "copies.h"

#include "frame/context_frame.h"
#include "operations.h"
#include "timeline/track_walk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- directions ---- */

const char *sn_copy_direction_name(enum sn_copy_direction direction)
{
	static const char *const names[SN_COPY_DIRECTIONS] = {
	    [SN_COPY_TO_DEVICE] = "host to device",   [SN_COPY_TO_HOST] = "device to host",
	    [SN_COPY_ON_DEVICE] = "device to device", [SN_COPY_BETWEEN_DEVICES] = "between devices",
	    [SN_COPY_ON_HOST] = "host to host",	      [SN_COPY_UNKNOWN] = "not known",
	};
	return names[direction];
}

/* From the name: "Memcpy HtoD (Pinned -> Device)", "MEMORY_COPY_HOST_TO_DEVICE", "copy
 * host->device". */
enum sn_copy_direction sn_copy_direction(const struct sonde_db *db, uint32_t context)
{
	static const struct {
		const char *part;
		enum sn_copy_direction direction;
	} parts[] = {{"HtoD", SN_COPY_TO_DEVICE},
		     {"HOST_TO_DEVICE", SN_COPY_TO_DEVICE},
		     {"DtoH", SN_COPY_TO_HOST},
		     {"DEVICE_TO_HOST", SN_COPY_TO_HOST},
		     {"DtoD", SN_COPY_ON_DEVICE},
		     {"DEVICE_TO_DEVICE", SN_COPY_ON_DEVICE},
		     {"PtoP", SN_COPY_BETWEEN_DEVICES},
		     {"HtoH", SN_COPY_ON_HOST},
		     {"HOST_TO_HOST", SN_COPY_ON_HOST},
		     {"Host-to-Device", SN_COPY_TO_DEVICE},
		     {"Device-to-Host", SN_COPY_TO_HOST},
		     {"Device-to-Device", SN_COPY_ON_DEVICE},
		     {"Peer-to-Peer", SN_COPY_BETWEEN_DEVICES},
		     {"HostToDevice", SN_COPY_TO_DEVICE},
		     {"DeviceToHost", SN_COPY_TO_HOST},
		     {"DeviceToDevice", SN_COPY_ON_DEVICE},
		     {"HostToHost", SN_COPY_ON_HOST},
		     {"MemcpyH2D", SN_COPY_TO_DEVICE},
		     {"MemcpyD2H", SN_COPY_TO_HOST},
		     {"MemcpyD2D", SN_COPY_ON_DEVICE},
		     {"MemcpyP2P", SN_COPY_BETWEEN_DEVICES},
		     {"host->device", SN_COPY_TO_DEVICE},
		     {"device->host", SN_COPY_TO_HOST},
		     {"device->device", SN_COPY_ON_DEVICE},
		     {"write", SN_COPY_TO_DEVICE},
		     {"read", SN_COPY_TO_HOST},
		     {"Write", SN_COPY_TO_DEVICE},
		     {"Read", SN_COPY_TO_HOST},
		     {"copy", SN_COPY_ON_DEVICE}};
	const char *name = sn_context_name(db, context);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strstr(name, parts[i].part))
			return parts[i].direction;
	return SN_COPY_UNKNOWN;
}
