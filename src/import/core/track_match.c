/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which operation of a recording is which node of an execution trace of the same process.
 *
 * Both are written by PyTorch's record functions, which have a number. A recording tells it as
 * "Record function id" or, in some releases, as "External id"; in others that is a number of its
 * own. So numbers are believed only where those that both have go with equal names. Where they do
 * not, the names of a thread's operators in their order are looked for as a whole, which finds
 * every iteration that did the same: then times are inferred, and the model says so. A sequence
 * that several threads have, or that is short, is not matched.
 */
#include "track_dataflow.h"

#include "format/database/database_graph_builder.h"

#include <string.h>

enum { LEAST_SEQUENCE = 4 };

enum identity { RECORD_FUNCTION, EXTERNAL, IDENTITIES };

struct match {
	struct sn_track_sink *sink;
	struct sn_execution_trace *trace;
	const struct sn_dataflow_operation *operations;
	size_t count, node_count;
	uint32_t *found; /* by operation: which node; SONDE_NONE */
};

/* ---- by number ---- */

static int64_t id_of(const struct sn_dataflow_operation *operation, enum identity identity)
{
	return identity == RECORD_FUNCTION ? operation->record_function : operation->external;
}

/* The node of each number that is there once. */
static int index_nodes(const struct match *match, struct sn_intern *ids, uint32_t *nodes)
{
	for (size_t i = 0; i < match->node_count; i++) {
		struct sn_execution_node node = sn_execution_trace_node(match->trace, i);
		if (node.name == SONDE_NONE || !node.record_function)
			continue;
		uint32_t before = ids->count;
		uint32_t number =
		    sn_intern_add(ids, &node.record_function, sizeof(node.record_function));
		if (number == SN_INTERN_NONE)
			return SN_ERR_MEMORY;
		nodes[number] = number == before ? (uint32_t)i : SONDE_NONE;
	}
	return 0;
}

/* 1 where the numbers are the same ones, 0, or SN_ERR_MEMORY. */
static int match_ids(struct match *match, enum identity identity)
{
	struct sn_intern ids = {0};
	uint32_t *nodes = malloc((match->node_count + 1) * sizeof(*nodes));
	size_t met = 0, equal = 0;
	int result = nodes ? index_nodes(match, &ids, nodes) : SN_ERR_MEMORY;
	for (size_t i = 0; i < match->count && !result; i++) {
		int64_t id = id_of(match->operations + i, identity);
		uint32_t number = id ? sn_intern_find(&ids, &id, sizeof(id)) : SN_INTERN_NONE;
		match->found[i] = SONDE_NONE;
		if (number == SN_INTERN_NONE || nodes[number] == SONDE_NONE)
			continue;
		met++;
		if (sn_execution_trace_node(match->trace, nodes[number]).name !=
		    match->operations[i].name)
			continue;
		equal++;
		match->found[i] = nodes[number];
	}
	bool is_believed = equal && equal >= met - met / 10 && 2 * equal >= ids.count;
	sn_intern_release(&ids);
	free(nodes);
	return result ? result : is_believed;
}

/* ---- by order ---- */

/* Names that both have, in the order of one thread. */
struct sequence {
	uint32_t *names, *items; /* item: a node, an operation */
	size_t count;
};

static void sequence_release(struct sequence *sequence)
{
	free(sequence->names);
	free(sequence->items);
	*sequence = (struct sequence){0};
}

static int sequence_begin(struct sequence *sequence, size_t most)
{
	*sequence = (struct sequence){.names = malloc((most + 1) * sizeof(uint32_t)),
				      .items = malloc((most + 1) * sizeof(uint32_t))};
	return sequence->names && sequence->items ? 0 : SN_ERR_MEMORY;
}

static void sequence_add(struct sequence *sequence, uint32_t name, size_t item)
{
	sequence->names[sequence->count] = name;
	sequence->items[sequence->count++] = (uint32_t)item;
}

static int node_sequence(const struct match *match, int64_t thread, const struct sn_intern *common,
			 struct sequence *sequence)
{
	if (sequence_begin(sequence, match->node_count))
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < match->node_count; i++) {
		struct sn_execution_node node = sn_execution_trace_node(match->trace, i);
		if (node.thread == thread && node.name != SONDE_NONE &&
		    sn_intern_find(common, &node.name, sizeof(node.name)) != SN_INTERN_NONE)
			sequence_add(sequence, node.name, i);
	}
	return 0;
}

static int track_sequence(const struct match *match, uint32_t track, const struct sn_intern *common,
			  struct sequence *sequence)
{
	if (sequence_begin(sequence, match->count))
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < match->count; i++) {
		const struct sn_dataflow_operation *one = match->operations + i;
		if (one->track == track &&
		    sn_intern_find(common, &one->name, sizeof(one->name)) != SN_INTERN_NONE)
			sequence_add(sequence, one->name, i);
	}
	return 0;
}

/* How far a mismatch at each place of the pattern may fall back (Knuth, Morris, Pratt 1977). */
static uint32_t *borders(const struct sequence *pattern)
{
	uint32_t *border = malloc((pattern->count + 1) * sizeof(*border));
	if (!border)
		return NULL;
	border[0] = 0;
	for (size_t i = 1, k = 0; i < pattern->count; i++) {
		while (k && pattern->names[i] != pattern->names[k])
			k = border[k - 1];
		k += pattern->names[i] == pattern->names[k];
		border[i] = (uint32_t)k;
	}
	return border;
}

