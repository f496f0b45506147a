/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks and events as importers add them, into the sink's sorter. While a file is read, its base
 * time may be unknown, and events may lie before it; so the sorter holds the file's times plus
 * SN_SINK_BIAS_NS.
 */
#include "track_sink_internal.h"

#include "track_dataflow.h"

#include <stdio.h>
#include <string.h>

/* ---- tracks ---- */

static uint32_t add_track(struct sn_track_sink *sink, const struct sn_track_place *place)
{
	uint32_t before = sink->places.count;
	uint32_t number = sn_intern_add(&sink->places, place, sizeof(*place));
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&sink->tracks, &sink->track_capacity, number + 1ull) < 0)
		return SONDE_NONE;
	if (number < before)
		return number;
	sink->tracks[number] = (struct sn_track){
	    .is_device = place->is_device,
	    .name = SONDE_NONE,
	    .program = SONDE_NONE,
	    .host = SONDE_NONE,
	    .rank = -1,
	    .pid = place->is_device ? -1 : place->first,
	    .tid = place->is_device ? -1 : place->second,
	    .device = (uint32_t)place->first,
	    .context = (uint32_t)place->second,
	    .stream = (uint32_t)place->third,
	    .process = (uint32_t)place->process,
	    .start_ns = UINT64_MAX,
	};
	return number;
}

/* Successive events come from a few tracks; a small cache finds those with one comparison. */
uint32_t sn_track_sink_track(struct sn_track_sink *sink, const struct sn_track_place *place)
{
	int64_t hash = place->first + 3 * place->second + 5 * place->third + 7 * place->is_device;
	uint32_t *recent = sink->recent_tracks + ((uint64_t)hash % SN_SINK_RECENT);
	if (*recent &&
	    !memcmp(sn_intern_at(&sink->places, *recent - 1, NULL), place, sizeof(*place)))
		return *recent - 1;
	uint32_t track = add_track(sink, place);
	*recent = track == SONDE_NONE ? 0 : track + 1;
	return track;
}

uint32_t sn_track_sink_find(const struct sn_track_sink *sink, const struct sn_track_place *place)
{
	uint32_t found = sn_intern_find(&sink->places, place, sizeof(*place));
	return found == SN_INTERN_NONE ? SONDE_NONE : found;
}

uint32_t sn_track_sink_processor(struct sn_track_sink *sink, uint32_t cpu)
{
	char name[32];
	struct sn_track_place place = {0, -1, cpu, SN_SINK_PROCESSOR, 0};
	uint32_t track = sn_track_sink_track(sink, &place);
	if (track == SONDE_NONE || sink->tracks[track].is_processor)
		return track;
	snprintf(name, sizeof(name), "CPU %u", cpu);
	sink->tracks[track].name = sn_db_builder_string(sink->builder, name);
	sink->tracks[track].is_processor = true;
	return track;
}

uint32_t sn_track_sink_count(const struct sn_track_sink *sink)
{
	return sink->places.count;
}

const struct sn_track *sn_track_sink_at(const struct sn_track_sink *sink, uint32_t track)
{
	return sink->tracks + track;
}

const struct sn_track_place *sn_track_sink_place(const struct sn_track_sink *sink, uint32_t track)
{
	return sn_intern_at(&sink->places, track, NULL);
}

void sn_track_sink_name_track(struct sn_track_sink *sink, uint32_t track, uint32_t name)
{
	sink->tracks[track].name = name;
}

void sn_track_sink_set_track_program(struct sn_track_sink *sink, uint32_t track, uint32_t program)
{
	sink->tracks[track].program = program;
}

void sn_track_sink_set_track_rank(struct sn_track_sink *sink, uint32_t track, int32_t rank)
{
	sink->tracks[track].rank = rank;
}

void sn_track_sink_set_track_pid(struct sn_track_sink *sink, uint32_t track, int64_t pid)
{
	sink->tracks[track].pid = pid;
}

void sn_track_sink_set_track_tid(struct sn_track_sink *sink, uint32_t track, int64_t tid)
{
	sink->tracks[track].tid = tid;
}

