/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clocks of a Perfetto trace. A snapshot has the values of several clocks at one instant. All times
 * are converted to the clock that tracing uses (time since boot) by the last snapshot before them,
 * and from there to the Unix epoch by the first snapshot with both clocks: by one constant for the
 * whole trace, because the system's time of day may be set while tracing, and events must stay in
 * order.
 */
#include "perfetto.h"

#include "base/search.h"
#include "base/vec.h"

#define IS_OWN(id) ((id) >= 64 && (id) < 128)

struct shown {
	uint32_t id;
	uint64_t time, unit_ns;
	bool is_incremental;
};
#define SHOWN_MAX 32

static size_t read_snapshot(struct sn_proto snapshot, struct shown *shown)
{
	struct sn_proto_field field, parts[5]; /* 1 clock, 2 time, 3 is incremental, 4 unit in ns */
	size_t count = 0;
	while (sn_proto_next(&snapshot, &field)) {
		if (field.number != 1 || count == SHOWN_MAX)
			continue;
		SN_PROTO_FIELDS(sn_proto_enter(&field), parts);
		shown[count++] =
		    (struct shown){(uint32_t)parts[1].value, parts[2].value,
				   parts[4].value ? parts[4].value : 1, parts[3].value != 0};
	}
	return count;
}

static const struct shown *find_shown(const struct shown *shown, size_t count, uint32_t id)
{
	for (size_t i = 0; i < count; i++)
		if (shown[i].id == id)
			return shown + i;
	return NULL;
}

static struct sn_perfetto_clock *find_clock(struct sn_perfetto_clocks *clocks, uint32_t id)
{
	for (size_t i = 0; i < clocks->count; i++)
		if (clocks->items[i].id == id)
			return clocks->items + i;
	return NULL;
}

static int note(struct sn_perfetto_clocks *clocks, const struct shown *shown, uint64_t boot_ns)
{
	struct sn_perfetto_clock *clock = find_clock(clocks, shown->id);
	if (!clock) {
		if (clocks->count == sizeof(clocks->items) / sizeof(*clocks->items))
			return 0;
		clock = clocks->items + clocks->count++;
		*clock = (struct sn_perfetto_clock){.id = shown->id};
	}
	clock->is_incremental = shown->is_incremental;
	clock->unit_ns = shown->unit_ns;
	clock->last_ns = shown->time * shown->unit_ns;
	/* times of a sequence's own clock are converted in order, so the last snapshot suffices */
	if (IS_OWN(shown->id))
		clock->count = 0;
	return sn_vec_push(&clock->instants, &clock->capacity, &clock->count,
			   (struct sn_perfetto_instant){clock->last_ns, boot_ns});
}

static bool convert(const struct sn_perfetto_clock *clock, uint64_t time_ns, uint64_t *boot_ns)
{
	if (!clock->count)
		return false;
	size_t behind = sn_search(i, clock->count, clock->instants[i].clock_ns <= time_ns);
	const struct sn_perfetto_instant *at = clock->instants + (behind ? behind - 1 : 0);
	*boot_ns = at->boot_ns + (time_ns - at->clock_ns);
	return true;
}

int sn_perfetto_clock_snapshot(struct sn_perfetto *perfetto, struct sn_perfetto_clocks *clocks,
			       struct sn_proto snapshot, bool is_own)
{
	struct shown shown[SHOWN_MAX];
	size_t count = read_snapshot(snapshot, shown);
	const struct shown *boot = find_shown(shown, count, SN_PERFETTO_BOOTTIME);
	const struct shown *real = find_shown(shown, count, SN_PERFETTO_REALTIME);
	uint64_t boot_ns = boot ? boot->time : 0;
	/* without the time since boot, any clock with an earlier snapshot gives it */
	for (size_t i = 0; i < count && !boot; i++) {
		struct sn_perfetto_clock *known = find_clock(&perfetto->clocks, shown[i].id);
		if (known && convert(known, shown[i].time * shown[i].unit_ns, &boot_ns))
			boot = shown + i;
	}
	if (!boot && count) {
		boot = real ? real : shown;
		boot_ns = boot->time * boot->unit_ns;
	}
	if (!is_own && real && !perfetto->clocks.has_real) {
		perfetto->clocks.to_real_ns = (int64_t)(real->time - boot_ns);
		perfetto->clocks.has_real = true;
	}
	for (size_t i = 0; i < count; i++)
		if (IS_OWN(shown[i].id) == is_own && note(clocks, shown + i, boot_ns))
			return SN_ERR_MEMORY;
	return 0;
}

void sn_perfetto_clocks_release(struct sn_perfetto_clocks *clocks)
{
	for (size_t i = 0; i < clocks->count; i++)
		free(clocks->items[i].instants);
	*clocks = (struct sn_perfetto_clocks){.count = 0};
}

bool sn_perfetto_time(struct sn_perfetto *perfetto, struct sn_perfetto_sequence *sequence,
		      uint32_t id, uint64_t time, uint64_t *time_ns)
{
	uint64_t boot_ns = time;
	struct sn_perfetto_clock *clock =
	    find_clock(IS_OWN(id) ? &sequence->clocks : &perfetto->clocks, id);
	if (clock) {
		time *= clock->unit_ns;
		if (clock->is_incremental)
			time = clock->last_ns += time;
		if (!convert(clock, time, &boot_ns))
			return false;
	} else if (IS_OWN(id) || (id != SN_PERFETTO_BOOTTIME && id != SN_PERFETTO_MONOTONIC)) {
		return false;
	}
	int64_t at = (int64_t)(boot_ns + (uint64_t)perfetto->clocks.to_real_ns);
	if (at < 0 || at > SN_TRACK_TIME_MAX)
		return false;
	*time_ns = (uint64_t)at;
	return true;
}

bool sn_perfetto_packet_time(struct sn_perfetto *perfetto, const struct sn_perfetto_packet *packet,
			     uint64_t *time_ns)
{
	uint32_t clock = packet->clock ? packet->clock : packet->sequence->default_clock;
	return packet->has_timestamp &&
	       sn_perfetto_time(perfetto, packet->sequence, clock ? clock : SN_PERFETTO_BOOTTIME,
				packet->timestamp, time_ns);
}