/* How often the pattern is in the text, one after the other; where `found` is given, notes it. */
static size_t find_all(const struct sequence *pattern, const uint32_t *border,
		       const struct sequence *text, uint32_t *found)
{
	size_t times = 0;
	for (size_t i = 0, k = 0; i < text->count; i++) {
		while (k && text->names[i] != pattern->names[k])
			k = border[k - 1];
		k += text->names[i] == pattern->names[k];
		if (k < pattern->count)
			continue;
		for (size_t n = 0; n < pattern->count && found; n++)
			found[text->items[i + 1 - pattern->count + n]] = pattern->items[n];
		times++;
		k = 0;
	}
	return times;
}

/* The only track on which a thread's nodes ran as they are. */
static int match_thread(struct match *match, int64_t thread, const struct sn_intern *common)
{
	struct sequence pattern = {0}, text = {0}, best = {0};
	bool is_alone = false;
	int result = node_sequence(match, thread, common, &pattern);
	uint32_t *border = result ? NULL : borders(&pattern);
	if (!border)
		result = SN_ERR_MEMORY;
	for (uint32_t track = 0;
	     track < match->sink->places.count && !result && pattern.count >= LEAST_SEQUENCE;
	     track++) {
		result = match->sink->tracks[track].is_device
			     ? 0
			     : track_sequence(match, track, common, &text);
		if (!result && text.count && find_all(&pattern, border, &text, NULL)) {
			is_alone = !best.count;
			sequence_release(&best);
			best = text;
			text = (struct sequence){0};
		}
		sequence_release(&text);
	}
	if (!result && is_alone)
		find_all(&pattern, border, &best, match->found);
	sequence_release(&pattern);
	sequence_release(&text);
	sequence_release(&best);
	free(border);
	return result;
}

/* Names that nodes and operations have. */
static int find_common(const struct match *match, struct sn_intern *common)
{
	struct sn_intern ran = {0};
	int result = 0;
	for (size_t i = 0; i < match->count && !result; i++)
		if (sn_intern_add(&ran, &match->operations[i].name, sizeof(uint32_t)) ==
		    SN_INTERN_NONE)
			result = SN_ERR_MEMORY;
	for (size_t i = 0; i < match->node_count && !result; i++) {
		uint32_t name = sn_execution_trace_node(match->trace, i).name;
		if (name != SONDE_NONE &&
		    sn_intern_find(&ran, &name, sizeof(name)) != SN_INTERN_NONE &&
		    sn_intern_add(common, &name, sizeof(name)) == SN_INTERN_NONE)
			result = SN_ERR_MEMORY;
	}
	sn_intern_release(&ran);
	return result;
}

static int match_order(struct match *match)
{
	struct sn_intern common = {0}, threads = {0};
	int result = find_common(match, &common);
	for (size_t i = 0; i < match->count; i++)
		match->found[i] = SONDE_NONE;
	for (size_t i = 0; i < match->node_count && !result; i++) {
		struct sn_execution_node node = sn_execution_trace_node(match->trace, i);
		uint32_t before = threads.count;
		uint32_t number = sn_intern_add(&threads, &node.thread, sizeof(node.thread));
		if (number == SN_INTERN_NONE)
			result = SN_ERR_MEMORY;
		else if (number == before)
			result = match_thread(match, node.thread, &common);
	}
	sn_intern_release(&common);
	sn_intern_release(&threads);
	return result;
}

/* ---- times ---- */

struct sums {
	struct sonde_db_stat time, device, copy;
};

static int put_times(const struct match *match, uint64_t *untimed)
{
	struct sn_db_builder *builder = match->sink->builder;
	struct sums *sums = calloc(match->node_count + 1, sizeof(*sums));
	if (!sums)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < match->count; i++) {
		const struct sn_dataflow_operation *one = match->operations + i;
		double time = one->time_ns;
		if (match->found[i] == SONDE_NONE)
			continue;
		struct sums *sum = sums + match->found[i];
		sonde_db_stat_merge(&sum->time,
				    &(struct sonde_db_stat){1, time, time, time, time * time});
		sonde_db_stat_merge(&sum->device, &one->device);
		sonde_db_stat_merge(&sum->copy, &one->copy);
	}
	for (size_t i = 0; i < match->node_count; i++) {
		uint32_t made = sn_execution_trace_node(match->trace, i).made;
		*untimed += made != SONDE_NONE && !(sums[i].time.count > 0);
		if (made == SONDE_NONE || !(sums[i].time.count > 0))
			continue;
		sn_db_builder_graph_stat(builder, made, SONDE_NODE_TIME, &sums[i].time);
		if (sums[i].device.count > 0)
			sn_db_builder_graph_stat(builder, made, SONDE_NODE_DEVICE_TIME,
						 &sums[i].device);
		if (sums[i].copy.count > 0)
			sn_db_builder_graph_stat(builder, made, SONDE_NODE_COPY_TIME,
						 &sums[i].copy);
	}
	free(sums);
	return 0;
}

int sn_dataflow_match(struct sn_track_sink *sink, struct sn_execution_trace *trace,
		      const struct sn_dataflow_operation *operations, size_t count,
		      uint64_t *untimed, struct sn_error *error)
{
	struct match match = {sink,
			      trace,
			      operations,
			      count,
			      sn_execution_trace_count(trace),
			      malloc((count + 1) * sizeof(*match.found))};
	const char *source = "execution trace, times by record function";
	int found = match.found ? match_ids(&match, RECORD_FUNCTION) : SN_ERR_MEMORY;
	if (!found) {
		source = "execution trace, times by external id";
		found = match_ids(&match, EXTERNAL);
	}
	if (!found) {
		source = "execution trace, times inferred by order";
		found = match_order(&match);
	}
	int result = found < 0
			 ? sn_fail(error, found, "out of memory")
			 : sn_execution_trace_make(trace, source, sink->rank, sink->run, error);
	if (!result && put_times(&match, untimed))
		result = sn_fail(error, SN_ERR_MEMORY, "out of memory");
	free(match.found);
	return result;
}
