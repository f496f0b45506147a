/* SPDX-License-Identifier: Apache-2.0 */
/*
 * External merge sort; see sorter.h.
 *
 * A run is an array of records and one of attributes, both by profile; its directory says where
 * each profile's begin. The last run stays in memory. Runs are numbered by age, and of equal
 * records the one of the older run goes first.
 */
#include "sorter.h"

#include "base/vec.h"
#include "spill.h"

#include <errno.h>
#include <string.h>

#define MEMORY_BYTES  (256u << 20)
#define BUFFER_EVENTS 1024u

struct record {
	uint64_t start_ns, end_ns, link;
	uint64_t first_attribute; /* in the run's attributes */
	uint32_t profile, context, metric;
	uint16_t kind, attribute_count;
};
_Static_assert(sizeof(struct record) == 48, "no padding to write");

/* The records of one profile in a run. */
struct segment {
	uint32_t profile, count;
	uint64_t first_record, first_attribute;
};

struct run {
	struct sn_spill file; /* empty: in memory, in the sorter's arrays */
	uint64_t attributes_offset;
	struct segment *segments; /* by profile */
	size_t segment_count, segment_capacity;
};

/* Reads a segment. */
struct source {
	const struct run *run;
	struct segment left;
	struct record *records; /* the buffer, or into the sorter's array */
	struct sn_attribute *attributes;
	uint32_t at, count;
	size_t attribute_capacity;
	bool owns_buffers;
};

struct sn_sorter {
	int failed;
	struct sn_error why;
	char *folder;
	size_t memory_bytes;
	struct record *records, *scratch;
	struct sn_attribute *attributes;
	size_t record_count, record_capacity, attribute_count, attribute_capacity;
	uint64_t total;
	struct run *runs;
	size_t run_count, run_capacity;
	struct source *sources; /* of the profile being read, by age of run */
	size_t source_count;
};

struct sn_sorter *sn_sorter_new(size_t memory_bytes, const char *folder)
{
	struct sn_sorter *sorter = calloc(1, sizeof(*sorter));
	if (!sorter)
		return NULL;
	if (!folder)
		folder = getenv("TMPDIR");
	sorter->folder = strdup(folder && *folder ? folder : "/tmp");
	sorter->memory_bytes = memory_bytes ? memory_bytes : MEMORY_BYTES;
	if (!sorter->folder) {
		free(sorter);
		return NULL;
	}
	return sorter;
}

static void end_sources(struct sn_sorter *sorter)
{
	for (size_t i = 0; i < sorter->source_count; i++) {
		if (!sorter->sources[i].owns_buffers)
			continue;
		free(sorter->sources[i].records);
		free(sorter->sources[i].attributes);
	}
	sorter->source_count = 0;
}

void sn_sorter_free(struct sn_sorter *sorter)
{
	if (!sorter)
		return;
	end_sources(sorter);
	for (size_t i = 0; i < sorter->run_count; i++) {
		sn_spill_close(&sorter->runs[i].file);
		free(sorter->runs[i].segments);
	}
	free(sorter->runs);
	free(sorter->sources);
	free(sorter->records);
	free(sorter->scratch);
	free(sorter->attributes);
	free(sorter->folder);
	free(sorter);
}

uint64_t sn_sorter_count(const struct sn_sorter *sorter)
{
	return sorter->total;
}

const char *sn_sorter_folder(const struct sn_sorter *sorter)
{
	return sorter->folder;
}

static int no_memory(struct sn_sorter *sorter)
{
	if (!sorter->failed)
		sorter->failed = sn_fail(&sorter->why, SN_ERR_MEMORY, "out of memory");
	return sorter->failed;
}

static int cannot_read(struct sn_sorter *sorter)
{
	if (!sorter->failed)
		sorter->failed = sn_fail(&sorter->why, SN_ERR_IO,
					 "cannot read events back from a file in '%s': %s",
					 sorter->folder, strerror(errno));
	return sorter->failed;
}

