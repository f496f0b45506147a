/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Importer of stores; see epochs.h. Counts of all epochs are sorted by origin and place, in memory or
 * on disk, so that each place becomes one value; symbols are then looked up for all of an image at
 * once, as for perf.data.
 */
#include "epochs.h"

#include "aggregate/unify/expand.h"
#include "base/external_sort.h"
#include "base/pool.h"
#include "base/text.h"
#include "base/vec.h"
#include "epochs_callers.h"
#include "epochs_image.h"
#include "format/epoch/epoch_store.h"
#include "import/core/importer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SORT_BYTES (64u << 20)

/* A count while it is sorted: where it belongs, what a sample of it stands for, and how often. */
enum { WHO, IMAGE, ADDRESS, PERIOD, SAMPLES, WORDS };

/* What was counted in one place, of one profile. */
struct counted {
	uint32_t profile, metric;
	uint32_t frame, image; /* frames of the merge */
	uint64_t samples, period;
};

/* What was counted of an origin. */
struct total {
	uint64_t samples, cpu_ns;
};

struct importing {
	struct sn_db_builder *builder;
	char host_name[256];
	uint32_t host; /* builder's string */
	bool is_whole; /* no range is asked for */
	const struct sn_import_request *request;
	struct sn_epochs_wanted wanted;
	struct sn_epoch_dictionary dictionary; /* of all epochs */
	struct sn_intern events;	       /* name and unit; its number is that of a metric */
	uint32_t *metrics;		       /* builder's, by event */
	size_t metric_capacity;
	struct sn_external_sort sort;
	struct counted *counted; /* what came out of it */
	size_t counted_count, counted_capacity;
	uint64_t shared;	       /* of these, how many were shared out among call paths */
	struct sn_epochs_leaf *leaves; /* of stacks */
	size_t leaf_count, leaf_capacity;
	struct sn_epoch_rows stacks; /* all of them, with numbers of the dictionary */
	uint64_t *stack_periods;     /* by stack */
	uint32_t *stack_events;
	size_t period_capacity, event_capacity;
	struct sn_epoch_summary summary; /* of the wanted range */
	uint64_t own_cpu_ns, own_bytes, watched_ns, first_ns, last_ns, kept;
	struct sn_merge merge;
	struct sn_epochs_images images;
	/* by origin */
	uint32_t *profiles;
	struct total *totals;
	size_t total_capacity;
	/* of the piece that is being read: numbers of the dictionary */
	uint32_t *origins, *image_numbers;
	bool *are_wanted; /* images */
	uint32_t event;
	bool is_time, is_cpu_time;
};

/* ---- reading ---- */

static uint32_t event_of(struct importing *importing, const struct sn_epoch_flush *flush)
{
	char key[256];
	uint32_t before = importing->events.count;
	snprintf(key, sizeof(key), "%c%.250s", flush->is_time ? 't' : 'n', flush->event);
	uint32_t number = sn_intern_add(&importing->events, key, strlen(key) + 1);
	if (number != before || number == SN_INTERN_NONE)
		return number;
	if (sn_vec_reserve(&importing->metrics, &importing->metric_capacity, number + 1ull) < 0)
		return SN_INTERN_NONE;
	struct sonde_db_metric metric = {
	    .name = sn_db_builder_string(importing->builder, flush->event),
	    .unit = sn_db_builder_string(importing->builder, flush->is_time ? "ns" : "1"),
	    .source = sn_db_builder_string(importing->builder, "sonded"),
	    .kind = flush->is_time ? SN_METRIC_TIME : SN_METRIC_COUNT,
	    .period = flush->period,
	};
	importing->metrics[number] = sn_db_builder_metric(importing->builder, &metric);
	return number;
}

static int begin_part(struct importing *importing, const struct sn_epoch_flush *flush)
{
	sn_epoch_summary_add(&importing->summary, flush);
	importing->own_cpu_ns += flush->own_cpu_ns;
	importing->watched_ns += flush->watched_ns;
	if (flush->own_bytes > importing->own_bytes)
		importing->own_bytes = flush->own_bytes;
	for (uint32_t i = 0; i < flush->loss_count; i++)
		sn_db_builder_drop(importing->builder, flush->losses[i].cause,
				   "samples that sonded could not count", flush->losses[i].count);
	importing->is_time = flush->is_time;
	importing->is_cpu_time = flush->is_time && strcmp(flush->event, SN_EPOCH_WAITING) != 0;
	importing->event = event_of(importing, flush);
	return importing->event == SN_INTERN_NONE ? SN_ERR_MEMORY : 0;
}

