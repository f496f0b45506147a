/* SPDX-License-Identifier: Apache-2.0 */
/* Launches and copies of each device in order of start, and what runs beside them. */
#include "window.h"

#include "base/sort_by.h"

/* ---- what lies in it ---- */

static int keep_launch(void *data, const struct sn_vary_launch *launch)
{
	struct sn_vary_window *window = data;
	int64_t shift = (int64_t)window->source->shift_ns;
	struct sn_window_launch one = {.start_ns = (int64_t)launch->start_ns - shift,
				       .end_ns = (int64_t)launch->end_ns - shift,
				       .place = launch->place,
				       .profile = launch->profile,
				       .track = launch->track,
				       .registers = launch->sizes[SN_LAUNCH_REGISTERS],
				       .previous_start_ns = INT64_MIN,
				       .copy = SN_NO_COPY,
				       .cell =
					   sn_vary_find_cell(window->vary, window->worker, launch)};
	struct sn_window_room *room = window->worker->room;
	return sn_vec_push(&room->launches, &room->launch_capacity, &window->launch_count, one);
}

static int keep_copy(void *data, const struct sn_vary_copy *copy)
{
	struct sn_vary_window *window = data;
	int64_t shift = (int64_t)window->source->shift_ns;
	struct sn_window_copy one = {(int64_t)copy->start_ns - shift,
				     (int64_t)copy->end_ns - shift,
				     copy->bytes,
				     copy->place,
				     copy->profile,
				     copy->direction};
	struct sn_window_room *room = window->worker->room;
	return sn_vec_push(&room->copies, &room->copy_capacity, &window->copy_count, one);
}

/* Each track is in order of start. */
SN_MERGE_SORT(sort_launches, struct sn_window_launch, const void *,
	      (SN_ORDER(b->place, a->place)
		   ?: SN_ORDER_BY(b, a, start_ns, profile, track, end_ns)) < 0);
SN_MERGE_SORT(sort_copies, struct sn_window_copy, const void *,
	      SN_ORDER_BY(b, a, place, start_ns, profile, end_ns) < 0);

/* Capacities are those of the smaller of two arrays that may have been exchanged. */
static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int sort_window(struct sn_vary_window *window)
{
	struct sn_window_room *room = window->worker->room;
	if (sn_vec_reserve(&room->launches_to, &room->launch_to_capacity,
			   window->launch_count + 1) ||
	    sn_vec_reserve(&room->copies_to, &room->copy_to_capacity, window->copy_count + 1))
		return SN_ERR_MEMORY;
	sort_launches_with(&room->launches, &room->launches_to, window->launch_count, NULL);
	sort_copies_with(&room->copies, &room->copies_to, window->copy_count, NULL);
	room->launch_capacity = room->launch_to_capacity =
	    least(room->launch_capacity, room->launch_to_capacity);
	room->copy_capacity = room->copy_to_capacity =
	    least(room->copy_capacity, room->copy_to_capacity);
	window->launches = room->launches;
	window->copies = room->copies;
	return 0;
}

static int read_window(struct sn_vary_window *window)
{
	const struct sn_vary_source *source = window->source;
	int64_t shift = (int64_t)source->shift_ns;
	int result = 0;
	window->launch_count = window->copy_count = 0;
	for (size_t t = 0; t < source->track_count && !result; t++) {
		struct sn_vary_reading reading = {
		    .from_ns = (uint64_t)(window->read_from_ns + shift),
		    .to_ns = (uint64_t)(window->read_to_ns + shift - 1),
		    .launch = keep_launch,
		    .copy = keep_copy,
		    .detail = window->detail,
		    .data = window};
		reading.from_ns = sn_vary_track_begin(source, source->tracks[t], reading.from_ns);
		result = sn_vary_read_track(&window->worker->reader, source, source->tracks[t],
					    &reading, &window->worker->error);
	}
	return result ?: sort_window(window);
}

/* ---- what was beside a launch ---- */

