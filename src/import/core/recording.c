/* SPDX-License-Identifier: Apache-2.0 */
/* What importers of activities share; see recording.h. */
#include "recording.h"

#include "format/measurement/measurement.h"
#include "importer.h"
#include "recording_dataflow.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *unit;
	enum sn_metric_kind kind;
} metrics[SN_ACTIVITY_METRICS] = {
    [SN_ACTIVITY_REAL_TIME] = {"real-time", "ns", SN_METRIC_TIME},
    [SN_ACTIVITY_API_TIME] = {"gpu-api-time", "ns", SN_METRIC_TIME},
    [SN_ACTIVITY_RANGE_TIME] = {"range-time", "ns", SN_METRIC_TIME},
    [SN_ACTIVITY_KERNEL_TIME] = {"kernel-time", "ns", SN_METRIC_TIME},
    [SN_ACTIVITY_COPY_TIME] = {"copy-time", "ns", SN_METRIC_TIME},
    [SN_ACTIVITY_FILL_TIME] = {"fill-time", "ns", SN_METRIC_TIME},
    [SN_ACTIVITY_COPY_BYTES] = {"copy-bytes", "bytes", SN_METRIC_BYTES},
    [SN_ACTIVITY_FILL_BYTES] = {"fill-bytes", "bytes", SN_METRIC_BYTES},
    [SN_ACTIVITY_BLOCKS] = {"kernel-blocks", "1", SN_METRIC_COUNT},
    [SN_ACTIVITY_BLOCK_THREADS] = {"kernel-block-threads", "1", SN_METRIC_COUNT},
    [SN_ACTIVITY_REGISTERS] = {"kernel-registers", "1", SN_METRIC_COUNT},
    [SN_ACTIVITY_SHARED_BYTES] = {"kernel-shared-bytes", "bytes", SN_METRIC_BYTES},
    [SN_ACTIVITY_ALLOC] = {"tensor-alloc", "bytes", SN_METRIC_BYTES},
    [SN_ACTIVITY_FREE] = {"tensor-free", "bytes", SN_METRIC_BYTES},
    [SN_ACTIVITY_SAMPLES] = {"samples", "1", SN_METRIC_COUNT},
    [SN_ACTIVITY_STATE_TIME] = {"thread-state-time", "ns", SN_METRIC_TIME},
    [SN_ACTIVITY_ALLOCATED] = {"memory-allocated", "bytes", SN_METRIC_BYTES},
    [SN_ACTIVITY_RESERVED] = {"memory-reserved", "bytes", SN_METRIC_BYTES},
};

uint32_t sn_recording_metric(struct sn_recording *recording, enum sn_activity_metric metric)
{
	uint32_t *number = recording->metrics + metric;
	if (*number != SONDE_NONE)
		return *number;
	struct sonde_db_metric made = {
	    .name = sn_db_builder_string(recording->builder, metrics[metric].name),
	    .unit = sn_db_builder_string(recording->builder, metrics[metric].unit),
	    .source = sn_db_builder_string(recording->builder, recording->source),
	    .kind = metrics[metric].kind,
	};
	return *number = sn_db_builder_metric(recording->builder, &made);
}

/* "torch/nn/modules/module.py(1501): _call_impl" in its parts; the number is where the function
 * begins. Whatever is not written so is a name as it is. */
static struct sonde_db_frame python_frame(struct sn_recording *recording, const char *text)
{
	struct sonde_db_frame frame = {.kind = SN_FRAME_PYTHON};
	const char *colon = strstr(text, "): ");
	const char *open = colon;
	while (open && open > text && *open != '(')
		open--;
	unsigned line;
	if (!strncmp(text, "nn.Module: ", 11))
		frame.kind = SN_FRAME_REGION;
	frame.linkage_name = frame.module = frame.file = SONDE_NONE;
	if (!colon || open == text || sscanf(open, "(%u):", &line) != 1) {
		frame.name = sn_db_builder_string(recording->builder, text);
		return frame;
	}
	char file[4096];
	snprintf(file, sizeof(file), "%.*s", (int)(open - text), text);
	char function[4096];
	snprintf(function, sizeof(function), "%s", colon + 3);
	frame.file = sn_db_builder_string(recording->builder, file);
	frame.name = sn_db_builder_string(recording->builder, function);
	frame.function_line = line;
	return frame;
}