void sn_track_sink_touch(struct sn_track_sink *sink, uint32_t number, int64_t time_ns)
{
	struct sn_track *track = sink->tracks + number;
	if (time_ns < -SN_SINK_BIAS_NS || time_ns > SN_SINK_BIAS_NS)
		return;
	uint64_t biased_ns = (uint64_t)(time_ns + SN_SINK_BIAS_NS);
	track->start_ns = biased_ns < track->start_ns ? biased_ns : track->start_ns;
	track->end_ns = biased_ns > track->end_ns ? biased_ns : track->end_ns;
}

void sn_track_sink_nest_track(struct sn_track_sink *sink, uint32_t track, bool nests)
{
	sink->tracks[track].nests = nests;
}

/* ---- events ---- */

/* The process of most calls, by the majority vote of Boyer and Moore. */
static void vote_for_process(struct sn_track_sink *sink, int64_t pid)
{
	if (sink->pid == pid) {
		sink->pid_votes++;
	} else if (sink->pid_votes) {
		sink->pid_votes--;
	} else {
		sink->pid = pid;
		sink->pid_votes = 1;
	}
}

/* Notes what an interval tells about its file as a whole. */
static void note_interval(struct sn_track_sink *sink, struct sn_track *track,
			  const struct sn_event *event)
{
	uint32_t category = sn_sink_name(sink, event->context).category;
	struct sn_sink_gradient gradient = sn_sink_gradient(sink, event);
	track->forward_count += gradient.sequence != UINT64_MAX && !gradient.is_backward;
	if (category == SN_ACTIVITY_OPERATOR || category == SN_ACTIVITY_API)
		vote_for_process(sink, track->pid);
	if (!event->link && (category == SN_ACTIVITY_API || category == SN_ACTIVITY_KERNEL ||
			     category == SN_ACTIVITY_COPY || category == SN_ACTIVITY_FILL ||
			     category == SN_ACTIVITY_GRAPH))
		sn_order_add(sink, event->profile, category, event);
	if (sink->dataflow && category == SN_ACTIVITY_ANNOTATION &&
	    sn_sink_is(sink, event->context, SN_TRAIT_STEP))
		sn_dataflow_step(sink->dataflow, event->start_ns, event->end_ns);
}

/* All iterations share one context, so the number in the event's name becomes an attribute. */
static void sort_iteration(struct sn_track_sink *sink, const struct sn_event *event,
			   uint64_t number)
{
	struct sn_event numbered = *event;
	size_t count = event->attribute_count;
	struct sn_attribute *attributes = malloc((count + 1) * sizeof(*attributes));
	if (attributes && count < UINT16_MAX) {
		if (count)
			memcpy(attributes, event->attributes, count * sizeof(*attributes));
		attributes[count] =
		    (struct sn_attribute){sink->keys[SN_TRACK_KEY_ITERATION], 0, number};
		numbered.attributes = attributes;
		numbered.attribute_count++;
	}
	sn_sorter_add(sink->sorter, &numbered);
	free(attributes);
}

static void sort_in(struct sn_track_sink *sink, const struct sn_event *event)
{
	struct sn_track *track = sink->tracks + event->profile;
	uint64_t number, told;
	if (event->kind == SONDE_TRACK_INTERVALS && event->metric == SONDE_NONE &&
	    sn_sink_iteration(sink, event->context, &number) &&
	    !sn_sink_attribute(sink, event, SN_TRACK_KEY_ITERATION, &told))
		sort_iteration(sink, event, number);
	else
		sn_sorter_add(sink->sorter, event);
	track->event_count++;
	bool is_interval = event->kind == SONDE_TRACK_INTERVALS;
	if (is_interval && event->metric != SONDE_NONE)
		return;
	track->start_ns = event->start_ns < track->start_ns ? event->start_ns : track->start_ns;
	track->end_ns = event->end_ns > track->end_ns ? event->end_ns : track->end_ns;
	if (is_interval)
		note_interval(sink, track, event);
}

