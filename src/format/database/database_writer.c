/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computing a database's planes and laying the file out; see database_writer.h and database.h.
 *
 * The file is assembled section by section in memory, its layout being known only then, and written
 * once. Everything here comes ordered from database_order.c.
 */
#include "database_builder.h"

#include "base/output.h"
#include "base/vec.h"
#include "format/checksum.h"
#include "database_major.h"
#include "format/measurement/measurement.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* At `data`, or where that is NULL the first bytes of `fd`. */
struct section {
	const void *data;
	size_t length;
	uint16_t flags;
	int fd;
};

/*
 * A directory of planes as it grows. The plane that is being added is complete when the next one
 * begins.
 */
struct planes {
	struct sn_database_index *index; /* [major_count + 1] */
	uint32_t major, metric;		 /* of the plane that is being added */
	size_t open_count;		 /* its elements */
	uint32_t *ids;
	double *numbers;
	struct sn_major open; /* the planes of the major before it */
	unsigned char *entries, *data;
	size_t plane_count, entry_bytes, data_bytes;
	size_t id_capacity, number_capacity, entry_capacity, data_capacity;
};

static void planes_init(struct planes *planes, unsigned scopes)
{
	*planes = (struct planes){.major = SONDE_NONE};
	sn_major_init(&planes->open, scopes);
	planes->entry_bytes = sn_major_entry_bytes(&planes->open);
}

static void planes_release(struct planes *planes)
{
	free(planes->index);
	free(planes->ids);
	free(planes->numbers);
	free(planes->entries);
	free(planes->data);
	sn_major_release(&planes->open);
}

/* Sums of doubles can overflow; readers rely on every number being finite. */
static void bound(double *number)
{
	if (!isfinite(*number))
		*number = *number < 0 ? -DBL_MAX : DBL_MAX;
}

static void bound_stat(struct sonde_db_stat *stat)
{
	bound(&stat->count);
	bound(&stat->sum);
	bound(&stat->min);
	bound(&stat->max);
	bound(&stat->sum_squares);
}

/* Encodes the plane that was being added. */
static int end_plane(struct planes *planes, const struct sn_db_ordered *ordered)
{
	if (!planes->open_count)
		return 0;
	size_t count = planes->open_count;
	planes->open_count = 0;
	return sn_major_add(&planes->open, planes->metric, planes->ids, planes->numbers, count,
			    (double)ordered->metrics[planes->metric].period);
}

/* Goes on to the next profile, context or metric: whatever lies between has no planes. */
static int end_major(struct planes *planes, uint32_t next)
{
	const struct sn_major *open = &planes->open;
	size_t entries = open->entry_count * planes->entry_bytes;
	size_t used = planes->plane_count * planes->entry_bytes;
	uint32_t major = planes->major;
	if (sn_vec_reserve(&planes->entries, &planes->entry_capacity, used + entries) < 0 ||
	    sn_vec_reserve(&planes->data, &planes->data_capacity,
			   planes->data_bytes + open->data_bytes) < 0)
		return SN_ERR_MEMORY;
	if (open->entry_count) {
		memcpy(planes->entries + used, open->entries, entries);
		memcpy(planes->data + planes->data_bytes, open->data, open->data_bytes);
		planes->index[major].checksum = sn_major_checksum(open);
	}
	planes->plane_count += open->entry_count;
	planes->data_bytes += open->data_bytes;
	for (uint32_t i = major == SONDE_NONE ? 0 : major + 1; i <= next; i++)
		planes->index[i] =
		    (struct sn_database_index){planes->plane_count, planes->data_bytes, 0};
	planes->major = next;
	sn_major_clear(&planes->open);
	return 0;
}

/* The new element's statistics, zeroed, or NULL where it cannot be added. */
static double *planes_append(struct planes *planes, const struct sn_db_ordered *ordered,
			     uint32_t major, uint32_t metric, uint32_t id)
{
	size_t stride = (size_t)SONDE_DB_PART_COUNT * planes->open.scopes;
	if (major != planes->major || metric != planes->metric) {
		if (end_plane(planes, ordered) ||
		    (major != planes->major && end_major(planes, major)))
			return NULL;
		planes->metric = metric;
	}
	if (sn_vec_reserve(&planes->ids, &planes->id_capacity, planes->open_count + 1) < 0 ||
	    sn_vec_reserve(&planes->numbers, &planes->number_capacity,
			   (planes->open_count + 1) * stride) < 0)
		return NULL;
	double *numbers = planes->numbers + planes->open_count * stride;
	memset(numbers, 0, stride * sizeof(*numbers));
	planes->ids[planes->open_count++] = id;
	return numbers;
}