/* "ProfilerStep#7" is an iteration, of which all are one context. */
static struct sonde_db_frame annotation_frame(struct sn_recording *recording, const char *text)
{
	struct sonde_db_frame frame = {.kind = SN_FRAME_REGION};
	const char *number = strchr(text, '#');
	size_t length = strlen(text);
	if (number && number[1] && strspn(number + 1, "0123456789") == strlen(number + 1)) {
		length = (size_t)(number - text);
		frame.flags = SN_FRAME_ITERATION;
	}
	char name[4096];
	snprintf(name, sizeof(name), "%.*s", (int)(length < 4095 ? length : 4095), text);
	frame.name = sn_db_builder_string(recording->builder, name);
	return frame;
}

static bool is_backward_name(const char *text)
{
	return strstr(text, "Backward") || !strncmp(text, "autograd::engine::", 18);
}

static struct sonde_db_frame plain_frame(struct sn_recording *recording, uint32_t category,
					 const char *text)
{
	static const uint8_t kinds[] = {
	    [SN_ACTIVITY_OTHER] = SN_FRAME_REGION,
	    [SN_ACTIVITY_OPERATOR] = SN_FRAME_OPERATOR,
	    [SN_ACTIVITY_API] = SN_FRAME_GPU_API,
	    [SN_ACTIVITY_OVERHEAD] = SN_FRAME_OS,
	    [SN_ACTIVITY_SYSTEM] = SN_FRAME_OS,
	    [SN_ACTIVITY_RANGE] = SN_FRAME_REGION,
	    [SN_ACTIVITY_INSTANT] = SN_FRAME_REGION,
	    [SN_ACTIVITY_KERNEL] = SN_FRAME_KERNEL,
	    [SN_ACTIVITY_COPY] = SN_FRAME_GPU_OP,
	    [SN_ACTIVITY_FILL] = SN_FRAME_GPU_OP,
	    [SN_ACTIVITY_DEVICE_OTHER] = SN_FRAME_GPU_OP,
	};
	struct sonde_db_frame frame = {.kind = kinds[category]};
	if (category == SN_ACTIVITY_OPERATOR && is_backward_name(text))
		frame.flags = SN_FRAME_BACKWARD;
	frame.name = sn_db_builder_string(recording->builder, text);
	return frame;
}

uint32_t sn_recording_frame(struct sn_recording *recording, uint32_t number)
{
	if (recording->frames[number] != SONDE_NONE)
		return recording->frames[number];
	struct sn_recording_name name = sn_recording_name(recording, number);
	/* the builder's texts move when it gets another string */
	char *text = strdup(sn_db_builder_text(recording->builder, name.text));
	if (!text)
		return SONDE_NONE;
	struct sonde_db_frame frame;
	if (name.category == SN_ACTIVITY_PYTHON)
		frame = python_frame(recording, text);
	else if (name.category == SN_ACTIVITY_ANNOTATION ||
		 name.category == SN_ACTIVITY_DEVICE_ANNOTATION)
		frame = annotation_frame(recording, text);
	else
		frame = plain_frame(recording, name.category, text);
	if (name.category != SN_ACTIVITY_PYTHON)
		frame.linkage_name = frame.module = frame.file = SONDE_NONE;
	free(text);
	return recording->frames[number] = sn_db_builder_frame(recording->builder, &frame);
}

bool sn_recording_attribute(const struct sn_recording *recording, const struct sn_event *event,
			    enum sn_recording_key key, uint64_t *value)
{
	for (unsigned i = 0; i < event->attribute_count; i++) {
		if (event->attributes[i].key != recording->keys[key])
			continue;
		*value = event->attributes[i].value;
		return true;
	}
	return false;
}

uint64_t sn_recording_link(const struct sn_recording *recording, uint64_t correlation)
{
	return recording->file_count << 48 | (correlation & ((1ull << 48) - 1));
}

uint64_t sn_recording_time(struct sn_recording *recording, uint64_t raw_ns)
{
	int64_t time = (int64_t)raw_ns - SN_RECORDING_BIAS_NS + recording->base_ns;
	return time > 0 ? (uint64_t)time : 0;
}