/* Finds the numbers of what the epoch's dictionary has by now, and which images are wanted. */
static int map_dictionary(struct importing *importing, const struct sn_epoch_dictionary *from)
{
	uint32_t *origins = realloc(importing->origins, (from->origins.count + 1ull) * 4);
	importing->origins = origins ? origins : importing->origins;
	uint32_t *images = realloc(importing->image_numbers, (from->images.count + 1ull) * 4);
	importing->image_numbers = images ? images : importing->image_numbers;
	bool *wanted = realloc(importing->are_wanted, from->images.count + 1ull);
	importing->are_wanted = wanted ? wanted : importing->are_wanted;
	if (!origins || !images || !wanted ||
	    sn_epoch_dictionary_merge(&importing->dictionary, from, origins, images) ||
	    sn_vec_reserve_zeroed(&importing->totals, &importing->total_capacity,
				  importing->dictionary.origins.count + 1ull) < 0)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < from->images.count; i++) {
		struct sn_epoch_image image;
		sn_epoch_dictionary_image_at(from, i, &image);
		wanted[i] =
		    !importing->wanted.image || sn_epochs_image_is(&image, importing->wanted.image);
	}
	return 0;
}

static void add_total(struct importing *importing, uint32_t origin, uint64_t period,
		      uint64_t samples)
{
	struct total *total = importing->totals + importing->origins[origin];
	total->samples += samples;
	total->cpu_ns += importing->is_cpu_time ? samples * period : 0;
	importing->kept += samples;
}

static int add_count(struct importing *importing, const struct sn_epoch_count *count,
		     uint64_t period, struct sn_error *error)
{
	uint64_t record[WORDS] = {
	    [WHO] = (uint64_t)importing->event << 32 | importing->origins[count->origin],
	    [IMAGE] = importing->image_numbers[count->image],
	    [ADDRESS] = count->address,
	    [PERIOD] = period,
	    [SAMPLES] = count->count,
	};
	if (!importing->are_wanted[count->image])
		return 0;
	add_total(importing, count->origin, period, count->count);
	return sn_external_sort_add(&importing->sort, record, error);
}

static int add_stack(struct importing *importing, const struct sn_epoch_stack *stack,
		     uint64_t period)
{
	struct sn_epoch_rows *rows = &importing->stacks;
	if (!importing->are_wanted[stack->frames[0].image])
		return 0;
	size_t first = rows->frame_count, number = rows->stack_count;
	if (sn_vec_reserve(&importing->stack_periods, &importing->period_capacity, number + 1) <
		0 ||
	    sn_vec_reserve(&importing->stack_events, &importing->event_capacity, number + 1) < 0 ||
	    sn_epoch_rows_add_stack(rows, stack))
		return SN_ERR_MEMORY;
	add_total(importing, stack->origin, period, stack->count);
	importing->stack_periods[number] = period;
	importing->stack_events[number] = importing->event;
	rows->stacks[number].origin = importing->origins[stack->origin];
	for (; first < rows->frame_count; first++)
		rows->frames[first].image = importing->image_numbers[rows->frames[first].image];
	return 0;
}

static int read_piece(struct importing *importing, const struct sn_epoch_piece *piece,
		      const struct sn_epoch_dictionary *dictionary, struct sn_error *error)
{
	int result = piece->begins_part ? begin_part(importing, piece->flush) : 0;
	if (!result)
		result = map_dictionary(importing, dictionary);
	for (size_t i = 0; i < piece->stack_count && !result; i++)
		result = add_stack(importing, piece->stacks + i, piece->flush->period);
	if (result)
		return sn_fail_code(error, result);
	for (size_t i = 0; i < piece->count_count && !result; i++)
		result = add_count(importing, piece->counts + i, piece->flush->period, error);
	return result;
}

static void note_damage(struct importing *importing, const char *path,
			const struct sn_epoch_info *info, const char *damage)
{
	struct sn_import_notes *notes = importing->request->notes;
	if (damage && *damage && !*notes->cut)
		snprintf(notes->cut, sizeof(notes->cut), "'%.200s/%s' is damaged: %.200s", path,
			 info->name, damage);
}