static int planes_finish(struct planes *planes, const struct sn_db_ordered *ordered,
			 uint32_t major_count)
{
	int result = end_plane(planes, ordered);
	return result ? result : end_major(planes, major_count);
}

static int planes_make_index(struct planes *planes, uint32_t major_count)
{
	planes->index = calloc(major_count + 1ull, sizeof(*planes->index));
	return planes->index ? 0 : SN_ERR_MEMORY;
}

static int append_value(struct planes *planes, const struct sn_db_ordered *ordered, uint32_t major,
			uint32_t id, const struct sn_db_value *value)
{
	double *numbers = planes_append(planes, ordered, major, value->metric, id);
	if (!numbers)
		return SN_ERR_MEMORY;
	struct sonde_db_stat stat = value->stat;
	bound_stat(&stat);
	memcpy(numbers, &stat, sizeof(stat));
	return 0;
}

static int profile_major(const struct sn_db_ordered *ordered, size_t profile_count,
			 struct planes *planes)
{
	int result = planes_make_index(planes, (uint32_t)profile_count);
	for (size_t i = 0; i < ordered->value_count && !result; i++) {
		const struct sn_db_value *value = ordered->values + i;
		result = append_value(planes, ordered, value->profile, value->context, value);
	}
	return result ? result : planes_finish(planes, ordered, (uint32_t)profile_count);
}

static int compare_transposed(const void *left, const void *right)
{
	const struct sn_db_value *a = *(const struct sn_db_value *const *)left;
	const struct sn_db_value *b = *(const struct sn_db_value *const *)right;
	if (a->context != b->context)
		return a->context < b->context ? -1 : 1;
	if (a->metric != b->metric)
		return a->metric < b->metric ? -1 : 1;
	return (a->profile > b->profile) - (a->profile < b->profile);
}

static int context_major(const struct sn_db_ordered *ordered, struct planes *planes)
{
	const struct sn_db_value **sorted = malloc((ordered->value_count + 1) * sizeof(*sorted));
	if (!sorted)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < ordered->value_count; i++)
		sorted[i] = ordered->values + i;
	qsort(sorted, ordered->value_count, sizeof(*sorted), compare_transposed);
	int result = planes_make_index(planes, ordered->context_count);
	for (size_t i = 0; i < ordered->value_count && !result; i++)
		result = append_value(planes, ordered, sorted[i]->context, sorted[i]->profile,
				      sorted[i]);
	free(sorted);
	return result ? result : planes_finish(planes, ordered, ordered->context_count);
}

/* Scratch for the summaries, one element for each context. */
struct summing {
	struct sonde_db_summary *summaries;
	double *sums;	   /* one profile's inclusive sums */
	bool *is_touched;  /* whether the profile has a value at the context or below */
	uint32_t *touched; /* those contexts */
	size_t touched_count;
};

/* Takes in one profile's value of one metric. All its ancestors are touched with it. */
static void sum_value(const struct sn_db_ordered *ordered, struct summing *summing,
		      const struct sn_db_value *value)
{
	sonde_db_stat_merge(&summing->summaries[value->context].exclusive, &value->stat);
	summing->sums[value->context] += value->stat.sum;
	uint32_t context = value->context;
	while (!summing->is_touched[context]) {
		summing->is_touched[context] = true;
		summing->touched[summing->touched_count++] = context;
		context = ordered->contexts[context].parent;
	}
}

static int compare_descending(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	return (a < b) - (a > b);
}

/* Takes one profile's inclusive sums into `across` and forgets them. */
static void end_profile(const struct sn_db_ordered *ordered, struct summing *summing)
{
	/* children before their parents */
	qsort(summing->touched, summing->touched_count, sizeof(*summing->touched),
	      compare_descending);
	for (size_t i = 0; i < summing->touched_count; i++) {
		uint32_t context = summing->touched[i];
		double sum = summing->sums[context];
		if (context)
			summing->sums[ordered->contexts[context].parent] += sum;
		struct sonde_db_stat stat = {1, sum, sum, sum, sum * sum};
		sonde_db_stat_merge(&summing->summaries[context].across, &stat);
		summing->sums[context] = 0;
		summing->is_touched[context] = false;
	}
	summing->touched_count = 0;
}