void sn_recording_profile(struct sn_recording *recording, struct sn_recording_line *line)
{
	bool has_pid = line->pid >= 0;
	line->start_ns = sn_recording_time(recording, line->start_ns);
	line->end_ns = sn_recording_time(recording, line->end_ns);
	if (line->start_ns < recording->start_ns)
		recording->start_ns = line->start_ns;
	if (line->end_ns > recording->end_ns)
		recording->end_ns = line->end_ns;
	struct sonde_db_profile profile = {
	    .host = line->host != SONDE_NONE ? line->host : recording->host,
	    .program = line->program != SONDE_NONE ? line->program : recording->program,
	    .thread = line->name,
	    .rank = line->rank >= 0 ? line->rank : recording->rank,
	    .pid = (uint64_t)(has_pid		   ? line->pid
			      : recording->pid > 0 ? recording->pid
						   : 0),
	    .tid = !line->is_device && line->tid >= 0 ? (uint64_t)line->tid : 0,
	    .kind = line->is_device	 ? SONDE_PROFILE_STREAM
		    : line->is_processor ? SONDE_PROFILE_PROCESSOR
					 : SONDE_PROFILE_THREAD,
	    .device = line->is_device ? line->device : SONDE_NONE,
	    .device_context = line->is_device ? line->context : SONDE_NONE,
	    .stream = line->is_device ? line->stream : SONDE_NONE,
	    .start_ns = line->start_ns,
	    .end_ns = line->end_ns,
	    .run = recording->run,
	};
	line->profile = sn_db_builder_profile(recording->builder, &profile);
}

static struct sn_recording_line *add_line(struct sn_recording *recording,
					  const struct sn_recording_place *place)
{
	uint32_t before = recording->places.count;
	uint32_t number = sn_intern_add(&recording->places, place, sizeof(*place));
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&recording->lines, &recording->line_capacity, number + 1ull) < 0)
		return NULL;
	struct sn_recording_line *line = recording->lines + number;
	if (number < before)
		return line;
	*line = (struct sn_recording_line){
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
	return line;
}

/* Events come by turns from a few lines, whose numbers are found here with one comparison. */
struct sn_recording_line *sn_recording_line(struct sn_recording *recording,
					    const struct sn_recording_place *place)
{
	int64_t hash = place->first + 3 * place->second + 5 * place->third + 7 * place->is_device;
	uint32_t *recent = recording->recent_lines + ((uint64_t)hash % SN_RECORDING_RECENT);
	if (*recent &&
	    !memcmp(sn_intern_at(&recording->places, *recent - 1, NULL), place, sizeof(*place)))
		return recording->lines + *recent - 1;
	struct sn_recording_line *line = add_line(recording, place);
	*recent = line ? (uint32_t)(line - recording->lines) + 1 : 0;
	return line;
}

static const char *const known_keys[SN_RECORDING_KEYS] = {
    [SN_RECORDING_KEY_VALUE] = "value",
    [SN_RECORDING_KEY_SEQUENCE] = "Sequence number",
    [SN_RECORDING_KEY_FORWARD_THREAD] = "Fwd thread id",
    [SN_RECORDING_KEY_BYTES] = "bytes",
    [SN_RECORDING_KEY_GRID_X] = "grid.x",
    [SN_RECORDING_KEY_GRID_Y] = "grid.y",
    [SN_RECORDING_KEY_GRID_Z] = "grid.z",
    [SN_RECORDING_KEY_BLOCK_X] = "block.x",
    [SN_RECORDING_KEY_BLOCK_Y] = "block.y",
    [SN_RECORDING_KEY_BLOCK_Z] = "block.z",
    [SN_RECORDING_KEY_REGISTERS] = "registers per thread",
    [SN_RECORDING_KEY_SHARED] = "shared memory",
    [SN_RECORDING_KEY_ALLOCATED] = "Total Allocated",
    [SN_RECORDING_KEY_RESERVED] = "Total Reserved",
};

uint32_t sn_recording_attribute_key(struct sn_recording *recording, const char *name, size_t length,
				    enum sonde_attribute_type type)
{
	uint32_t text = sn_db_builder_string_n(recording->builder, name, length);
	return sn_trace_writer_key(recording->writer, text, SONDE_NONE, type);
}