/* What runs, or was last on a stream, while launches of a place pass in order of start. */
struct sweep {
	uint32_t *running, *copying; /* launches and copies */
	size_t running_count, running_capacity, copying_count, copying_capacity;
	uint32_t *last_launch, *last_copy; /* by profile; + 1, 0: none */
};

static int64_t overlap(const struct sn_window_launch *launch, const struct sn_window_copy *copy)
{
	int64_t from = launch->start_ns > copy->start_ns ? launch->start_ns : copy->start_ns;
	int64_t to = launch->end_ns < copy->end_ns ? launch->end_ns : copy->end_ns;
	return to - from;
}

/* Copies that have ended by the launch's start are the last ones of their streams. */
static void end_copies(struct sweep *sweep, const struct sn_vary_window *window,
		       const struct sn_window_launch *launch)
{
	size_t kept = 0;
	for (size_t i = 0; i < sweep->copying_count; i++) {
		uint32_t number = sweep->copying[i];
		const struct sn_window_copy *copy = window->copies + number;
		if (copy->end_ns > launch->start_ns) {
			sweep->copying[kept++] = number;
			continue;
		}
		uint32_t *last = sweep->last_copy + copy->profile;
		if (!*last || window->copies[*last - 1].end_ns <= copy->end_ns)
			*last = number + 1;
	}
	sweep->copying_count = kept;
}

static uint32_t linked_copy(const struct sweep *sweep, const struct sn_vary_window *window,
			    const struct sn_window_launch *launch)
{
	uint32_t found = SN_NO_COPY, last = sweep->last_copy[launch->profile];
	int64_t most = 0;
	for (size_t i = 0; i < sweep->copying_count; i++) {
		int64_t both = overlap(launch, window->copies + sweep->copying[i]);
		if (both > most) {
			most = both;
			found = sweep->copying[i];
		}
	}
	if (found != SN_NO_COPY || !last)
		return found;
	return window->copies[last - 1].end_ns >= launch->previous_start_ns ? last - 1 : SN_NO_COPY;
}

static int pass_launch(struct sweep *sweep, struct sn_vary_window *window, size_t number,
		       size_t *next_copy, uint32_t place)
{
	struct sn_window_launch *launch = window->worker->room->launches + number;
	uint32_t previous = sweep->last_launch[launch->profile];
	size_t kept = 0;
	for (size_t i = 0; i < sweep->running_count; i++)
		if (window->launches[sweep->running[i]].end_ns > launch->start_ns)
			sweep->running[kept++] = sweep->running[i];
	sweep->running_count = kept;
	launch->concurrent = (uint32_t)kept;
	if (previous) {
		launch->previous_start_ns = window->launches[previous - 1].start_ns;
		launch->previous_end_ns = window->launches[previous - 1].end_ns;
	}
	for (; *next_copy < window->copy_count && window->copies[*next_copy].place == place &&
	       window->copies[*next_copy].start_ns < launch->end_ns;
	     (*next_copy)++)
		if (sn_vec_push(&sweep->copying, &sweep->copying_capacity, &sweep->copying_count,
				(uint32_t)*next_copy))
			return SN_ERR_MEMORY;
	end_copies(sweep, window, launch);
	launch->copy = linked_copy(sweep, window, launch);
	sweep->last_launch[launch->profile] = (uint32_t)number + 1;
	return sn_vec_push(&sweep->running, &sweep->running_capacity, &sweep->running_count,
			   (uint32_t)number);
}

static int sweep_window(struct sn_vary_window *window)
{
	uint32_t profiles = sonde_db_profile_count(window->source->input->db);
	struct sweep sweep = {.last_launch = calloc(profiles + 1ull, sizeof(uint32_t)),
			      .last_copy = calloc(profiles + 1ull, sizeof(uint32_t))};
	int result = sweep.last_launch && sweep.last_copy ? 0 : SN_ERR_MEMORY;
	size_t copy = 0;
	for (size_t i = 0; i < window->launch_count && !result; i++) {
		uint32_t place = window->launches[i].place;
		if (i && window->launches[i - 1].place != place)
			sweep.running_count = sweep.copying_count = 0;
		while (copy < window->copy_count && window->copies[copy].place < place)
			copy++;
		result = pass_launch(&sweep, window, i, &copy, place);
	}
	free(sweep.running);
	free(sweep.copying);
	free(sweep.last_launch);
	free(sweep.last_copy);
	return result;
}