static bool is_wanted(const struct sn_epochs_wanted *wanted, const struct sn_epoch_flush *flush,
		      uint64_t part)
{
	struct sn_epoch_summary summary;
	if (wanted->epoch && (part < wanted->first_part || part >= wanted->last_part))
		return false;
	if (!wanted->is_apart)
		return sn_epoch_is_within(flush, wanted->since_ns, wanted->until_ns);
	sn_epoch_summary_init(&summary);
	sn_epoch_summary_add(&summary, flush);
	return summary.begin_ns >= wanted->since_ns && summary.begin_ns < wanted->until_ns;
}

static int read_epoch(struct importing *importing, const char *path, struct sn_epoch_info *info,
		      struct sn_error *error)
{
	struct sn_epoch_piece piece;
	uint64_t part = 0;
	bool is_in = false;
	int result = 0;
	if (importing->wanted.epoch && importing->wanted.epoch != info->head.id)
		return 0;
	note_damage(importing, path, info, info->damage);
	while (!result && info->reader &&
	       (result = sn_epoch_reader_next(info->reader, &piece, error)) > 0) {
		if (piece.begins_part)
			is_in = is_wanted(&importing->wanted, piece.flush, part++);
		result = is_in ? read_piece(importing, &piece,
					    sn_epoch_reader_dictionary(info->reader), error)
			       : 0;
	}
	if (!result && info->reader && !info->is_current)
		note_damage(importing, path, info, sn_epoch_reader_damage(info->reader));
	return result;
}

static int read_store(struct importing *importing, const char *path, struct sn_error *error)
{
	struct sn_epoch_store store;
	int result = sn_epoch_store_open(&store, path, importing->wanted.since_ns,
					 importing->wanted.until_ns, error);
	for (size_t i = 0; !result && i < store.count; i++)
		result = read_epoch(importing, path, store.epochs + i, error);
	if (!result) {
		importing->first_ns =
		    store.first_ns < importing->first_ns ? store.first_ns : importing->first_ns;
		importing->last_ns =
		    store.last_ns > importing->last_ns ? store.last_ns : importing->last_ns;
		sn_epoch_store_close(&store);
	}
	return result;
}

/* ---- values ---- */

static struct sonde_db_stat stat_of(uint64_t samples, uint64_t period)
{
	double each = (double)period, count = (double)samples;
	return (struct sonde_db_stat){count, count * each, each, each, count * each * each};
}

static uint32_t frame_of(struct importing *importing, const struct sn_frame *frame)
{
	return sn_intern_add(&importing->merge.frames, frame, sizeof(*frame));
}

static uint32_t add_node(struct importing *importing, uint32_t parent, uint32_t frame)
{
	return frame == SN_INTERN_NONE || parent == SN_NODE_NONE
		   ? SN_NODE_NONE
		   : sn_nodes_add(&importing->merge.nodes, (struct sn_merged_node){parent, frame});
}

static int add_value(struct importing *importing, const struct sn_merged_value *value)
{
	struct sn_merge *merge = &importing->merge;
	struct sn_merged_value *last =
	    merge->value_count ? merge->values + merge->value_count - 1 : NULL;
	if (value->node == SN_NODE_NONE)
		return SN_ERR_MEMORY;
	if (last && last->profile == value->profile && last->metric == value->metric &&
	    last->node == value->node) {
		sonde_db_stat_merge(&last->stat, &value->stat);
		return 0;
	}
	return sn_vec_push(&merge->values, &merge->value_capacity, &merge->value_count, *value);
}

/* The frame above code of which no callers are known. */
static struct sn_frame label_of(const struct importing *importing, uint32_t image)
{
	const struct sn_epochs_image *item = importing->images.items + image;
	bool is_file = item->module != SONDE_NONE;
	return (struct sn_frame){.kind = is_file ? SN_FRAME_REGION : SN_FRAME_OS,
				 .id = item->label};
}

static int add_record(struct importing *importing, const uint64_t record[WORDS])
{
	struct sn_frame label = label_of(importing, (uint32_t)record[IMAGE]);
	struct sn_frame frame =
	    sn_epochs_frame(&importing->images, (uint32_t)record[IMAGE], record[ADDRESS], false);
	struct counted counted = {
	    .profile = importing->profiles[(uint32_t)record[WHO]],
	    .metric = importing->metrics[record[WHO] >> 32],
	    .frame = frame_of(importing, &frame),
	    .image = frame_of(importing, &label),
	    .samples = record[SAMPLES],
	    .period = record[PERIOD],
	};
	return counted.frame == SN_INTERN_NONE || counted.image == SN_INTERN_NONE ||
		       sn_vec_push(&importing->counted, &importing->counted_capacity,
				   &importing->counted_count, counted)
		   ? SN_ERR_MEMORY
		   : 0;
}

