/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matches the operations of a recording with the nodes of an execution trace of the same process.
 *
 * PyTorch's record functions have numbers. An execution trace contains them; a recording has them
 * as "Record function id" or, in some releases, as "External id", which in other releases is
 * another number. So a number is trusted only if operations and nodes with equal numbers have equal
 * names. Otherwise each thread's sequence of operator names in the trace is searched for in the
 * sequences of the recording's threads. That finds every iteration that did the same; times are
 * then inferred, and the model says so. A sequence that is short, or that several threads of the
 * recording contain, is not matched.
 */
#include "track_dataflow.h"

#include "format/database/database_graph_builder.h"
#include "format/database/statistics.h"

enum { LEAST_SEQUENCE = 4 };
#define TWICE (SN_TABLE_NONE - 1)

enum identity { RECORD_FUNCTION, EXTERNAL, IDENTITIES };

struct match {
	struct sn_track_sink *sink;
	struct sn_execution_trace *trace;
	const struct sn_dataflow_operation *operations;
	size_t count, node_count;
	uint32_t *found; /* by operation: its node; SONDE_NONE */
};

/* ---- by number ---- */

static int64_t id_of(const struct sn_dataflow_operation *operation, enum identity identity)
{
	return identity == RECORD_FUNCTION ? operation->record_function : operation->external;
}

/* Maps each number to its node, or to TWICE if several nodes have it. */
static int index_nodes(const struct match *match, struct sn_table *ids)
{
	int result = 0;
	for (size_t i = 0; i < match->node_count && !result; i++) {
		struct sn_execution_node node = sn_execution_trace_node(match->trace, i);
		uint64_t id = (uint64_t)node.record_function;
		if (node.name != SONDE_NONE && id)
			result = sn_table_put(
			    ids, id, sn_table_find(ids, id) == SN_TABLE_NONE ? (uint32_t)i : TWICE);
	}
	return result;
}

/* Matches by number. 1 if the numbers of recording and trace agree, 0 if not, or SN_ERR_MEMORY. */
static int match_ids(struct match *match, enum identity identity)
{
	struct sn_table ids = {0};
	size_t met = 0, equal = 0;
	int result = index_nodes(match, &ids) ? SN_ERR_MEMORY : 0;
	for (size_t i = 0; i < match->count && !result; i++) {
		uint64_t id = (uint64_t)id_of(match->operations + i, identity);
		uint32_t node = id ? sn_table_find(&ids, id) : SN_TABLE_NONE;
		match->found[i] = SONDE_NONE;
		if (node == SN_TABLE_NONE || node == TWICE)
			continue;
		met++;
		if (sn_execution_trace_node(match->trace, node).name != match->operations[i].name)
			continue;
		equal++;
		match->found[i] = node;
	}
	bool is_believed = equal && equal >= met - met / 10 && 2 * equal >= ids.count;
	sn_table_release(&ids);
	return result ? result : is_believed;
}

/* ---- by order ---- */

/* The operators of one thread in order, as far as both recording and trace contain their name. */
struct sequence {
	struct named {
		uint32_t name, item; /* a node, or an operation */
	} * items;
	size_t count, capacity;
};

static int sequence_add(struct sequence *sequence, const struct sn_table *common, uint32_t name,
			size_t item)
{
	if (name == SONDE_NONE || sn_table_find(common, name) == SN_TABLE_NONE)
		return 0;
	return sn_vec_push(&sequence->items, &sequence->capacity, &sequence->count,
			   (struct named){name, (uint32_t)item});
}

static int node_sequence(const struct match *match, int64_t thread, const struct sn_table *common,
			 struct sequence *sequence)
{
	int result = 0;
	sequence->count = 0;
	for (size_t i = 0; i < match->node_count && !result; i++) {
		struct sn_execution_node node = sn_execution_trace_node(match->trace, i);
		if (node.thread == thread)
			result = sequence_add(sequence, common, node.name, i);
	}
	return result ? SN_ERR_MEMORY : 0;
}

static int track_sequence(const struct match *match, uint32_t track, const struct sn_table *common,
			  struct sequence *sequence)
{
	int result = 0;
	sequence->count = 0;
	for (size_t i = 0; i < match->count && !result; i++)
		if (match->operations[i].track == track)
			result = sequence_add(sequence, common, match->operations[i].name, i);
	return result ? SN_ERR_MEMORY : 0;
}

/* The failure function of Knuth, Morris and Pratt (1977): the longest proper prefix of the pattern
 * that ends at each place. */
static uint32_t *borders(const struct sequence *pattern)
{
	uint32_t *border = malloc((pattern->count + 1) * sizeof(*border));
	if (!border)
		return NULL;
	border[0] = 0;
	for (size_t i = 1, k = 0; i < pattern->count; i++) {
		while (k && pattern->items[i].name != pattern->items[k].name)
			k = border[k - 1];
		k += pattern->items[i].name == pattern->items[k].name;
		border[i] = (uint32_t)k;
	}
	return border;
}

