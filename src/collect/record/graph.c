/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the process's dataflow graphs in memory and writes them as a section of a snapshot. */
#include "graph.h"

#include "collect/core/arena.h"
#include "collect/core/hash.h"
#include "collect/core/lock.h"

#include <string.h>

enum { NODE_HEADS = 4096, EDGE_HEADS = 8192, TEXT_HEADS = 1024, MODELS_MAX = 64 };

/* Written with atomic additions by the threads that run the node. */
struct live_stat {
	_Atomic uint64_t count, sum, min, max, square_bits;
};

struct live_iteration {
	uint64_t start_ns, end_ns;
};

struct live_model {
	uint32_t name;
	const char *name_text, *source;
	_Atomic(const char *) edges_by, iterations_by;
	_Atomic uint32_t flags;
	_Atomic bool has_own_iterations;
	_Atomic uint64_t last_end_ns, last_iteration_end_ns, iterations;
	struct live_stat iteration_time;
	_Atomic(struct live_iteration *) ring; /* SN_GRAPH_ITERATIONS of them */
};

struct live_node {
	uint64_t key;
	struct sn_graph_node_record record; /* but for the statistics */
	uint32_t next;			    /* of one bucket */
	const char *label;
	uint32_t label_length;
	_Atomic uint32_t first_input; /* edge + 1 */
	_Atomic uint64_t last_start_ns, last_end_ns;
	struct live_stat time, latency;
};

struct live_edge {
	uint32_t from, to, index, kind;
	uint32_t next;	     /* of one bucket */
	uint32_t next_input; /* of the same node; edge + 1 */
	_Atomic uint64_t bytes, count;
};

struct live_text {
	const char *text;
	uint32_t length, offset; /* in the section's strings */
	uint32_t hash, next;
};

static struct live_model models[MODELS_MAX];
static _Atomic uint32_t model_count;
static struct sn_array nodes = {.element_bytes = sizeof(struct live_node), .first_shift = 8};
static struct sn_array edges = {.element_bytes = sizeof(struct live_edge), .first_shift = 9};
static struct sn_array texts = {.element_bytes = sizeof(struct live_text), .first_shift = 8};
static struct sn_bump text_memory;
static _Atomic uint32_t node_heads[NODE_HEADS], edge_heads[EDGE_HEADS]; /* number + 1 */
static uint32_t text_heads[TEXT_HEADS];

static struct live_node *node_at(uint32_t node)
{
	return sn_array_at(&nodes, node);
}

static struct live_edge *edge_at(uint32_t edge)
{
	return sn_array_at(&edges, edge);
}

/* ---- texts; under the lock ---- */

/* Its offset among the section's strings; SN_ID_NONE for none and without memory. */
static uint32_t keep_text(const char *text)
{
	size_t length = text ? strnlen(text, 4000) : 0;
	uint32_t hash = (uint32_t)sn_hash_text(text, length), place = hash % TEXT_HEADS;
	if (!text)
		return SN_ID_NONE;
	for (uint32_t i = text_heads[place]; i;) {
		const struct live_text *known = sn_array_at(&texts, i - 1);
		if (known->hash == hash && known->length == length &&
		    !memcmp(known->text, text, length))
			return known->offset;
		i = known->next;
	}
	uint32_t index = sn_array_reserve(&texts);
	char *copy = index == UINT32_MAX ? NULL : sn_bump_alloc(&text_memory, length + 1);
	if (!copy)
		return SN_ID_NONE;
	memcpy(copy, text, length);
	copy[length] = 0;
	const struct live_text *last = index ? sn_array_at(&texts, index - 1) : NULL;
	struct live_text *added = sn_array_at(&texts, index);
	*added =
	    (struct live_text){copy, (uint32_t)length, last ? last->offset + last->length + 1 : 0,
			       hash, text_heads[place]};
	sn_array_commit(&texts);
	text_heads[place] = index + 1;
	return added->offset;
}