static int read_counts(struct importing *importing, struct sn_error *error)
{
	uint64_t record[WORDS];
	int result = sn_external_sort_finish(&importing->sort, error);
	while (!result && (result = sn_external_sort_next(&importing->sort, record, error)) > 0)
		if ((result = add_record(importing, record)))
			return sn_fail_memory(error);
	return result;
}

/* Of code that was counted and to which no call path leads: below its image. */
static int add_below_image(struct importing *importing, const struct counted *counted)
{
	uint32_t node = add_node(importing, 0, counted->image);
	/* the kernel's code without a name is called as the kernel */
	if (counted->frame != counted->image)
		node = add_node(importing, node, counted->frame);
	return add_value(importing,
			 &(struct sn_merged_value){counted->profile, counted->metric, node,
						   stat_of(counted->samples, counted->period)});
}

static int add_below_callers(struct importing *importing, const struct counted *counted,
			     const struct sn_epochs_path *paths, size_t count)
{
	struct sn_epochs_sharing sharing;
	int result = 0;
	sn_epochs_share(&sharing, paths, count, counted->samples, importing->shared++);
	for (size_t i = 0; !result && i < count; i++) {
		uint64_t part = sn_epochs_share_next(&sharing, paths + i, i + 1 == count);
		if (part == 0)
			continue;
		uint32_t node = paths[i].is_parents
				    ? paths[i].parent
				    : add_node(importing, paths[i].parent, counted->frame);
		result = add_value(importing,
				   &(struct sn_merged_value){counted->profile, counted->metric,
							     node, stat_of(part, counted->period)});
	}
	return result;
}

static int add_counts(struct importing *importing, const struct sn_resolved *resolved)
{
	struct sn_epochs_callers callers;
	int result = sn_epochs_callers_init(&callers, &importing->merge, resolved,
					    importing->leaves, importing->leaf_count);
	for (size_t i = 0; !result && i < importing->counted_count; i++) {
		const struct counted *counted = importing->counted + i;
		size_t count;
		const struct sn_epochs_path *paths = sn_epochs_callers_of(
		    &callers, counted->profile, counted->metric, counted->frame, &count);
		result = count ? add_below_callers(importing, counted, paths, count)
			       : add_below_image(importing, counted);
	}
	sn_epochs_callers_release(&callers);
	return result;
}

/* The node of a stack's frames but for the leaf. */
static uint32_t node_of_callers(struct importing *importing, const struct sn_epoch_stack *stack,
				const struct sn_epoch_frame *frames)
{
	uint32_t node = 0;
	for (uint32_t i = stack->depth; i-- > 1 && node != SN_NODE_NONE;) {
		struct sn_frame frame =
		    sn_epochs_frame(&importing->images, frames[i].image, frames[i].address, true);
		node = add_node(importing, node, frame_of(importing, &frame));
	}
	return node;
}

static int add_stack_value(struct importing *importing, size_t number)
{
	const struct sn_epoch_rows *rows = &importing->stacks;
	const struct sn_epoch_stack *stack = rows->stacks + number;
	const struct sn_epoch_frame *frames = rows->frames + rows->firsts[number];
	struct sn_frame frame =
	    sn_epochs_frame(&importing->images, frames->image, frames->address, false);
	struct sn_epochs_leaf leaf = {
	    .profile = importing->profiles[stack->origin],
	    .metric = importing->metrics[importing->stack_events[number]],
	    .frame = frame_of(importing, &frame),
	    .parent = node_of_callers(importing, stack, frames),
	    .is_parents = frames->kind == SN_EPOCH_FRAME_INTERPRETER && stack->depth > 1,
	    .samples = (double)stack->count,
	};
	uint32_t node =
	    leaf.is_parents ? leaf.parent : add_node(importing, leaf.parent, leaf.frame);
	if (leaf.frame == SN_INTERN_NONE ||
	    sn_vec_push(&importing->leaves, &importing->leaf_capacity, &importing->leaf_count,
			leaf))
		return SN_ERR_MEMORY;
	return add_value(importing, &(struct sn_merged_value){
					leaf.profile, leaf.metric, node,
					stat_of(stack->count, importing->stack_periods[number])});
}

