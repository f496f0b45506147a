/* SPDX-License-Identifier: Apache-2.0 */
/* Names of events and the frames they become, keys of attributes, metrics. */
#include "track_sink_internal.h"

#include "format/measurement/measurement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t at_most(size_t length)
{
	return length < 4095 ? length : 4095;
}

/* Splits "torch/nn/modules/module.py(1501): _call_impl" into file, line (where the function begins)
 * and function. A text of another form becomes the name as it is. */
static struct sonde_db_frame python_frame(struct sn_track_sink *sink, const char *text)
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
		frame.name = sn_db_builder_string(sink->builder, text);
		return frame;
	}
	frame.file = sn_db_builder_string_n(sink->builder, text, at_most((size_t)(open - text)));
	frame.name = sn_db_builder_string_n(sink->builder, colon + 3, at_most(strlen(colon + 3)));
	frame.function_line = line;
	return frame;
}

/* The '#' of "ProfilerStep#7" if only digits follow it, else NULL. */
static const char *iteration_mark(const char *text)
{
	const char *mark = strchr(text, '#');
	size_t digits = mark ? strspn(mark + 1, "0123456789") : 0;
	return digits && digits < 19 && !mark[1 + digits] ? mark : NULL;
}

/* "ProfilerStep#7" is an iteration; all iterations share one frame, without the number. */
static struct sonde_db_frame annotation_frame(struct sn_track_sink *sink, const char *text)
{
	struct sonde_db_frame frame = {.kind = SN_FRAME_REGION};
	const char *mark = iteration_mark(text);
	size_t length = mark ? (size_t)(mark - text) : strlen(text);
	if (mark)
		frame.flags = SN_FRAME_ITERATION;
	frame.name = sn_db_builder_string_n(sink->builder, text, at_most(length));
	return frame;
}

static bool is_annotation(uint32_t category)
{
	return category == SN_ACTIVITY_ANNOTATION || category == SN_ACTIVITY_DEVICE_ANNOTATION;
}

bool sn_sink_iteration(const struct sn_track_sink *sink, uint32_t name, uint64_t *number)
{
	struct sn_track_name of = sn_sink_name(sink, name);
	if (!is_annotation(of.category))
		return false;
	const char *mark = iteration_mark(sn_db_builder_text(sink->builder, of.text));
	if (mark)
		*number = strtoull(mark + 1, NULL, 10);
	return mark;
}

static bool is_backward_name(const char *text)
{
	return strstr(text, "Backward") || !strncmp(text, "autograd::engine::", 18);
}

static struct sonde_db_frame plain_frame(struct sn_track_sink *sink, uint32_t category,
					 const char *text)
{
	static const uint8_t kinds[] = {
	    [SN_ACTIVITY_OTHER] = SN_FRAME_REGION,   [SN_ACTIVITY_OPERATOR] = SN_FRAME_OPERATOR,
	    [SN_ACTIVITY_API] = SN_FRAME_GPU_API,    [SN_ACTIVITY_OVERHEAD] = SN_FRAME_OS,
	    [SN_ACTIVITY_SYSTEM] = SN_FRAME_OS,	     [SN_ACTIVITY_RANGE] = SN_FRAME_REGION,
	    [SN_ACTIVITY_INSTANT] = SN_FRAME_REGION, [SN_ACTIVITY_KERNEL] = SN_FRAME_KERNEL,
	    [SN_ACTIVITY_COPY] = SN_FRAME_GPU_OP,    [SN_ACTIVITY_FILL] = SN_FRAME_GPU_OP,
	    [SN_ACTIVITY_GRAPH] = SN_FRAME_GPU_OP,   [SN_ACTIVITY_DEVICE_OTHER] = SN_FRAME_GPU_OP,
	};
	struct sonde_db_frame frame = {.kind = kinds[category]};
	if (category == SN_ACTIVITY_OPERATOR && is_backward_name(text))
		frame.flags = SN_FRAME_BACKWARD;
	frame.name = sn_db_builder_string(sink->builder, text);
	return frame;
}