static int end_metric(const struct sn_db_ordered *ordered, struct summing *summing, uint32_t metric,
		      struct planes *planes)
{
	struct sonde_db_summary *summaries = summing->summaries;
	/* in pre-order every context comes after its parent */
	for (uint32_t context = ordered->context_count; context--;) {
		sonde_db_stat_merge(&summaries[context].inclusive, &summaries[context].exclusive);
		if (context)
			sonde_db_stat_merge(&summaries[ordered->contexts[context].parent].inclusive,
					    &summaries[context].inclusive);
	}
	for (uint32_t context = 0; context < ordered->context_count; context++) {
		if (summaries[context].inclusive.count == 0)
			continue;
		double *numbers = planes_append(planes, ordered, metric, metric, context);
		if (!numbers)
			return SN_ERR_MEMORY;
		bound_stat(&summaries[context].exclusive);
		bound_stat(&summaries[context].inclusive);
		bound_stat(&summaries[context].across);
		memcpy(numbers, summaries + context, sizeof(*summaries));
	}
	memset(summaries, 0, ordered->context_count * sizeof(*summaries));
	return 0;
}

static int sum_metric(const struct sn_db_ordered *ordered, struct summing *summing, uint32_t metric,
		      struct planes *planes)
{
	uint32_t profile = SONDE_NONE;
	bool is_empty = true;
	for (size_t i = 0; i < ordered->value_count; i++) {
		const struct sn_db_value *value = ordered->values + i;
		if (value->metric != metric)
			continue;
		if (value->profile != profile)
			end_profile(ordered, summing);
		profile = value->profile;
		is_empty = false;
		sum_value(ordered, summing, value);
	}
	end_profile(ordered, summing);
	return is_empty ? 0 : end_metric(ordered, summing, metric, planes);
}

static int summarize(const struct sn_db_ordered *ordered, size_t metric_count,
		     struct planes *planes)
{
	size_t count = ordered->context_count;
	struct summing summing = {
	    .summaries = calloc(count, sizeof(*summing.summaries)),
	    .sums = calloc(count, sizeof(*summing.sums)),
	    .is_touched = calloc(count, sizeof(*summing.is_touched)),
	    .touched = malloc(count * sizeof(*summing.touched)),
	};
	bool has_memory =
	    summing.summaries && summing.sums && summing.is_touched && summing.touched;
	int result = has_memory ? planes_make_index(planes, (uint32_t)metric_count) : SN_ERR_MEMORY;
	for (uint32_t metric = 0; metric < metric_count && !result; metric++)
		result = sum_metric(ordered, &summing, metric, planes);
	if (!result)
		result = planes_finish(planes, ordered, (uint32_t)metric_count);
	free(summing.summaries);
	free(summing.sums);
	free(summing.is_touched);
	free(summing.touched);
	return result;
}

unsigned char *sn_db_lay_strings(const struct sn_db_builder *builder,
				 const struct sn_db_ordered *ordered, size_t *length)
{
	struct sn_database_strings header = {ordered->string_count, 0};
	size_t table_bytes = (header.count + 1ull) * sizeof(uint64_t);
	size_t text_bytes = header.count ? builder->strings.ends[header.count - 1] : 0;
	*length = sizeof(header) + table_bytes + text_bytes;
	unsigned char *section = malloc(*length);
	if (!section)
		return NULL;
	memcpy(section, &header, sizeof(header));
	uint64_t *offsets = (uint64_t *)(section + sizeof(header));
	unsigned char *text = section + sizeof(header) + table_bytes;
	uint64_t offset = 0;
	for (uint32_t i = 0; i < header.count; i++) {
		size_t bytes;
		const void *string = sn_intern_at(&builder->strings, ordered->string_at[i], &bytes);
		memcpy(text + offset, string, bytes);
		offsets[i] = offset;
		offset += bytes;
	}
	offsets[header.count] = offset;
	return section;
}

static size_t aligned(size_t length)
{
	return (length + SN_SECTION_ALIGN - 1) & ~(size_t)(SN_SECTION_ALIGN - 1);
}

/* Whether the file gets a section of this type. */
static bool is_written(const struct section *sections, uint32_t type)
{
	return type < SN_DATABASE_SECTION_COUNT || sections[type].length;
}