uint32_t sn_recording_under(struct sn_recording *recording, uint32_t parent, uint32_t name)
{
	uint32_t within = sn_recording_name(recording, name).within;
	if (!within)
		return parent;
	return sn_db_builder_context(recording->builder,
				     sn_recording_under(recording, parent, within - 1),
				     sn_recording_frame(recording, within - 1));
}

static uint8_t traits_of(const char *text)
{
	return (uint8_t)((is_backward_name(text) ? SN_RECORDING_BACKWARD : 0) |
			 (!strcmp(text, "[memory]") ? SN_RECORDING_MEMORY : 0) |
			 sn_recording_graph_traits(text));
}

static int number_of(struct sn_recording *recording, const struct sn_recording_name *name,
		     uint32_t *number)
{
	uint32_t before = recording->names.count;
	*number = sn_intern_add(&recording->names, name, sizeof(*name));
	if (*number == SN_INTERN_NONE ||
	    sn_vec_reserve(&recording->frames, &recording->frame_capacity, *number + 1ull) < 0 ||
	    sn_vec_reserve(&recording->traits, &recording->trait_capacity, *number + 1ull) < 0)
		return SN_ERR_MEMORY;
	if (*number == before) {
		recording->frames[*number] = SONDE_NONE;
		recording->traits[*number] =
		    traits_of(sn_db_builder_text(recording->builder, name->text));
	}
	return 0;
}

/* A name without `within` by its text: most texts are of one category. */
static int number_of_text(struct sn_recording *recording, const struct sn_recording_name *name,
			  uint32_t *number)
{
	size_t count = recording->text_name_count;
	if (name->text < count && recording->text_names[name->text]) {
		*number = recording->text_names[name->text] - 1;
		if (sn_recording_name(recording, *number).category == name->category)
			return 0;
	}
	if (number_of(recording, name, number) ||
	    sn_vec_reserve(&recording->text_names, &recording->text_name_capacity,
			   name->text + 1ull) < 0)
		return SN_ERR_MEMORY;
	if (name->text >= count) {
		memset(recording->text_names + count, 0,
		       (name->text + 1 - count) * sizeof(*recording->text_names));
		recording->text_name_count = name->text + 1ull;
	}
	recording->text_names[name->text] = *number + 1;
	return 0;
}

int sn_recording_name_number(struct sn_recording *recording, enum sn_activity_category category,
			     const char *text, size_t length, uint32_t *number)
{
	return sn_recording_name_text(
	    recording, category, sn_db_builder_string_n(recording->builder, text, length), number);
}

int sn_recording_name_text(struct sn_recording *recording, enum sn_activity_category category,
			   uint32_t text, uint32_t *number)
{
	struct sn_recording_name name = {category, text, 0};
	return text == SONDE_NONE ? number_of(recording, &name, number)
				  : number_of_text(recording, &name, number);
}

int sn_recording_name_within(struct sn_recording *recording, enum sn_activity_category category,
			     uint32_t text, uint32_t within, uint32_t *number)
{
	struct sn_recording_name name = {category, text, within + 1};
	return number_of(recording, &name, number);
}

static bool is_there(const struct sn_recording *recording, const struct sn_event *event,
		     enum sn_recording_key key, uint64_t *value)
{
	*value = 0;
	return sn_recording_attribute(recording, event, key, value);
}

/* An operator of a forward pass that a backward one may refer to. */
static bool is_forward(const struct sn_recording *recording, const struct sn_event *event)
{
	uint64_t value;
	if (!is_there(recording, event, SN_RECORDING_KEY_SEQUENCE, &value))
		return false;
	if (!is_there(recording, event, SN_RECORDING_KEY_FORWARD_THREAD, &value))
		return !sn_recording_is(recording, event->context, SN_RECORDING_BACKWARD);
	return !value;
}

