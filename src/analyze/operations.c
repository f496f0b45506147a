/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over streams, one over threads; see operations.h. */
#include "operations.h"

#include "base/vec.h"
#include "device_tracks.h"
#include "event_merge.h"
#include "format/measurement.h"

#include <string.h>

struct links {
	uint64_t *items;
	size_t count, capacity;
};

/* Whether a context counts, and as what; found out once for each. */
struct works {
	const struct sonde_db *db;
	bool launched_only;
	uint8_t *known;
};

static enum sn_device_work work_of(struct works *works, uint32_t context)
{
	if (!works->known[context]) {
		bool counts = !works->launched_only || sn_device_is_launched(works->db, context);
		works->known[context] =
		    (uint8_t)(1 + (counts ? sn_device_work(works->db, context) : SN_WORK_NONE));
	}
	return works->known[context] - 1;
}

static int take(const struct sonde_trace *trace, const struct sn_merged_event *event,
		enum sn_device_work work, struct sn_device_operations *device, struct links *links)
{
	if (sn_vec_reserve(&device->items, &device->capacity, device->count + 1) < 0 ||
	    sn_vec_reserve(&links->items, &links->capacity, links->count + 1) < 0)
		return SN_ERR_MEMORY;
	device->items[device->count++] = (struct sn_operation){
	    .start_ns = event->start_ns,
	    .end_ns = event->end_ns,
	    .context = event->context,
	    .profile = sonde_trace_track(trace, event->track)->profile,
	    .work = work,
	};
	links->items[links->count++] = event->link;
	return 0;
}

static int read_device(const struct sonde_trace *trace, const struct sn_device_track *tracks,
		       size_t count, struct works *works, struct sn_device_operations *device,
		       struct links *links, struct sn_error *error)
{
	uint32_t *numbers = malloc((count + 1) * sizeof(*numbers));
	for (size_t i = 0; i < count && numbers; i++)
		numbers[i] = tracks[i].track;
	struct sn_event_merge *merge =
	    numbers ? sn_event_merge_new(trace, numbers, count, 0) : NULL;
	struct sn_merged_event event;
	int result = merge ? 1 : SN_ERR_MEMORY;
	while (result > 0 && (result = sn_event_merge_next(merge, &event, error)) > 0) {
		enum sn_device_work work = work_of(works, event.context);
		if (work != SN_WORK_NONE && take(trace, &event, work, device, links))
			result = SN_ERR_MEMORY;
	}
	if (result == SN_ERR_MEMORY)
		sn_fail(error, result, "out of memory");
	sn_event_merge_free(merge);
	free(numbers);
	return result;
}

static int read_devices(const struct sonde_db *db, const struct sonde_trace *trace,
			struct works *works, struct sn_operations *operations, struct links *links,
			struct sn_error *error)
{
	size_t count;
	struct sn_device_track *tracks = sn_device_tracks(db, trace, &count);
	int result = tracks ? 0 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	for (size_t first = 0, next; first < count && !result; first = next) {
		struct sn_device_operations *device =
		    operations->devices + operations->device_count;
		for (next = first + 1; next < count; next++)
			if (!sn_device_is_same(tracks + first, tracks + next))
				break;
		*device = (struct sn_device_operations){.rank = tracks[first].rank,
							.device = tracks[first].device,
							.run = tracks[first].run,
							.profile = tracks[first].profile};
		result =
		    read_device(trace, tracks + first, next - first, works, device, links, error);
		/* as sn_device_times: a device with annotations alone is none */
		if (device->count)
			operations->device_count++;
	}
	free(tracks);
	return result;
}

static int compare_links(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

/* The launches that are wanted, by link, still without their calls. */
static int make_launches(const struct links *links, struct sn_operations *operations)
{
	uint64_t *sorted = malloc((links->count + 1) * sizeof(*sorted));
	size_t count = 0;
	if (!sorted)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < links->count; i++)
		if (links->items[i])
			sorted[count++] = links->items[i];
	bool is_sorted = true;
	for (size_t i = 1; i < count && is_sorted; i++)
		is_sorted = sorted[i - 1] <= sorted[i];
	if (!is_sorted) /* which takes as much memory again */
		qsort(sorted, count, sizeof(*sorted), compare_links);
	operations->launches = calloc(count + 1, sizeof(*operations->launches));
	for (size_t i = 0; i < count && operations->launches; i++)
		if (!i || sorted[i] != sorted[i - 1])
			operations->launches[operations->launch_count++].link = sorted[i];
	free(sorted);
	return operations->launches ? 0 : SN_ERR_MEMORY;
}