/* Reads some more than the window, and again as far as launches and their copies reach: a copy may be longer than the window, and one that
 * begins behind it may be beside a launch that is longer. Ends, because it only widens. */
static int read_whole_window(struct sn_vary_window *window)
{
	int64_t earliest_ns = -(int64_t)window->source->shift_ns,
		eighth_ns = (window->to_ns - window->from_ns) / 8,
		longest_ns = (int64_t)window->vary->longest_ns,
		margin_ns = longest_ns < eighth_ns ? longest_ns : eighth_ns;
	window->read_from_ns = window->from_ns - margin_ns;
	if (window->read_from_ns < earliest_ns)
		window->read_from_ns = earliest_ns;
	window->read_to_ns = window->to_ns + margin_ns;
	for (;;) {
		int result = read_window(window);
		result = result ?: sweep_window(window);
		if (result)
			return result;
		int64_t from_ns = window->read_from_ns, to_ns = window->read_to_ns;
		for (size_t i = 0; i < window->launch_count; i++) {
			const struct sn_window_launch *launch = window->launches + i;
			const struct sn_window_copy *copy =
			    launch->copy == SN_NO_COPY ? NULL : window->copies + launch->copy;
			if (!sn_vary_window_has(window, launch))
				continue;
			to_ns = launch->end_ns > to_ns ? launch->end_ns : to_ns;
			to_ns = copy && copy->end_ns > to_ns ? copy->end_ns : to_ns;
			from_ns = copy && copy->start_ns < from_ns ? copy->start_ns : from_ns;
		}
		if (from_ns == window->read_from_ns && to_ns == window->read_to_ns)
			return 0;
		window->read_from_ns = from_ns;
		window->read_to_ns = to_ns;
	}
}

int sn_vary_window_read(struct sn_vary_window *window, struct sn_vary *vary,
			struct sn_vary_worker *worker, const struct sn_vary_source *source,
			const struct sn_vary_slice *part, enum sn_vary_detail detail)
{
	*window = (struct sn_vary_window){.vary = vary,
					  .worker = worker,
					  .source = source,
					  .detail = detail,
					  .from_ns = (int64_t)part->from_ns,
					  .to_ns = (int64_t)part->to_ns};
	if (!worker->room)
		worker->room = calloc(1, sizeof(*worker->room));
	if (!worker->room)
		return SN_ERR_MEMORY;
	return source->start_ns == UINT64_MAX ? 0 : read_whole_window(window);
}

int sn_vary_window_read_clocks(struct sn_vary_window *window)
{
	uint64_t shift_ns = window->source->shift_ns;
	return sn_vary_clocks_read(window->source, (uint64_t)window->from_ns + shift_ns,
				   (uint64_t)window->to_ns + shift_ns - 1, &window->clocks,
				   &window->worker->error);
}

void sn_vary_window_release(struct sn_vary_window *window)
{
	free(window->clocks.items);
}

void sn_vary_window_free_room(struct sn_vary_worker *worker)
{
	struct sn_window_room *room = worker->room;
	if (!room)
		return;
	free(room->launches);
	free(room->launches_to);
	free(room->copies);
	free(room->copies_to);
	free(room);
	worker->room = NULL;
}

int sn_vary_window_cover(const struct sn_vary_window *window, size_t first,
			 struct sn_intervals *kernels)
{
	uint32_t place = window->launches[first].place;
	int64_t base = window->source->shift_ns;
	kernels->count = 0;
	for (size_t i = first; i < window->launch_count && window->launches[i].place == place; i++)
		if (sn_intervals_add(kernels, (uint64_t)(window->launches[i].start_ns + base),
				     (uint64_t)(window->launches[i].end_ns + base)))
			return SN_ERR_MEMORY;
	sn_intervals_settle(kernels);
	return 0;
}