/* "<built-in method run_backward of torch._C._EngineBase object at 0x7f94b208f1b0>" is one function
 * in all processes, and of all objects. */
static void forget_address(char *text)
{
	static const char mark[] = " object at 0x";
	char *found = strstr(text, mark);
	size_t digits = found ? strspn(found + sizeof(mark) - 1, "0123456789abcdefABCDEF") : 0;
	char *end = digits ? found + sizeof(mark) - 1 + digits : NULL;
	if (end && *end == '>')
		memmove(found + strlen(" object"), end, strlen(end) + 1);
}

uint32_t sn_sink_frame(struct sn_track_sink *sink, uint32_t number)
{
	if (sink->frames[number] != SONDE_NONE)
		return sink->frames[number];
	struct sn_track_name name = sn_sink_name(sink, number);
	/* a copy, because the builder's texts move when a string is added */
	char *text = strdup(sn_db_builder_text(sink->builder, name.text));
	if (!text)
		return SONDE_NONE;
	struct sonde_db_frame frame;
	if (name.category == SN_ACTIVITY_PYTHON) {
		forget_address(text);
		frame = python_frame(sink, text);
	} else if (is_annotation(name.category)) {
		frame = annotation_frame(sink, text);
	} else {
		frame = plain_frame(sink, name.category, text);
	}
	if (name.category != SN_ACTIVITY_PYTHON)
		frame.linkage_name = frame.module = frame.file = SONDE_NONE;
	free(text);
	return sink->frames[number] = sn_db_builder_frame(sink->builder, &frame);
}

struct sn_sink_gradient sn_sink_gradient(const struct sn_track_sink *sink,
					 const struct sn_event *event)
{
	struct sn_sink_gradient gradient = {UINT64_MAX, false};
	uint64_t thread;
	if (sn_sink_name(sink, event->context).category != SN_ACTIVITY_OPERATOR ||
	    !sn_sink_attribute(sink, event, SN_TRACK_KEY_SEQUENCE, &gradient.sequence))
		return gradient;
	/* without the attribute, the name tells whether it is a backward operator */
	gradient.is_backward = sn_sink_attribute(sink, event, SN_TRACK_KEY_FORWARD_THREAD, &thread)
				   ? thread != 0
				   : sn_sink_is(sink, event->context, SN_TRAIT_BACKWARD);
	return gradient;
}

static const char *const known_keys[SN_TRACK_KEYS] = {
    [SN_TRACK_KEY_VALUE] = "value",
    [SN_TRACK_KEY_SEQUENCE] = "Sequence number",
    [SN_TRACK_KEY_FORWARD_THREAD] = "Fwd thread id",
    [SN_TRACK_KEY_BYTES] = "bytes",
    [SN_TRACK_KEY_GRID_X] = "grid.x",
    [SN_TRACK_KEY_GRID_Y] = "grid.y",
    [SN_TRACK_KEY_GRID_Z] = "grid.z",
    [SN_TRACK_KEY_BLOCK_X] = "block.x",
    [SN_TRACK_KEY_BLOCK_Y] = "block.y",
    [SN_TRACK_KEY_BLOCK_Z] = "block.z",
    [SN_TRACK_KEY_REGISTERS] = "registers per thread",
    [SN_TRACK_KEY_SHARED] = "shared memory",
    [SN_TRACK_KEY_ALLOCATED] = "Total Allocated",
    [SN_TRACK_KEY_RESERVED] = "Total Reserved",
    [SN_TRACK_KEY_ITERATION] = "iteration",
};

uint32_t sn_track_sink_key(struct sn_track_sink *sink, const char *name, size_t length,
			   enum sonde_attribute_type type)
{
	uint32_t text = sn_db_builder_string_n(sink->builder, name, length);
	return sn_trace_writer_key(sink->writer, text, SONDE_NONE, type);
}