/* The event as it goes into the sorter; false, and counted, if its times are not valid. */
static inline bool make(struct sn_track_sink *sink, const struct sn_track_event *from,
			uint16_t kind, uint32_t metric, struct sn_event *event)
{
	if (from->start_ns < -SN_SINK_BIAS_NS || from->end_ns > SN_SINK_BIAS_NS ||
	    from->end_ns < from->start_ns) {
		sink->losses[SN_SINK_UNTIMED]++;
		return false;
	}
	*event = (struct sn_event){
	    .start_ns = (uint64_t)(from->start_ns + SN_SINK_BIAS_NS),
	    .end_ns = (uint64_t)(from->end_ns + SN_SINK_BIAS_NS),
	    .link = from->link,
	    .profile = from->track,
	    .context = from->name,
	    .metric = metric,
	    .kind = kind,
	    .attribute_count = from->attribute_count,
	    .attributes = from->attributes,
	};
	return true;
}

void sn_track_sink_add(struct sn_track_sink *sink, const struct sn_track_event *event,
		       uint16_t kind, uint32_t metric)
{
	struct sn_event stored;
	if (make(sink, event, kind, metric, &stored))
		sort_in(sink, &stored);
}

/* Samples have no link: their value is stored in its place. */
static void add_cost(struct sn_track_sink *sink, const struct sn_track_event *event, uint16_t kind,
		     uint32_t metric, double value)
{
	struct sn_event stored;
	if (!make(sink, event, kind, metric, &stored))
		return;
	memcpy(&stored.link, &value, sizeof(value));
	sink->tracks[event->track].sample_count++;
	sort_in(sink, &stored);
}

void sn_track_sink_weighted_sample(struct sn_track_sink *sink, const struct sn_track_event *event,
				   uint32_t metric, double value)
{
	add_cost(sink, event, SONDE_TRACK_SAMPLES, metric, value);
}

void sn_track_sink_cost(struct sn_track_sink *sink, uint32_t track, uint32_t context,
			uint32_t metric, double value)
{
	struct sn_track_event untimed = {.track = track, .name = context};
	add_cost(sink, &untimed, SONDE_TRACK_INTERVALS, metric, value);
}

void sn_track_sink_instant(struct sn_track_sink *sink, const struct sn_track_event *event)
{
	sn_track_sink_add(sink, event, SONDE_TRACK_INSTANTS, SONDE_NONE);
}

void sn_track_sink_set_contexts(struct sn_track_sink *sink, const uint32_t *contexts)
{
	sink->contexts = contexts;
}

void sn_track_sink_value(struct sn_track_sink *sink, const struct sn_track_event *operation,
			 uint32_t metric, uint32_t key, double value)
{
	struct sn_attribute attribute = {key, 0, 0};
	struct sn_track_event with_value = *operation;
	memcpy(&attribute.value, &value, sizeof(value));
	with_value.attributes = &attribute;
	with_value.attribute_count = 1;
	sn_track_sink_add(sink, &with_value, SONDE_TRACK_INTERVALS, metric);
}

void sn_track_sink_counter(struct sn_track_sink *sink, uint32_t track, uint32_t metric,
			   int64_t time_ns, bool is_real, uint64_t bits)
{
	if (is_real && sink->real_value_key == SONDE_NONE)
		sink->real_value_key = sn_track_sink_key(sink, "value", 5, SONDE_ATTRIBUTE_REAL);
	struct sn_attribute value = {
	    is_real ? sink->real_value_key : sink->keys[SN_TRACK_KEY_VALUE], 0, bits};
	struct sn_track_event event = {.track = track,
				       .start_ns = time_ns,
				       .end_ns = time_ns,
				       .attributes = &value,
				       .attribute_count = 1};
	sn_track_sink_add(sink, &event, SONDE_TRACK_COUNTER, metric);
}

/* ---- events in two parts ---- */

int sn_track_sink_begin(struct sn_track_sink *sink, const void *key, size_t key_bytes,
			const struct sn_track_event *event)
{
	struct sn_event stored;
	return make(sink, event, SONDE_TRACK_INTERVALS, SONDE_NONE, &stored)
		   ? sn_begins_begin(&sink->begins, key, key_bytes, &stored)
		   : 0;
}

/* The end of a pair that may belong to a begin. */
struct fitting {
	const struct sn_track_sink *sink;
	int64_t pid;
	uint32_t name; /* builder's string; SONDE_NONE: any */
};