void sn_recording_add(struct sn_recording *recording, struct sn_recording_line *line,
		      struct sn_event *event)
{
	enum sn_activity_category category =
	    event->kind == SONDE_TRACK_INTERVALS
		? sn_recording_name(recording, event->context).category
		: SN_ACTIVITY_OTHER;
	event->profile = (uint32_t)(line - recording->lines);
	sn_sorter_add(recording->sorter, event);
	line->start_ns = event->start_ns < line->start_ns ? event->start_ns : line->start_ns;
	line->end_ns = event->end_ns > line->end_ns ? event->end_ns : line->end_ns;
	line->event_count++;
	line->forward_count += category == SN_ACTIVITY_OPERATOR && is_forward(recording, event);
	if (category == SN_ACTIVITY_OPERATOR || category == SN_ACTIVITY_API)
		recording->pid = line->pid;
	if (!event->link && event->metric == SONDE_NONE &&
	    (category == SN_ACTIVITY_API || category == SN_ACTIVITY_KERNEL ||
	     category == SN_ACTIVITY_COPY || category == SN_ACTIVITY_FILL))
		sn_order_add(recording, event->profile, category, event);
}

static int compare_order(const void *left, const void *right, void *lines)
{
	const struct sn_recording_line *a =
	    (struct sn_recording_line *)lines + *(const uint32_t *)left;
	const struct sn_recording_line *b =
	    (struct sn_recording_line *)lines + *(const uint32_t *)right;
	if (a->is_device != b->is_device)
		return a->is_device ? 1 : -1;
	if (a->forward_count != b->forward_count)
		return a->forward_count > b->forward_count ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Threads before streams, which refer to their calls; forward passes before backward ones. */
static int build(struct sn_recording *recording, struct sn_error *error)
{
	uint32_t count = recording->places.count;
	uint32_t *order = malloc((count + 1ull) * sizeof(*order));
	int result = order ? sn_sorter_finish(recording->sorter, error)
			   : sn_fail(error, SN_ERR_MEMORY, "out of memory");
	for (uint32_t i = 0; i < count && order; i++)
		order[i] = i;
	if (!result && sn_order_match(recording))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	if (order)
		qsort_r(order, count, sizeof(*order), compare_order, recording->lines);
	for (uint32_t i = 0; i < count && !result; i++) {
		const struct sn_recording_line *line = recording->lines + order[i];
		if (!line->event_count) /* only named */
			continue;
		result = line->nests	   ? sn_recording_nested(recording, order[i], error)
			 : line->is_device ? sn_recording_device(recording, order[i], error)
					   : sn_recording_thread(recording, order[i], error);
	}
	free(order);
	return result;
}

int sn_recording_open(struct sn_recording *recording, const char *path, struct sn_error *error)
{
	recording->path = path;
	recording->file_count++;
	recording->rank = -1;
	recording->base_ns = 0;
	recording->pid = -1;
	recording->launch_count = recording->forward_count = 0;
	recording->are_launches_ordered = false;
	recording->last_launch = 0;
	recording->order.call_count = recording->order.operation_count = 0;
	sn_intern_release(&recording->places);
	sn_intern_release(&recording->names);
	recording->text_name_count = 0;
	memset(recording->recent_lines, 0, sizeof(recording->recent_lines));
	sn_intern_release(&recording->sequences);
	sn_sorter_free(recording->sorter);
	recording->sorter = sn_sorter_new(sn_import_event_memory(&path, 1), NULL);
	return recording->sorter ? 0 : sn_fail(error, SN_ERR_MEMORY, "out of memory");
}

/* How many files before were of this rank. */
static uint32_t seen_before(struct sn_recording *recording)
{
	uint32_t before = recording->ranks.count;
	uint32_t number =
	    sn_intern_add(&recording->ranks, &recording->rank, sizeof(recording->rank));
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&recording->rank_counts, &recording->rank_capacity, number + 1ull) < 0)
		return 0;
	if (number == before)
		recording->rank_counts[number] = 0;
	return recording->rank_counts[number]++;
}

/* What was read of several files is told apart by rank, and where they have none, or one rank has
 * several, by file. */
static void note_file(struct sn_recording *recording, size_t path_count)
{
	char key[32];
	const char *slash = strrchr(recording->path, '/');
	recording->run = 0;
	if (recording->file_count == 1)
		recording->first_path = slash ? slash + 1 : recording->path;
	if (path_count == 1 || (recording->rank >= 0 && !(recording->run = seen_before(recording))))
		return;
	if (recording->rank < 0)
		recording->run = (uint32_t)recording->file_count - 1;
	else
		sn_db_builder_property(recording->builder, "run.0", recording->first_path);
	snprintf(key, sizeof(key), "run.%u", recording->run);
	sn_db_builder_property(recording->builder, key, slash ? slash + 1 : recording->path);
}