void sn_track_sink_make_keys(struct sn_track_sink *sink, const struct sn_track_key_name *names,
			     size_t count, uint32_t *keys)
{
	for (size_t i = 0; i < count; i++)
		keys[i] =
		    sn_track_sink_key(sink, names[i].name, strlen(names[i].name), names[i].type);
}

const uint32_t *sn_track_sink_keys(const struct sn_track_sink *sink)
{
	return sink->keys;
}

static uint32_t make_key(struct sn_track_sink *sink, const char *name,
			 enum sonde_attribute_type type)
{
	return sn_track_sink_key(sink, name, strlen(name), type);
}

void sn_sink_make_keys(struct sn_track_sink *sink)
{
	memset(sink->metrics, 0xff, sizeof(sink->metrics));
	for (unsigned i = 0; i < SN_TRACK_KEYS; i++)
		sink->keys[i] = make_key(sink, known_keys[i], SONDE_ATTRIBUTE_SIGNED);
	sink->real_value_key = SONDE_NONE;
	sink->graphs.kernel_key = make_key(sink, "kernel", SONDE_ATTRIBUTE_STRING);
	sink->graphs.node_key = make_key(sink, "graph node id", SONDE_ATTRIBUTE_SIGNED);
	sink->graphs.how_key = make_key(sink, "inferred", SONDE_ATTRIBUTE_STRING);
}

uint32_t sn_sink_under(struct sn_track_sink *sink, uint32_t parent, uint32_t name)
{
	uint32_t within = sn_sink_name(sink, name).within;
	if (!within)
		return parent;
	return sn_db_builder_context(sink->builder, sn_sink_under(sink, parent, within - 1),
				     sn_sink_frame(sink, within - 1));
}

/* Whether an annotation is PyTorch's profiler's mark of an iteration. */
static bool is_step(const char *text)
{
	return !strncmp(text, "ProfilerStep#", 13) && iteration_mark(text);
}

static uint8_t traits_of(const char *text)
{
	return (uint8_t)((is_backward_name(text) ? SN_TRAIT_BACKWARD : 0) |
			 (!strcmp(text, "[memory]") ? SN_TRAIT_MEMORY : 0) |
			 (is_step(text) ? SN_TRAIT_STEP : 0) | sn_sink_graph_traits(text));
}

static int number_of(struct sn_track_sink *sink, const struct sn_track_name *name, uint32_t *number)
{
	uint32_t before = sink->names.count;
	*number = sn_intern_add(&sink->names, name, sizeof(*name));
	if (*number == SN_INTERN_NONE ||
	    sn_vec_reserve(&sink->frames, &sink->frame_capacity, *number + 1ull) < 0 ||
	    sn_vec_reserve(&sink->traits, &sink->trait_capacity, *number + 1ull) < 0)
		return SN_ERR_MEMORY;
	if (*number == before) {
		sink->frames[*number] = SONDE_NONE;
		sink->traits[*number] = traits_of(sn_db_builder_text(sink->builder, name->text));
	}
	return 0;
}

/* Most texts occur in one category only, so the text alone is looked up first. */
int sn_track_sink_name_string(struct sn_track_sink *sink, enum sn_activity_category category,
			      uint32_t text, uint32_t *number)
{
	/* until 2021 PyTorch recorded the profiler's step as an operator */
	if (category < SN_ACTIVITY_RANGE && text != SONDE_NONE &&
	    is_step(sn_db_builder_text(sink->builder, text)))
		category = SN_ACTIVITY_ANNOTATION;
	struct sn_track_name name = {category, text, 0};
	size_t count = sink->text_name_count;
	if (text < count && sink->text_names[text]) {
		*number = sink->text_names[text] - 1;
		if (sn_sink_name(sink, *number).category == category)
			return 0;
	}
	if (number_of(sink, &name, number))
		return SN_ERR_MEMORY;
	if (text == SONDE_NONE)
		return 0;
	if (sn_vec_reserve(&sink->text_names, &sink->text_name_capacity, text + 1ull) < 0)
		return SN_ERR_MEMORY;
	if (text >= count) {
		memset(sink->text_names + count, 0, (text + 1 - count) * sizeof(*sink->text_names));
		sink->text_name_count = text + 1ull;
	}
	sink->text_names[text] = *number + 1;
	return 0;
}