static bool is_begin_of(const void *context, const struct sn_begin *begin)
{
	const struct fitting *wanted = context;
	return sn_track_sink_place(wanted->sink, begin->event.profile)->first == wanted->pid &&
	       (wanted->name == SONDE_NONE ||
		sn_sink_name(wanted->sink, begin->event.context).text == wanted->name);
}

static bool find_begin(struct sn_track_sink *sink, const struct sn_track_end *end,
		       struct sn_begin *begin)
{
	struct fitting of_name = {sink, end->pid, end->name},
		       of_process = {sink, end->pid, SONDE_NONE};
	return (end->is_async && (sn_begins_end(&sink->begins, end->key, end->key_bytes,
						is_begin_of, &of_name, begin) ||
				  sn_begins_end(&sink->begins, end->key, end->key_bytes,
						is_begin_of, &of_process, begin))) ||
	       sn_begins_end(&sink->begins, end->key, end->key_bytes, NULL, NULL, begin);
}

/* Joins a begin and its end. The begin's attributes are freed in each case. */
static int add_pair(struct sn_track_sink *sink, struct sn_begin *begin, uint64_t end_ns,
		    const struct sn_track_end *end)
{
	struct sn_event *event = &begin->event;
	size_t count = event->attribute_count, own = count;
	struct sn_attribute *all = (struct sn_attribute *)event->attributes;
	struct sn_attribute *grown =
	    end->attribute_count ? realloc(all, (count + end->attribute_count) * sizeof(*all))
				 : all;
	for (size_t i = 0; grown && i < end->attribute_count && count < UINT16_MAX; i++) {
		bool is_told = false;
		for (size_t k = 0; k < own && end->begin_prevails && !is_told; k++)
			is_told = grown[k].key == end->attributes[i].key;
		if (!is_told)
			grown[count++] = end->attributes[i];
	}
	event->attributes = grown;
	event->attribute_count = (uint16_t)count;
	event->end_ns = end_ns > event->start_ns ? end_ns : event->start_ns;
	if (grown)
		sort_in(sink, event);
	free(grown ? grown : all);
	return grown ? 1 : SN_ERR_MEMORY;
}

int sn_track_sink_end(struct sn_track_sink *sink, const struct sn_track_end *end)
{
	struct sn_begin begin;
	if (end->time_ns < -SN_SINK_BIAS_NS || end->time_ns > SN_SINK_BIAS_NS) {
		sink->losses[SN_SINK_UNTIMED]++;
		return 1;
	}
	if (find_begin(sink, end, &begin))
		return add_pair(sink, &begin, (uint64_t)(end->time_ns + SN_SINK_BIAS_NS), end);
	sink->losses[SN_SINK_UNPAIRED]++;
	return 0;
}

void sn_track_sink_lasts(struct sn_track_sink *sink, int64_t time_ns)
{
	uint64_t biased_ns = (uint64_t)(time_ns + SN_SINK_BIAS_NS);
	sink->last_ns = biased_ns > sink->last_ns ? biased_ns : sink->last_ns;
}

static uint64_t last_time(const struct sn_track_sink *sink)
{
	uint64_t last_ns = sink->last_ns;
	for (uint32_t i = 0; i < sink->places.count; i++)
		if (sink->tracks[i].end_ns > last_ns)
			last_ns = sink->tracks[i].end_ns;
	return last_ns;
}

int64_t sn_track_sink_last(const struct sn_track_sink *sink)
{
	return (int64_t)last_time(sink) - SN_SINK_BIAS_NS;
}

int sn_sink_end_begun(struct sn_track_sink *sink)
{
	struct sn_track_end nothing = {.key = NULL};
	struct sn_begin begin;
	uint64_t end_ns = last_time(sink);
	int result = 0;
	while (result >= 0 && sn_begins_left(&sink->begins, &begin)) {
		result = add_pair(sink, &begin, end_ns, &nothing);
		sink->losses[SN_SINK_UNENDED]++;
	}
	sn_begins_release(&sink->begins);
	return result < 0 ? result : 0;
}