/* < 0 where a goes before b, whichever came first; 0 where that decides. */
static int compare(const struct record *a, const struct record *b)
{
	if (a->profile != b->profile)
		return a->profile < b->profile ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->metric != b->metric)
		return a->metric < b->metric ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->kind == SONDE_TRACK_INTERVALS && a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns ? -1 : 1;
	return 0;
}

/* One past the ascending stretch that begins at `first`. */
static size_t stretch_end(const struct record *records, size_t first, size_t count)
{
	size_t i = first + 1;
	while (i < count && compare(records + i - 1, records + i) <= 0)
		i++;
	return i;
}

static void merge(const struct record *from, size_t first, size_t middle, size_t end,
		  struct record *to)
{
	size_t left = first, right = middle;
	for (size_t i = first; i < end; i++) {
		bool is_left =
		    left < middle && (right == end || compare(from + left, from + right) <= 0);
		to[i] = from[is_left ? left++ : right++];
	}
}

/* Natural merge sort: pairs of neighbouring stretches become one, until one is left. `to` is as
 * large; the result may lie in either and is returned. */
static struct record *sort(struct record *from, struct record *to, size_t count)
{
	for (;;) {
		size_t first = 0, stretches = 0;
		while (first < count) {
			size_t middle = stretch_end(from, first, count);
			if (!first && middle == count)
				return from;
			size_t end = middle < count ? stretch_end(from, middle, count) : count;
			merge(from, first, middle, end, to);
			first = end;
			stretches++;
		}
		struct record *other = from;
		from = to;
		to = other;
		if (stretches <= 1)
			return from;
	}
}

/* Events come from many threads by turns: put those of each profile together first, in order of
 * arrival, and sort each profile's for itself. */
static int sort_run(struct sn_sorter *sorter)
{
	size_t count = sorter->record_count;
	uint32_t profile_count = 0;
	for (size_t i = 0; i < count; i++)
		if (sorter->records[i].profile >= profile_count)
			profile_count = sorter->records[i].profile + 1;
	size_t *ends = calloc(profile_count + 1ull, sizeof(*ends));
	struct record *grouped = malloc((count ? count : 1) * sizeof(*grouped));
	if (!ends || !grouped) {
		free(ends);
		free(grouped);
		return no_memory(sorter);
	}
	for (size_t i = 0; i < count; i++)
		ends[sorter->records[i].profile + 1]++;
	for (uint32_t profile = 0; profile < profile_count; profile++)
		ends[profile + 1] += ends[profile];
	for (size_t i = 0; i < count; i++)
		grouped[ends[sorter->records[i].profile]++] = sorter->records[i];
	for (uint32_t profile = 0; profile < profile_count; profile++) {
		size_t first = profile ? ends[profile - 1] : 0, length = ends[profile] - first;
		struct record *sorted = sort(grouped + first, sorter->records + first, length);
		if (sorted != grouped + first)
			memcpy(grouped + first, sorted, length * sizeof(*sorted));
	}
	memcpy(sorter->records, grouped, count * sizeof(*grouped));
	free(grouped);
	free(ends);
	return 0;
}

/* Sorted records and their attributes in the same order. */
static int list_segments(struct sn_sorter *sorter, struct run *run)
{
	uint64_t attribute = 0;
	for (size_t i = 0; i < sorter->record_count; i++) {
		const struct record *record = sorter->records + i;
		if (!i || record->profile != record[-1].profile) {
			if (sn_vec_reserve(&run->segments, &run->segment_capacity,
					   run->segment_count + 1) < 0)
				return no_memory(sorter);
			run->segments[run->segment_count++] =
			    (struct segment){record->profile, 0, i, attribute};
		}
		run->segments[run->segment_count - 1].count++;
		attribute += record->attribute_count;
	}
	return 0;
}