static struct sn_launch *find(const struct sn_operations *operations, uint64_t link)
{
	size_t low = 0, high = operations->launch_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (operations->launches[middle].link < link)
			low = middle + 1;
		else
			high = middle;
	}
	bool is_there = low < operations->launch_count && operations->launches[low].link == link;
	return is_there ? operations->launches + low : NULL;
}

static void take_calls(const struct sonde_event_block *block, uint32_t profile,
		       const struct sn_operations *operations)
{
	for (size_t k = 0; k < block->count && block->links; k++) {
		struct sn_launch *launch =
		    block->links[k] ? find(operations, block->links[k]) : NULL;
		if (!launch || (launch->end_ns && launch->start_ns <= block->starts_ns[k]))
			continue;
		*launch = (struct sn_launch){block->links[k], block->starts_ns[k],
					     block->ends_ns[k], profile, block->contexts[k]};
	}
}

static int read_calls(const struct sonde_db *db, const struct sonde_trace *trace,
		      const struct sn_operations *operations, struct sn_error *error)
{
	for (uint32_t i = 0; i < sonde_trace_track_count(trace); i++) {
		const struct sonde_track *track = sonde_trace_track(trace, i);
		struct sonde_event_block block;
		struct sonde_db_error why;
		int result;
		if (sonde_db_profile(db, track->profile)->kind == SONDE_PROFILE_STREAM ||
		    track->kind != SONDE_TRACK_INTERVALS)
			continue;
		struct sonde_event_cursor *cursor =
		    sonde_event_cursor_new(trace, i, 0, UINT64_MAX, 0);
		if (!cursor)
			return sn_fail(error, SN_ERR_MEMORY, "out of memory");
		while ((result = sonde_event_cursor_next(cursor, &block, &why)) > 0)
			take_calls(&block, track->profile, operations);
		sonde_event_cursor_free(cursor);
		if (result)
			return sn_fail(error, SN_ERR_FORMAT, "%s", why.text);
	}
	return 0;
}

static void connect(struct sn_operations *operations, const struct links *links)
{
	size_t at = 0;
	for (size_t i = 0; i < operations->device_count; i++)
		for (size_t k = 0; k < operations->devices[i].count; k++, at++) {
			const struct sn_launch *launch =
			    links->items[at] ? find(operations, links->items[at]) : NULL;
			operations->devices[i].items[k].launch =
			    launch && launch->end_ns ? (uint32_t)(launch - operations->launches)
						     : SONDE_NONE;
		}
}

int sn_operations(const struct sonde_db *db, const struct sonde_trace *trace, bool launched_only,
		  struct sn_operations *operations, struct sn_error *error)
{
	struct links links = {0};
	struct works works = {db, launched_only, calloc(sonde_db_context_count(db) + 1ull, 1)};
	size_t most = sonde_trace_track_count(trace) + 1ull;
	*operations = (struct sn_operations){
	    .devices = calloc(most, sizeof(*operations->devices)),
	};
	int result = works.known && operations->devices
			 ? read_devices(db, trace, &works, operations, &links, error)
			 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	if (!result && make_launches(&links, operations))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	if (!result)
		result = read_calls(db, trace, operations, error);
	if (!result)
		connect(operations, &links);
	free(works.known);
	free(links.items);
	return result;
}

void sn_operations_release(struct sn_operations *operations)
{
	for (size_t i = 0; i < operations->device_count; i++)
		free(operations->devices[i].items);
	free(operations->devices);
	free(operations->launches);
	*operations = (struct sn_operations){0};
}

const struct sn_launch *sn_operations_launch(const struct sn_operations *operations, uint64_t link)
{
	const struct sn_launch *launch = link ? find(operations, link) : NULL;
	return launch && launch->end_ns ? launch : NULL;
}

const struct sn_launch *sn_operation_launch(const struct sn_operations *operations,
					    const struct sn_operation *operation)
{
	return operation->launch == SONDE_NONE ? NULL : operations->launches + operation->launch;
}