static const char *text_at(uint32_t offset)
{
	uint32_t low = 0, high = sn_array_count(&texts);
	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;
		if (((struct live_text *)sn_array_at(&texts, middle))->offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return ((struct live_text *)sn_array_at(&texts, low))->text;
}

/* ---- models ---- */

static uint32_t find_model(const char *name, size_t length, const char *source)
{
	uint32_t count = atomic_load_explicit(&model_count, memory_order_acquire);
	for (uint32_t i = 0; i < count; i++)
		if (strlen(models[i].name_text) == length &&
		    !memcmp(models[i].name_text, name, length) && !strcmp(models[i].source, source))
			return i;
	return SN_GRAPH_NONE;
}

static uint32_t add_model(const char *name, size_t length, const char *source, const char *edges_by)
{
	char copy[256];
	uint32_t number = atomic_load_explicit(&model_count, memory_order_relaxed);
	if (length > sizeof(copy) - 1)
		length = sizeof(copy) - 1;
	memcpy(copy, name, length);
	copy[length] = 0;
	uint32_t text = number < MODELS_MAX ? keep_text(copy) : SN_ID_NONE;
	if (text == SN_ID_NONE)
		return SN_GRAPH_NONE;
	struct live_model *model = models + number;
	model->name = text;
	model->name_text = text_at(text);
	model->source = source;
	model->edges_by = edges_by;
	/* release: what is written of the model is there before its number counts */
	atomic_store_explicit(&model_count, number + 1, memory_order_release);
	return number;
}

uint32_t sn_graph_model(const char *name, size_t length, const char *source, const char *edges_by)
{
	uint32_t found = find_model(name, length, source);
	if (found != SN_GRAPH_NONE)
		return found;
	sn_lock_acquire(SN_LOCK_GRAPH);
	found = find_model(name, length, source);
	if (found == SN_GRAPH_NONE)
		found = add_model(name, length, source, edges_by);
	sn_lock_release(SN_LOCK_GRAPH);
	return found;
}

void sn_graph_set_edges_by(uint32_t model, const char *edges_by)
{
	if (model < MODELS_MAX)
		atomic_store_explicit(&models[model].edges_by, edges_by, memory_order_relaxed);
}

void sn_graph_model_flag(uint32_t model, uint32_t flags)
{
	if (model < MODELS_MAX)
		atomic_fetch_or_explicit(&models[model].flags, flags, memory_order_relaxed);
}

void sn_graph_own_iterations(uint32_t model)
{
	if (model < MODELS_MAX)
		atomic_store_explicit(&models[model].has_own_iterations, true,
				      memory_order_relaxed);
}

/* ---- nodes ---- */

static uint32_t node_place(uint32_t model, uint64_t key)
{
	return (uint32_t)(sn_hash_mix(key, model) >> 32) % NODE_HEADS;
}

uint32_t sn_graph_find(uint32_t model, uint64_t key)
{
	/* acquire pairs with the release of an insertion: the node is whole */
	uint32_t at =
	    atomic_load_explicit(&node_heads[node_place(model, key)], memory_order_acquire);
	for (; at; at = node_at(at - 1)->next)
		if (node_at(at - 1)->key == key && node_at(at - 1)->record.model == model)
			return at - 1;
	return SN_GRAPH_NONE;
}

/* "MODEL/NODE" */
static void make_label(struct live_node *node, const char *name)
{
	const char *model = models[node->record.model].name_text;
	size_t first = strlen(model), second = strnlen(name, 4000);
	char *label = sn_bump_alloc(&text_memory, first + second + 2);
	if (!label)
		return;
	memcpy(label, model, first);
	label[first] = '/';
	memcpy(label + first + 1, name, second);
	label[first + 1 + second] = 0;
	node->label = label;
	node->label_length = (uint32_t)(first + second + 1);
}

static uint32_t add_node(const struct sn_graph_new *given)
{
	const char *name = given->name ? given->name : "";
	uint32_t place = node_place(given->model, given->key);
	uint32_t index = sn_array_reserve(&nodes);
	if (index == UINT32_MAX)
		return SN_GRAPH_NONE;
	struct live_node *node = node_at(index);
	node->key = given->key;
	node->record = (struct sn_graph_node_record){
	    .model = given->model,
	    .name = keep_text(name),
	    .type = keep_text(given->type),
	    .module = keep_text(given->module),
	    .device = keep_text(given->device),
	    .file = keep_text(given->file),
	    .line = given->line,
	    .parent = given->parent < index ? given->parent : SN_GRAPH_NONE,
	    .flags = given->flags,
	};
	make_label(node, name);
	if (node->record.name == SN_ID_NONE || !node->label)
		return SN_GRAPH_NONE;
	node->next = atomic_load_explicit(&node_heads[place], memory_order_relaxed);
	sn_array_commit(&nodes);
	atomic_store_explicit(&node_heads[place], index + 1, memory_order_release);
	return index;
}

uint32_t sn_graph_node(const struct sn_graph_new *node)
{
	if (node->model >= atomic_load_explicit(&model_count, memory_order_acquire))
		return SN_GRAPH_NONE;
	uint32_t found = sn_graph_find(node->model, node->key);
	if (found != SN_GRAPH_NONE)
		return found;
	sn_lock_acquire(SN_LOCK_GRAPH);
	found = sn_graph_find(node->model, node->key);
	if (found == SN_GRAPH_NONE)
		found = add_node(node);
	sn_lock_release(SN_LOCK_GRAPH);
	return found;
}

const char *sn_graph_label(uint32_t node, size_t *length)
{
	*length = node_at(node)->label_length;
	return node_at(node)->label;
}

uint32_t sn_graph_model_of(uint32_t node)
{
	return node < sn_array_count(&nodes) ? node_at(node)->record.model : SN_GRAPH_NONE;
}

const char *sn_graph_module(uint32_t node, char *text, size_t size)
{
	if (node >= sn_array_count(&nodes) || node_at(node)->record.module == SN_ID_NONE)
		return NULL;
	const char *module = text_at(node_at(node)->record.module);
	size_t length = strnlen(module, size - 1);
	memcpy(text, module, length);
	text[length] = 0;
	return text;
}

/* ---- edges ---- */

static uint32_t edge_place(uint32_t from, uint32_t to, uint32_t index, uint32_t kind)
{
	uint64_t key = sn_hash_mix((uint64_t)from << 32 | to, (uint64_t)index << 8 | kind);
	return (uint32_t)(key >> 32) % EDGE_HEADS;
}

static struct live_edge *find_edge(uint32_t from, uint32_t to, uint32_t index, uint32_t kind)
{
	uint32_t at = atomic_load_explicit(&edge_heads[edge_place(from, to, index, kind)],
					   memory_order_acquire);
	for (; at; at = edge_at(at - 1)->next) {
		struct live_edge *edge = edge_at(at - 1);
		if (edge->from == from && edge->to == to && edge->index == index &&
		    edge->kind == kind)
			return edge;
	}
	return NULL;
}

static struct live_edge *add_edge(uint32_t from, uint32_t to, uint32_t index, uint32_t kind)
{
	uint32_t place = edge_place(from, to, index, kind), number = sn_array_reserve(&edges);
	if (number == UINT32_MAX)
		return NULL;
	struct live_edge *edge = edge_at(number);
	struct live_node *node = node_at(to);
	edge->from = from;
	edge->to = to;
	edge->index = index;
	edge->kind = kind;
	edge->next = atomic_load_explicit(&edge_heads[place], memory_order_relaxed);
	edge->next_input = atomic_load_explicit(&node->first_input, memory_order_relaxed);
	sn_array_commit(&edges);
	atomic_store_explicit(&edge_heads[place], number + 1, memory_order_release);
	if (kind != SONDE_EDGE_SEQUENCE)
		atomic_store_explicit(&node->first_input, number + 1, memory_order_release);
	return edge;
}

void sn_graph_edge(uint32_t from, uint32_t to, uint32_t index, enum sonde_edge_kind kind,
		   uint64_t bytes, uint64_t count)
{
	uint32_t known = sn_array_count(&nodes);
	if (from >= known || to >= known ||
	    node_at(from)->record.model != node_at(to)->record.model)
		return;
	struct live_edge *edge = find_edge(from, to, index, kind);
	if (!edge) {
		sn_lock_acquire(SN_LOCK_GRAPH);
		edge = find_edge(from, to, index, kind);
		if (!edge)
			edge = add_edge(from, to, index, kind);
		sn_lock_release(SN_LOCK_GRAPH);
	}
	if (!edge)
		return;
	atomic_fetch_add_explicit(&edge->count, count, memory_order_relaxed);
	if (bytes > atomic_load_explicit(&edge->bytes, memory_order_relaxed))
		atomic_store_explicit(&edge->bytes, bytes, memory_order_relaxed);
}

/* ---- statistics ---- */

static void add_square(struct live_stat *stat, uint64_t value)
{
	uint64_t bits = atomic_load_explicit(&stat->square_bits, memory_order_relaxed), next;
	do {
		double squares;
		memcpy(&squares, &bits, sizeof(squares));
		squares += (double)value * (double)value;
		memcpy(&next, &squares, sizeof(next));
	} while (!atomic_compare_exchange_weak_explicit(
	    &stat->square_bits, &bits, next, memory_order_relaxed, memory_order_relaxed));
}

/* Relaxed throughout: a snapshot in between has numbers of two neighbouring moments. */
static void add_value(struct live_stat *stat, uint64_t value)
{
	uint64_t least = atomic_load_explicit(&stat->min, memory_order_relaxed);
	uint64_t most = atomic_load_explicit(&stat->max, memory_order_relaxed);
	/* the minimum is kept as one more, so that zero is none */
	while ((!least || value + 1 < least) &&
	       !atomic_compare_exchange_weak_explicit(&stat->min, &least, value + 1,
						      memory_order_relaxed, memory_order_relaxed))
		;
	while (value > most &&
	       !atomic_compare_exchange_weak_explicit(&stat->max, &most, value,
						      memory_order_relaxed, memory_order_relaxed))
		;
	atomic_fetch_add_explicit(&stat->sum, value, memory_order_relaxed);
	add_square(stat, value);
	atomic_fetch_add_explicit(&stat->count, 1, memory_order_relaxed);
}

static void clear_stat(struct live_stat *stat)
{
	stat->count = stat->sum = stat->min = stat->max = stat->square_bits = 0;
}

static struct sn_graph_statistic read_stat(const struct live_stat *stat)
{
	struct sn_graph_statistic read = {
	    .count = atomic_load_explicit(&stat->count, memory_order_relaxed),
	    .sum = atomic_load_explicit(&stat->sum, memory_order_relaxed),
	    .min = atomic_load_explicit(&stat->min, memory_order_relaxed),
	    .max = atomic_load_explicit(&stat->max, memory_order_relaxed),
	};
	uint64_t bits = atomic_load_explicit(&stat->square_bits, memory_order_relaxed);
	memcpy(&read.sum_squares, &bits, sizeof(bits));
	read.min -= read.min != 0;
	return read;
}

/* When the last input ended that ended before `start_ns` and after the node began the last time; 0
 * where there is none. */
static uint64_t ready_ns(const struct live_node *node, uint64_t start_ns)
{
	uint64_t since = atomic_load_explicit(&node->last_start_ns, memory_order_relaxed),
		 ready = 0;
	uint32_t at = atomic_load_explicit(&node->first_input, memory_order_acquire);
	for (; at; at = edge_at(at - 1)->next_input) {
		const struct live_node *input = node_at(edge_at(at - 1)->from);
		uint64_t end = atomic_load_explicit(&input->last_end_ns, memory_order_relaxed);
		if (end > ready && end > since && end <= start_ns)
			ready = end;
	}
	return ready;
}

void sn_graph_executed(uint32_t number, uint64_t start_ns, uint64_t end_ns)
{
	if (number >= sn_array_count(&nodes))
		return;
	struct live_node *node = node_at(number);
	uint64_t ready = ready_ns(node, start_ns);
	if (ready)
		add_value(&node->latency, start_ns - ready);
	add_value(&node->time, end_ns - start_ns);
	atomic_store_explicit(&node->last_start_ns, start_ns, memory_order_relaxed);
	atomic_store_explicit(&node->last_end_ns, end_ns, memory_order_relaxed);
	atomic_store_explicit(&models[node->record.model].last_end_ns, end_ns,
			      memory_order_relaxed);
}

/* ---- iterations ---- */

void sn_graph_iteration(uint32_t number, uint64_t start_ns, uint64_t end_ns, const char *by)
{
	if (number >= atomic_load_explicit(&model_count, memory_order_acquire) || end_ns < start_ns)
		return;
	struct live_model *model = models + number;
	struct live_iteration *ring = atomic_load_explicit(&model->ring, memory_order_relaxed);
	if (!ring) {
		ring = sn_pages_map(SN_GRAPH_ITERATIONS * sizeof(*ring));
		atomic_store_explicit(&model->ring, ring, memory_order_release);
	}
	uint64_t iteration = atomic_load_explicit(&model->iterations, memory_order_relaxed);
	if (ring)
		ring[iteration % SN_GRAPH_ITERATIONS] = (struct live_iteration){start_ns, end_ns};
	add_value(&model->iteration_time, end_ns - start_ns);
	atomic_store_explicit(&model->iterations_by, by, memory_order_relaxed);
	atomic_store_explicit(&model->last_iteration_end_ns, end_ns, memory_order_relaxed);
	/* release: a snapshot that counts it finds it in the ring */
	atomic_store_explicit(&model->iterations, iteration + 1, memory_order_release);
}

static _Atomic uint64_t iterations_begun;
static _Atomic int iterations_open;

uint64_t sn_graph_iterations_begun(void)
{
	return atomic_load_explicit(&iterations_begun, memory_order_relaxed);
}

bool sn_graph_in_iteration(void)
{
	return atomic_load_explicit(&iterations_open, memory_order_relaxed) > 0;
}

void sn_graph_iteration_begins(void)
{
	atomic_fetch_add_explicit(&iterations_begun, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&iterations_open, 1, memory_order_relaxed);
}

void sn_graph_iteration_ends(uint64_t start_ns, uint64_t end_ns)
{
	atomic_fetch_sub_explicit(&iterations_open, 1, memory_order_relaxed);
	uint32_t count = atomic_load_explicit(&model_count, memory_order_acquire);
	for (uint32_t i = 0; i < count; i++) {
		struct live_model *model = models + i;
		if (!model->has_own_iterations && model->last_end_ns > start_ns &&
		    model->last_iteration_end_ns <= start_ns)
			sn_graph_iteration(i, start_ns, end_ns, "marks of the program");
	}
}

/* ---- the section ---- */

/* What is written: fixed at the beginning, since others go on. */
struct extent {
	uint32_t models, nodes, edges, texts;
	uint64_t first_iterations[MODELS_MAX], iterations[MODELS_MAX];
	uint64_t iteration_count, text_bytes, constant_bytes;
};

/* Texts of models that live for ever are written behind the others. */
static uint32_t add_constant(struct extent *extent, const char *text)
{
	if (!text)
		return SN_ID_NONE;
	uint64_t at = extent->text_bytes + extent->constant_bytes;
	extent->constant_bytes += strlen(text) + 1;
	return (uint32_t)at;
}

static void fix_extent(struct extent *extent)
{
	memset(extent, 0, sizeof(*extent));
	extent->edges = sn_array_count(&edges);
	extent->nodes = sn_array_count(&nodes);
	extent->models = atomic_load_explicit(&model_count, memory_order_acquire);
	extent->texts = sn_array_count(&texts);
	for (uint32_t i = 0; i < extent->models; i++) {
		uint64_t end = atomic_load_explicit(&models[i].iterations, memory_order_acquire);
		/* one may be overwritten meanwhile: the oldest is left out */
		uint64_t kept = end < SN_GRAPH_ITERATIONS ? end : SN_GRAPH_ITERATIONS - 1;
		if (!atomic_load_explicit(&models[i].ring, memory_order_acquire))
			kept = 0;
		extent->first_iterations[i] = end - kept;
		extent->iterations[i] = kept;
		extent->iteration_count += kept;
	}
	if (extent->texts) {
		const struct live_text *last = sn_array_at(&texts, extent->texts - 1);
		extent->text_bytes = last->offset + last->length + 1;
	}
}

uint64_t sn_graph_bound(void)
{
	struct extent extent;
	fix_extent(&extent);
	if (!extent.models)
		return 0;
	/* what is added until it is written: as much again as a margin */
	return sizeof(struct sn_graph_header) +
	       extent.models * (sizeof(struct sn_graph_model_record) + 256ull) +
	       (extent.nodes + 256) * sizeof(struct sn_graph_node_record) +
	       (extent.edges + 1024) * sizeof(struct sn_graph_edge_record) +
	       (extent.iteration_count + extent.models * 64ull) *
		   sizeof(struct sn_graph_iteration_record) +
	       extent.text_bytes + 65536;
}

static struct sn_graph_model_record model_record(const struct extent *extent, uint32_t i)
{
	uint32_t flags = atomic_load_explicit(&models[i].flags, memory_order_relaxed);
	return (struct sn_graph_model_record){
	    .name = models[i].name,
	    .flags = flags | (extent->first_iterations[i] ? SONDE_MODEL_ITERATIONS_CUT : 0),
	    .iteration_time = read_stat(&models[i].iteration_time),
	};
}

static void write_records(const struct extent *extent,
			  void (*put)(void *out, const void *bytes, size_t length), void *out)
{
	for (uint32_t i = 0; i < extent->nodes; i++) {
		const struct live_node *node = node_at(i);
		struct sn_graph_node_record record = node->record;
		record.time = read_stat(&node->time);
		record.latency = read_stat(&node->latency);
		put(out, &record, sizeof(record));
	}
	for (uint32_t i = 0; i < extent->edges; i++) {
		const struct live_edge *edge = edge_at(i);
		struct sn_graph_edge_record record = {edge->from, edge->to,    edge->index,
						      edge->kind, edge->bytes, edge->count};
		put(out, &record, sizeof(record));
	}
	for (uint32_t i = 0; i < extent->models; i++)
		for (uint64_t n = 0; n < extent->iterations[i]; n++) {
			uint64_t number = extent->first_iterations[i] + n;
			const struct live_iteration *one =
			    models[i].ring + number % SN_GRAPH_ITERATIONS;
			struct sn_graph_iteration_record record = {i, 0, number, one->start_ns,
								   one->end_ns};
			/* it was just being overwritten */
			if (record.end_ns < record.start_ns)
				record.end_ns = record.start_ns;
			put(out, &record, sizeof(record));
		}
	for (uint32_t i = 0; i < extent->texts; i++) {
		const struct live_text *text = sn_array_at(&texts, i);
		put(out, text->text, text->length + 1u);
	}
}

void sn_graph_write(void (*put)(void *out, const void *bytes, size_t length), void *out)
{
	struct extent extent;
	static struct sn_graph_model_record records[MODELS_MAX]; /* one snapshot at a time */
	const char *constants[3 * MODELS_MAX];
	unsigned constant_count = 0;
	fix_extent(&extent);
	for (uint32_t i = 0; i < extent.models; i++) {
		/* read once: they may be replaced meanwhile */
		const char *given[] = {models[i].source, models[i].edges_by,
				       models[i].iterations_by};
		uint32_t *places[] = {&records[i].source, &records[i].edges_by,
				      &records[i].iterations_by};
		records[i] = model_record(&extent, i);
		for (int t = 0; t < 3; t++) {
			*places[t] = add_constant(&extent, given[t]);
			if (given[t])
				constants[constant_count++] = given[t];
		}
	}
	struct sn_graph_header header = {extent.models, extent.nodes, extent.edges,
					 (uint32_t)extent.iteration_count,
					 extent.text_bytes + extent.constant_bytes};
	put(out, &header, sizeof(header));
	put(out, records, extent.models * sizeof(*records));
	write_records(&extent, put, out);
	for (unsigned i = 0; i < constant_count; i++)
		put(out, constants[i], strlen(constants[i]) + 1);
}

void sn_graph_after_fork(void)
{
	for (uint32_t i = 0; i < sn_array_count(&nodes); i++) {
		clear_stat(&node_at(i)->time);
		clear_stat(&node_at(i)->latency);
	}
	for (uint32_t i = 0; i < sn_array_count(&edges); i++)
		edge_at(i)->count = 0;
	for (uint32_t i = 0; i < model_count; i++) {
		clear_stat(&models[i].iteration_time);
		models[i].iterations = models[i].last_iteration_end_ns = 0;
	}
}