/* The section table, and the file's length. Returns its entries. */
static uint32_t lay_table(const struct section *sections, struct sn_section_entry *table,
			  uint64_t *file_length)
{
	uint32_t count = 0, entries = 0;
	for (uint32_t type = 1; type < SN_DATABASE_TYPE_END; type++)
		entries += is_written(sections, type);
	uint64_t offset = sizeof(struct sn_container_header) + entries * sizeof(*table);
	for (uint32_t type = 1; type < SN_DATABASE_TYPE_END; type++) {
		const struct section *section = sections + type;
		if (!is_written(sections, type))
			continue;
		table[count++] = (struct sn_section_entry){
		    .type = type,
		    .version = 1,
		    .flags = section->flags,
		    .offset = offset,
		    .length = section->length,
		    .checksum = section->flags & SN_SECTION_INDEXED
				    ? 0
				    : sn_checksum(section->data, section->length),
		};
		offset += aligned(section->length);
	}
	*file_length = offset;
	return count;
}

static int write_section(struct sn_output *output, const struct section *section,
			 struct sn_error *error)
{
	static const unsigned char padding[SN_SECTION_ALIGN];
	unsigned char buffer[1 << 16];
	if (section->data)
		sn_output_write(output, section->data, section->length);
	for (uint64_t done = 0; !section->data && done < section->length;) {
		uint64_t left = section->length - done;
		ssize_t got = pread(section->fd, buffer,
				    left < sizeof(buffer) ? left : sizeof(buffer), (off_t)done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return sn_fail(error, SN_ERR_IO, "cannot read events back: %s",
				       strerror(got ? errno : EIO));
		sn_output_write(output, buffer, (size_t)got);
		done += (uint64_t)got;
	}
	sn_output_write(output, padding, aligned(section->length) - section->length);
	return 0;
}

/* Header, section table, sections. `sections` is indexed by enum sn_database_section. */
static int write_file(const struct section *sections, const char *path, bool is_shared,
		      struct sn_error *error)
{
	struct sn_section_entry table[SN_DATABASE_TYPE_END];
	struct sn_container_header header = {
	    .magic = SN_DATABASE_MAGIC,
	    .version_major = SN_DATABASE_VERSION_MAJOR,
	    .version_minor = SN_DATABASE_VERSION_MINOR,
	    .table_offset = sizeof(header),
	};
	header.section_count = lay_table(sections, table, &header.length);
	size_t table_bytes = header.section_count * sizeof(*table);
	header.table_checksum = sn_checksum(table, table_bytes);
	header.checksum = sn_checksum(&header, offsetof(struct sn_container_header, checksum));
	struct sn_output output;
	int result = sn_output_open_database(&output, path, is_shared, error);
	if (result)
		return result;
	sn_output_write(&output, &header, sizeof(header));
	sn_output_write(&output, table, table_bytes);
	for (uint32_t type = 1; type < SN_DATABASE_TYPE_END && !result; type++)
		if (is_written(sections, type))
			result = write_section(&output, sections + type, error);
	if (!result)
		return sn_output_commit(&output, error);
	sn_output_abandon(&output);
	return result;
}

int sn_db_events_sections(const struct sn_db_builder *builder, const struct sn_db_ordered *ordered,
			  struct sn_db_section events[SN_DB_EVENT_SECTIONS], struct sn_error *error)
{
	const struct sn_db_numbers numbers = {
	    .strings = ordered->string_rank,
	    .contexts = ordered->context_rank,
	    .metrics = ordered->metric_rank,
	    .profiles = ordered->profile_rank,
	    .profile_at = ordered->profile_at,
	    .string_count = ordered->string_count,
	    .context_count = ordered->context_count,
	    .metric_count = (uint32_t)builder->metric_count,
	    .profile_count = (uint32_t)builder->profile_count,
	};
	memset(events, 0, SN_DB_EVENT_SECTIONS * sizeof(*events));
	return builder->events ? builder->events->sections(builder->events, &numbers, events, error)
			       : 0;
}

/* The sections of events, where there are any. */
static int add_events(const struct sn_db_builder *builder, const struct sn_db_ordered *ordered,
		      struct section *sections, struct sn_error *error)
{
	struct sn_db_section events[SN_DB_EVENT_SECTIONS];
	int result = sn_db_events_sections(builder, ordered, events, error);
	for (unsigned i = 0; i < SN_DB_EVENT_SECTIONS && !result; i++) {
		/* blocks have checksums in their entries */
		bool is_large = i == SN_DB_EVENT_DATA || i == SN_DB_EVENT_SUMMARIES;
		sections[SN_DATABASE_EVENT_TRACKS + i] =
		    (struct section){events[i].data, events[i].length,
				     is_large ? SN_SECTION_INDEXED : 0, events[i].fd};
	}
	return result;
}

static void fill_planes(struct section *sections, enum sn_database_section first,
			const struct planes *planes, size_t major_count)
{
	sections[first] =
	    (struct section){planes->index, (major_count + 1) * sizeof(*planes->index), 0};
	sections[first + 1] = (struct section){
	    planes->entries, planes->plane_count * planes->entry_bytes, SN_SECTION_INDEXED};
	sections[first + 2] =
	    (struct section){planes->data, planes->data_bytes, SN_SECTION_INDEXED};
}

static int write_ordered(const struct sn_db_builder *builder, const struct sn_db_ordered *ordered,
			 const char *path, struct sn_error *error)
{
	struct planes planes, rows, summaries;
	planes_init(&planes, 1);
	planes_init(&rows, 1);
	planes_init(&summaries, SONDE_DB_SCOPES);
	size_t strings_length = 0;
	unsigned char *strings = sn_db_lay_strings(builder, ordered, &strings_length);
	size_t formulas_length = 0;
	unsigned char *formulas = sn_db_lay_formulas(
	    builder->formulas, (uint32_t)builder->formula_count, &formulas_length);
	int result = strings && formulas ? 0 : SN_ERR_MEMORY;
	if (!result)
		result = profile_major(ordered, builder->profile_count, &planes);
	if (!result)
		result = context_major(ordered, &rows);
	if (!result)
		result = summarize(ordered, builder->metric_count, &summaries);
#define SECTION(array, count)                                                                      \
	{                                                                                          \
		ordered->array, (count) * sizeof(*ordered->array), 0                               \
	}
	struct section sections[SN_DATABASE_TYPE_END] = {
	    [SN_DATABASE_STRINGS] = {strings, strings_length, 0},
	    [SN_DATABASE_MODULES] = SECTION(modules, ordered->module_count),
	    [SN_DATABASE_FRAMES] = SECTION(frames, ordered->frame_count),
	    [SN_DATABASE_CONTEXTS] = SECTION(contexts, ordered->context_count),
	    [SN_DATABASE_METRICS] = SECTION(metrics, builder->metric_count),
	    [SN_DATABASE_PROFILES] = SECTION(profiles, builder->profile_count),
	    [SN_DATABASE_DROPS] = SECTION(drops, builder->drop_count),
	    [SN_DATABASE_PROPERTIES] = SECTION(properties, builder->property_count),
	};
#undef SECTION
	if (builder->formula_count)
		sections[SN_DATABASE_FORMULAS] = (struct section){formulas, formulas_length, 0};
	fill_planes(sections, SN_DATABASE_PLANE_INDEX, &planes, builder->profile_count);
	fill_planes(sections, SN_DATABASE_ROW_INDEX, &rows, ordered->context_count);
	fill_planes(sections, SN_DATABASE_SUMMARY_INDEX, &summaries, builder->metric_count);
	struct sn_graph_layout graph;
	int graph_result = sn_graph_lay(builder, ordered, &graph);
	if (!result)
		result = graph_result;
	for (unsigned i = 0; i < SN_GRAPH_SECTIONS; i++)
		sections[SN_DATABASE_GRAPH_MODELS + i] =
		    (struct section){graph.sections[i].data, graph.sections[i].length, 0, -1};
	if (result)
		sn_fail(error, result, "cannot write '%s': out of memory", path);
	else
		result = add_events(builder, ordered, sections, error);
	if (!result)
		result = write_file(sections, path, builder->is_shared, error);
	planes_release(&planes);
	planes_release(&rows);
	planes_release(&summaries);
	sn_graph_layout_release(&graph);
	free(strings);
	free(formulas);
	return result;
}

void sn_db_builder_share(struct sn_db_builder *builder)
{
	builder->is_shared = true;
}

int sn_db_builder_write(struct sn_db_builder *builder, const char *path, struct sn_error *error)
{
	struct sn_db_ordered ordered = {0};
	if (builder->root_frame == SONDE_NONE)
		sn_db_builder_set_root(builder,
				       sn_db_builder_named_frame(builder, SN_FRAME_THREAD, ""));
	int result = builder->failed ? builder->failed : sn_db_order(builder, &ordered);
	if (result)
		sn_fail(error, result, "cannot write '%s': %s", path,
			result == SN_ERR_MEMORY ? "out of memory"
						: "a value or path refers to nothing");
	else
		result = write_ordered(builder, &ordered, path, error);
	sn_db_ordered_release(&ordered);
	return result;
}