int sn_track_sink_name(struct sn_track_sink *sink, enum sn_activity_category category,
		       const char *text, size_t length, uint32_t *number)
{
	return sn_track_sink_name_string(
	    sink, category, sn_db_builder_string_n(sink->builder, text, length), number);
}

int sn_track_sink_name_within(struct sn_track_sink *sink, enum sn_activity_category category,
			      uint32_t text, uint32_t within, uint32_t *number)
{
	struct sn_track_name name = {category, text, within + 1};
	return number_of(sink, &name, number);
}

uint32_t sn_track_sink_text(const struct sn_track_sink *sink, uint32_t name)
{
	return sn_sink_name(sink, name).text;
}

void sn_track_sink_set_frame(struct sn_track_sink *sink, uint32_t name, uint32_t frame)
{
	sink->frames[name] = frame;
}

/* ---- metrics ---- */

static uint32_t make_metric(struct sn_track_sink *sink, uint32_t name, const char *unit,
			    enum sn_metric_kind kind)
{
	struct sonde_db_metric metric = {
	    .name = name,
	    .unit = sn_db_builder_string(sink->builder, unit),
	    .source = sn_db_builder_string(sink->builder, sink->source),
	    .kind = kind,
	};
	return sn_db_builder_metric(sink->builder, &metric);
}

static const struct {
	const char *name, *unit;
	enum sn_metric_kind kind;
} metrics[SN_ACTIVITY_METRICS] = {
    [SN_ACTIVITY_REAL_TIME] = {"real-time", "ns", SN_METRIC_TIME},
    [SN_ACTIVITY_REAL_CALLS] = {"real-time" SN_METRIC_CALLS_SUFFIX, "ns", SN_METRIC_CALLS},
    [SN_ACTIVITY_API_TIME] = {"gpu-api-time", "ns", SN_METRIC_TIME},
    [SN_ACTIVITY_RANGE_TIME] = {"range-time", "ns", SN_METRIC_TIME},
    [SN_ACTIVITY_KERNEL_TIME] = {"kernel-time", "ns", SN_METRIC_TIME},
    [SN_ACTIVITY_KERNEL_CALLS] = {"kernel-time" SN_METRIC_CALLS_SUFFIX, "ns", SN_METRIC_CALLS},
    [SN_ACTIVITY_COPY_TIME] = {"copy-time", "ns", SN_METRIC_TIME},
    [SN_ACTIVITY_FILL_TIME] = {"fill-time", "ns", SN_METRIC_TIME},
    [SN_ACTIVITY_GRAPH_TIME] = {"graph-time", "ns", SN_METRIC_TIME},
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

uint32_t sn_sink_metric(struct sn_track_sink *sink, enum sn_activity_metric metric)
{
	uint32_t *number = sink->metrics + metric;
	if (*number == SONDE_NONE)
		*number =
		    make_metric(sink, sn_db_builder_string(sink->builder, metrics[metric].name),
				metrics[metric].unit, metrics[metric].kind);
	return *number;
}

uint32_t sn_track_sink_metric(struct sn_track_sink *sink, uint32_t name, const char *unit)
{
	return make_metric(sink, name, unit,
			   !strcmp(unit, "bytes") ? SN_METRIC_BYTES
			   : !strcmp(unit, "ns")  ? SN_METRIC_TIME
						  : SN_METRIC_COUNT);
}