int sn_recording_build(struct sn_recording *recording, size_t path_count, struct sn_error *error)
{
	note_file(recording, path_count);
	if (recording->dataflow)
		sn_dataflow_begin(recording);
	int result = build(recording, error);
	if (!result && recording->dataflow)
		result = sn_dataflow_end(recording, error);
	sn_sorter_free(recording->sorter);
	recording->sorter = NULL;
	return result;
}

void sn_recording_finish(struct sn_recording *recording)
{
	struct sn_db_builder *builder = recording->builder;
	char text[64], program[1024];
	/* the builder's texts move when it gets another string */
	snprintf(program, sizeof(program), "%s", sn_db_builder_text(builder, recording->program));
	sn_db_builder_set_root(builder,
			       sn_db_builder_named_frame(builder, SN_FRAME_THREAD, program));
	sn_db_builder_property(builder, "program", program);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)recording->file_count);
	sn_db_builder_property(builder, "imported.files", text);
	if (recording->end_ns) {
		snprintf(text, sizeof(text), "%llu",
			 (unsigned long long)(recording->end_ns - recording->start_ns));
		sn_db_builder_property(builder, "duration_ns", text);
	}
	if (recording->unlaunched)
		sn_db_builder_drop(builder, "gpu-unlaunched",
				   "device operations whose launch is not in the file",
				   recording->unlaunched);
	if (recording->graphs.unmatched)
		sn_db_builder_drop(
		    builder, "graph-unmatched",
		    "operations of replayed graphs whose capture is not in the files "
		    "read before",
		    recording->graphs.unmatched);
	if (recording->graphs.matched) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)recording->graphs.matched);
		sn_db_builder_property(builder, "imported.replayed", text);
	}
	if (recording->order.matched) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)recording->order.matched);
		sn_db_builder_property(builder, "inferred.launches", text);
	}
	if (recording->order.refused)
		sn_db_builder_drop(builder, "launch-ambiguous",
				   "device operations without a correlation, whose launch the "
				   "order of calls does not tell",
				   recording->order.refused);
	if (recording->unread)
		sn_db_builder_drop(builder, "import-unread", "events of a kind that is not read",
				   recording->unread);
	if (recording->misplaced)
		sn_db_builder_drop(builder, "import-untimed", "events without a valid time",
				   recording->misplaced);
}

void sn_recording_release(struct sn_recording *recording)
{
	sn_sorter_free(recording->sorter);
	sn_intern_release(&recording->places);
	sn_intern_release(&recording->names);
	sn_intern_release(&recording->sequences);
	sn_totals_release(&recording->totals);
	sn_intern_release(&recording->ranks);
	free(recording->rank_counts);
	sn_recording_replay_release(&recording->replay);
	sn_dataflow_free(recording->dataflow);
	sn_order_release(&recording->order);
	free(recording->graphs.captures);
	free(recording->graphs.captured);
	free(recording->frames);
	free(recording->traits);
	free(recording->text_names);
	free(recording->lines);
	free(recording->launches);
	free(recording->forward_heads);
	free(recording->forwards);
}

void sn_recording_begin(struct sn_recording *recording, const char *source,
			struct sn_db_builder *builder, struct sn_trace_writer *writer)
{
	*recording = (struct sn_recording){
	    .source = source,
	    .builder = builder,
	    .writer = writer,
	    .host = sn_db_builder_string(builder, ""),
	    .program = sn_db_builder_string(builder, source),
	    .start_ns = UINT64_MAX,
	};
	memset(recording->metrics, 0xff, sizeof(recording->metrics));
	for (unsigned i = 0; i < SN_RECORDING_KEYS; i++)
		recording->keys[i] = sn_recording_attribute_key(
		    recording, known_keys[i], strlen(known_keys[i]), SONDE_ATTRIBUTE_SIGNED);
	recording->graphs.kernel_key =
	    sn_recording_attribute_key(recording, "kernel", 6, SONDE_ATTRIBUTE_STRING);
	recording->graphs.node_key =
	    sn_recording_attribute_key(recording, "graph node id", 13, SONDE_ATTRIBUTE_SIGNED);
	recording->graphs.how_key =
	    sn_recording_attribute_key(recording, "inferred", 8, SONDE_ATTRIBUTE_STRING);
}