static int add_stacks(struct importing *importing)
{
	int result = 0;
	for (size_t i = 0; i < importing->stacks.stack_count && !result; i++)
		result = add_stack_value(importing, i);
	return result;
}

/* ---- who it was ---- */

static void add_profile(struct importing *importing, uint32_t number)
{
	struct sn_db_builder *builder = importing->builder;
	const struct total *total = importing->totals + number;
	struct sn_epoch_origin origin;
	char name[512];
	sn_epoch_dictionary_origin_at(&importing->dictionary, number, &origin);
	const char *program = sn_text_base_name(origin.program);
	snprintf(name, sizeof(name), "%s", *origin.cgroup ? origin.cgroup : "");
	struct sonde_db_profile profile = {
	    .host = importing->host,
	    .program = sn_db_builder_string(builder, *program ? program : "[unknown]"),
	    .thread = *name ? sn_db_builder_string(builder, name) : SONDE_NONE,
	    .rank = -1,
	    .pid = origin.pid,
	    .tid = origin.pid,
	    .kind = SONDE_PROFILE_THREAD,
	    .device = SONDE_NONE,
	    .device_context = SONDE_NONE,
	    .stream = SONDE_NONE,
	    .start_ns = importing->summary.begin_ns,
	    .end_ns = importing->summary.end_ns,
	    .cpu_ns = total->cpu_ns,
	    .samples = total->samples,
	};
	importing->profiles[number] = sn_db_builder_profile(builder, &profile);
}

/* Only those that have samples. */
static int add_profiles(struct importing *importing)
{
	uint32_t count = importing->dictionary.origins.count;
	importing->profiles = malloc((count + 1ull) * sizeof(*importing->profiles));
	if (!importing->profiles)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		if (importing->totals[i].samples)
			add_profile(importing, i);
	return 0;
}

static void put_time(struct importing *importing, const char *key, uint64_t time_ns)
{
	char text[32] = "";
	time_t seconds = (time_t)(time_ns / 1000000000);
	struct tm parts;
	if (gmtime_r(&seconds, &parts))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
	sn_db_builder_property(importing->builder, key, text);
}

static void put_properties(struct importing *importing)
{
	struct sn_db_builder *builder = importing->builder;
	const struct sn_epoch_summary *summary = &importing->summary;
	const struct {
		const char *key;
		uint64_t number;
	} numbers[] = {
	    {"duration_ns", summary->end_ns - summary->begin_ns},
	    {"store.begin_ns", summary->begin_ns},
	    {"store.end_ns", summary->end_ns},
	    {"store.flushes", summary->flushes},
	    {"store.samples", summary->samples},
	    {"store.lost", summary->lost},
	    {"store.watched_ns", importing->watched_ns},
	    {"store.own_cpu_ns", importing->own_cpu_ns},
	    {"store.own_bytes", importing->own_bytes},
	};
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		sn_db_builder_property_number(builder, numbers[i].key, (int64_t)numbers[i].number);
	put_time(importing, "start", summary->begin_ns);
	put_time(importing, "end", summary->end_ns);
	if (importing->wanted.image)
		sn_db_builder_property(builder, "store.image", importing->wanted.image);
	sn_db_builder_property(builder, "program", importing->host_name);
	sn_db_builder_property(builder, "host", importing->host_name);
	sn_db_builder_set_root(
	    builder, sn_db_builder_named_frame(builder, SN_FRAME_THREAD, importing->host_name));
}

/* ---- nothing ---- */

static const char *time_text(uint64_t time_ns, char text[32])
{
	time_t seconds = (time_t)(time_ns / 1000000000);
	struct tm parts;
	if (!localtime_r(&seconds, &parts) || !strftime(text, 32, "%Y-%m-%d %H:%M:%S", &parts))
		snprintf(text, 32, "?");
	return text;
}