static int order_attributes(struct sn_sorter *sorter)
{
	if (!sorter->attribute_count)
		return 0;
	struct sn_attribute *ordered = malloc(sorter->attribute_count * sizeof(*ordered));
	if (!ordered)
		return no_memory(sorter);
	size_t count = 0;
	for (size_t i = 0; i < sorter->record_count; i++) {
		struct record *record = sorter->records + i;
		memcpy(ordered + count, sorter->attributes + record->first_attribute,
		       record->attribute_count * sizeof(*ordered));
		record->first_attribute = count;
		count += record->attribute_count;
	}
	free(sorter->attributes);
	sorter->attributes = ordered;
	sorter->attribute_capacity = sorter->attribute_count;
	return 0;
}

/* Sorts what is in memory and makes it the newest run. */
static struct run *end_run(struct sn_sorter *sorter)
{
	if (sn_vec_reserve(&sorter->runs, &sorter->run_capacity, sorter->run_count + 1) < 0) {
		no_memory(sorter);
		return NULL;
	}
	struct run *run = sorter->runs + sorter->run_count;
	*run = (struct run){.file = {.folder = sorter->folder, .fd = -1}};
	if (sort_run(sorter) || order_attributes(sorter) || list_segments(sorter, run)) {
		free(run->segments);
		return NULL;
	}
	sorter->run_count++;
	return run;
}

static void spill(struct sn_sorter *sorter)
{
	struct run *run = end_run(sorter);
	if (!run)
		return;
	run->attributes_offset = sorter->record_count * sizeof(*sorter->records);
	sn_spill_write(&run->file, sorter->records, run->attributes_offset);
	sn_spill_write(&run->file, sorter->attributes,
		       sorter->attribute_count * sizeof(*sorter->attributes));
	if (sn_spill_finish(&run->file, &sorter->why))
		sorter->failed = SN_ERR_IO;
	sorter->record_count = sorter->attribute_count = 0;
}

void sn_sorter_add(struct sn_sorter *sorter, const struct sn_event *event)
{
	/* sorting needs the records twice */
	size_t bytes = 2 * sorter->record_count * sizeof(*sorter->records) +
		       2 * sorter->attribute_count * sizeof(*sorter->attributes);
	if (bytes >= sorter->memory_bytes && !sorter->failed)
		spill(sorter);
	if (sorter->failed)
		return;
	if (sn_vec_reserve(&sorter->records, &sorter->record_capacity, sorter->record_count + 1) <
		0 ||
	    sn_vec_reserve(&sorter->attributes, &sorter->attribute_capacity,
			   sorter->attribute_count + event->attribute_count) < 0) {
		no_memory(sorter);
		return;
	}
	sorter->records[sorter->record_count++] = (struct record){
	    .start_ns = event->start_ns,
	    .end_ns = event->end_ns,
	    .link = event->link,
	    .first_attribute = sorter->attribute_count,
	    .profile = event->profile,
	    .context = event->context,
	    .metric = event->metric,
	    .kind = event->kind,
	    .attribute_count = event->attribute_count,
	};
	if (event->attribute_count)
		memcpy(sorter->attributes + sorter->attribute_count, event->attributes,
		       event->attribute_count * sizeof(*event->attributes));
	sorter->attribute_count += event->attribute_count;
	sorter->total++;
}

int sn_sorter_finish(struct sn_sorter *sorter, struct sn_error *error)
{
	if (!sorter->failed && sorter->record_count)
		end_run(sorter);
	if (!sorter->failed) {
		sorter->sources = calloc(sorter->run_count + 1, sizeof(*sorter->sources));
		if (!sorter->sources)
			no_memory(sorter);
	}
	return sorter->failed ? sn_fail(error, sorter->failed, "%s", sorter->why.text) : 0;
}