/* Counts the occurrences of the pattern that do not overlap; stores the matches in `found` unless
 * it is NULL. */
static size_t find_all(const struct sequence *pattern, const uint32_t *border,
		       const struct sequence *text, uint32_t *found)
{
	size_t times = 0;
	for (size_t i = 0, k = 0; i < text->count; i++) {
		while (k && text->items[i].name != pattern->items[k].name)
			k = border[k - 1];
		k += text->items[i].name == pattern->items[k].name;
		if (k < pattern->count)
			continue;
		for (size_t n = 0; n < pattern->count && found; n++)
			found[text->items[i + 1 - pattern->count + n].item] =
			    pattern->items[n].item;
		times++;
		k = 0;
	}
	return times;
}

/* Matches a thread of the trace if exactly one track of the recording contains its sequence. */
static int match_thread(struct match *match, int64_t thread, const struct sn_table *common)
{
	const struct sn_track_sink *sink = match->sink;
	struct sequence pattern = {0}, text = {0};
	uint32_t only = SONDE_NONE, tracks = 0;
	int result = node_sequence(match, thread, common, &pattern);
	uint32_t *border = result ? NULL : borders(&pattern);
	if (!border)
		result = SN_ERR_MEMORY;
	for (uint32_t i = 0; i < sink->places.count && !result && pattern.count >= LEAST_SEQUENCE;
	     i++) {
		if (sink->tracks[i].is_device)
			continue;
		result = track_sequence(match, i, common, &text);
		if (!result && find_all(&pattern, border, &text, NULL)) {
			only = i;
			tracks++;
		}
	}
	if (!result && tracks == 1)
		result = track_sequence(match, only, common, &text);
	if (!result && tracks == 1)
		find_all(&pattern, border, &text, match->found);
	free(pattern.items);
	free(text.items);
	free(border);
	return result;
}

/* The names that occur in both the trace and the recording. */
static int find_common(const struct match *match, struct sn_table *common)
{
	struct sn_table ran = {0};
	int result = 0;
	for (size_t i = 0; i < match->count && !result; i++)
		result = sn_table_put(&ran, match->operations[i].name, 0);
	for (size_t i = 0; i < match->node_count && !result; i++) {
		uint32_t name = sn_execution_trace_node(match->trace, i).name;
		if (name != SONDE_NONE && sn_table_find(&ran, name) != SN_TABLE_NONE)
			result = sn_table_put(common, name, 0);
	}
	sn_table_release(&ran);
	return result ? SN_ERR_MEMORY : 0;
}

static int match_order(struct match *match)
{
	struct sn_table common = {0}, threads = {0};
	int result = find_common(match, &common);
	for (size_t i = 0; i < match->count; i++)
		match->found[i] = SONDE_NONE;
	for (size_t i = 0; i < match->node_count && !result; i++) {
		struct sn_execution_node node = sn_execution_trace_node(match->trace, i);
		uint32_t before = threads.count;
		uint32_t number = sn_table_add(&threads, (uint64_t)node.thread);
		if (number == SN_TABLE_NONE)
			result = SN_ERR_MEMORY;
		else if (number == before)
			result = match_thread(match, node.thread, &common);
	}
	sn_table_release(&common);
	sn_table_release(&threads);
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
		if (match->found[i] == SONDE_NONE)
			continue;
		struct sums *sum = sums + match->found[i];
		sn_stat_add(&sum->time, one->time_ns);
		sonde_db_stat_merge(&sum->device, &one->device);
		sonde_db_stat_merge(&sum->copy, &one->copy);
	}
	for (size_t i = 0; i < match->node_count; i++) {
		uint32_t graph_node = sn_execution_trace_node(match->trace, i).graph_node;
		*untimed += graph_node != SONDE_NONE && !(sums[i].time.count > 0);
		if (graph_node == SONDE_NONE || !(sums[i].time.count > 0))
			continue;
		sn_db_builder_graph_stat(builder, graph_node, SONDE_NODE_TIME, &sums[i].time);
		if (sums[i].device.count > 0)
			sn_db_builder_graph_stat(builder, graph_node, SONDE_NODE_DEVICE_TIME,
						 &sums[i].device);
		if (sums[i].copy.count > 0)
			sn_db_builder_graph_stat(builder, graph_node, SONDE_NODE_COPY_TIME,
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
			 ? sn_fail_memory(error)
			 : sn_execution_trace_make(trace, source, sink->rank, sink->run, error);
	if (!result && put_times(&match, untimed))
		result = sn_fail_memory(error);
	free(match.found);
	return result;
}