/* Says what is there in place of what was asked for. */
static int refuse_empty(const struct importing *importing, const char *path, struct sn_error *error)
{
	char first[32], last[32];
	if (importing->summary.parts && importing->wanted.image)
		return sn_fail(error, SN_ERR_MISSING, "no samples of image '%s' in '%s'%s",
			       importing->wanted.image, path,
			       importing->is_whole ? "" : " in that time");
	if (importing->summary.parts)
		return sn_fail(error, SN_ERR_MISSING, "no samples in '%s'%s", path,
			       importing->is_whole ? "" : " in that time: nothing ran");
	if (importing->first_ns > importing->last_ns)
		return sn_fail(error, SN_ERR_MISSING, "no samples in '%s': nothing was flushed yet",
			       path);
	return sn_fail(error, SN_ERR_MISSING,
		       "no samples in '%s' in that time: it has those from %s to %s", path,
		       time_text(importing->first_ns, first), time_text(importing->last_ns, last));
}

/* ---- the importer ---- */

static int build(struct importing *importing, struct sn_error *error)
{
	bool names_only = importing->wanted.names_only;
	const struct sn_symbolizer_options options = {.no_loops = names_only,
						      .cache_folder = names_only ? "" : NULL};
	struct sn_symbolizer *symbolizer = NULL;
	struct sn_resolved resolved = {0};
	int result = sn_merge_init(&importing->merge, importing->builder);
	if (!result)
		result = sn_epochs_images_init(&importing->images, &importing->merge,
					       &importing->dictionary);
	if (!result)
		result = add_profiles(importing);
	if (!result)
		result = add_stacks(importing);
	if (result)
		return sn_fail_code(error, result);
	result = read_counts(importing, error);
	if (!result)
		result = sn_symbolizer_new(&options, &symbolizer, error);
	if (!result) {
		result = sn_resolve(&importing->merge, symbolizer,
				    sn_pool_threads(importing->request->jobs), &resolved);
		if (!result)
			result = sn_epochs_name_rest(&importing->images, &resolved);
		if (!result)
			result = add_counts(importing, &resolved);
		if (!result)
			result = sn_expand(&importing->merge, &resolved);
		sn_resolved_release(&resolved);
		sn_fail_code(error, result);
	}
	sn_symbolizer_free(symbolizer);
	return result;
}

static void release(struct importing *importing)
{
	sn_merge_release(&importing->merge);
	sn_epochs_images_release(&importing->images);
	sn_epoch_dictionary_release(&importing->dictionary);
	sn_intern_release(&importing->events);
	sn_external_sort_release(&importing->sort);
	sn_epoch_rows_release(&importing->stacks);
	free(importing->counted);
	free(importing->leaves);
	free(importing->metrics);
	free(importing->stack_periods);
	free(importing->stack_events);
	free(importing->totals);
	free(importing->profiles);
	free(importing->origins);
	free(importing->image_numbers);
	free(importing->are_wanted);
	free(importing);
}

static void begin(struct importing *importing, const struct sn_import_request *request,
		  struct sn_db_builder *builder)
{
	importing->builder = builder;
	importing->request = request;
	importing->wanted = request->own ? *(const struct sn_epochs_wanted *)request->own
					 : (struct sn_epochs_wanted){.until_ns = UINT64_MAX};
	importing->is_whole =
	    !importing->wanted.since_ns && importing->wanted.until_ns == UINT64_MAX;
	importing->first_ns = UINT64_MAX;
	sn_epoch_summary_init(&importing->summary);
	sn_external_sort_init(&importing->sort, WORDS, SAMPLES, SORT_BYTES);
	if (gethostname(importing->host_name, sizeof(importing->host_name) - 1) ||
	    !*importing->host_name)
		strcpy(importing->host_name, "machine");
	importing->host = sn_db_builder_string(builder, importing->host_name);
}

static int read_all(const struct sn_import_request *request, struct sn_db_builder *builder,
		    struct sn_error *error)
{
	struct importing *importing = calloc(1, sizeof(*importing));
	int result = 0;
	if (!importing)
		return sn_fail_memory(error);
	begin(importing, request, builder);
	for (size_t i = 0; i < request->path_count && !result; i++)
		result = read_store(importing, request->paths[i], error);
	if (!result && !importing->kept)
		result = refuse_empty(importing, request->paths[0], error);
	if (!result)
		result = build(importing, error);
	if (!result)
		put_properties(importing);
	release(importing);
	return result;
}

static bool probe(const struct sn_import_input *input)
{
	return input->is_folder && sn_epoch_is_store(input->path);
}

const struct sn_importer sn_importer_epochs = {
    .name = "epochs",
    .probe = probe,
    .read = read_all,
};