static int refill_file(struct sn_sorter *sorter, struct source *source, uint32_t count)
{
	const struct run *run = source->run;
	if (!source->records) {
		source->owns_buffers = true;
		source->records = malloc(BUFFER_EVENTS * sizeof(*source->records));
		if (!source->records)
			return no_memory(sorter);
	}
	if (sn_spill_read(&run->file, source->records, count * sizeof(*source->records),
			  source->left.first_record * sizeof(*source->records)) < 0)
		return cannot_read(sorter);
	size_t attributes = 0;
	for (uint32_t i = 0; i < count; i++) {
		source->records[i].first_attribute = attributes;
		attributes += source->records[i].attribute_count;
	}
	if (sn_vec_reserve(&source->attributes, &source->attribute_capacity, attributes) < 0)
		return no_memory(sorter);
	uint64_t offset =
	    run->attributes_offset + source->left.first_attribute * sizeof(*source->attributes);
	if (sn_spill_read(&run->file, source->attributes, attributes * sizeof(*source->attributes),
			  offset) < 0)
		return cannot_read(sorter);
	source->left.first_attribute += attributes;
	return 0;
}

/* The next records of the segment; none where it is used up. */
static int refill(struct sn_sorter *sorter, struct source *source)
{
	uint32_t count = source->left.count;
	int result = 0;
	source->at = source->count = 0;
	if (!count)
		return 0;
	if (!source->run->file.length) {
		source->records = sorter->records + source->left.first_record;
		source->attributes = sorter->attributes;
	} else {
		count = count < BUFFER_EVENTS ? count : BUFFER_EVENTS;
		result = refill_file(sorter, source, count);
	}
	source->left.first_record += count;
	source->left.count -= count;
	source->count = count;
	return result;
}

static const struct segment *find_segment(const struct run *run, uint32_t profile)
{
	size_t low = 0, high = run->segment_count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (run->segments[middle].profile < profile)
			low = middle + 1;
		else
			high = middle;
	}
	bool is_there = low < run->segment_count && run->segments[low].profile == profile;
	return is_there ? run->segments + low : NULL;
}

int sn_sorter_begin(struct sn_sorter *sorter, uint32_t profile, struct sn_error *error)
{
	end_sources(sorter);
	for (size_t i = 0; i < sorter->run_count && !sorter->failed; i++) {
		const struct segment *segment = find_segment(sorter->runs + i, profile);
		if (!segment)
			continue;
		struct source *source = sorter->sources + sorter->source_count++;
		*source = (struct source){.run = sorter->runs + i, .left = *segment};
		refill(sorter, source);
	}
	return sorter->failed ? sn_fail(error, sorter->failed, "%s", sorter->why.text) : 0;
}

/* Runs are few (the budget's size each), so the least of them is simply looked for. */
static struct source *least(struct sn_sorter *sorter)
{
	struct source *found = NULL;
	for (size_t i = 0; i < sorter->source_count; i++) {
		struct source *source = sorter->sources + i;
		if (source->at == source->count)
			continue;
		if (!found || compare(source->records + source->at, found->records + found->at) < 0)
			found = source;
	}
	return found;
}

int sn_sorter_next(struct sn_sorter *sorter, struct sn_event *event, struct sn_error *error)
{
	for (size_t i = 0; i < sorter->source_count && !sorter->failed; i++)
		if (sorter->sources[i].at == sorter->sources[i].count)
			refill(sorter, sorter->sources + i);
	if (sorter->failed)
		return sn_fail(error, sorter->failed, "%s", sorter->why.text);
	struct source *source = least(sorter);
	if (!source)
		return 0;
	const struct record *record = source->records + source->at++;
	*event = (struct sn_event){
	    .start_ns = record->start_ns,
	    .end_ns = record->end_ns,
	    .link = record->link,
	    .profile = record->profile,
	    .context = record->context,
	    .metric = record->metric,
	    .kind = record->kind,
	    .attribute_count = record->attribute_count,
	    .attributes = source->attributes + record->first_attribute,
	};
	return 1;
}
