/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of functions, their threads, and the order of what they write; see structure.h. */
#include "structure.h"
#include "base/pool.h"
#include "base/progress/progress.h"
#include "base/sort_by.h"
#include "base/text.h"
#include "base/vec.h"
#include "binary/demangle/demangle.h"
#include "binary/gpu/gpu_structure.h"
#include "jump_table.h"
#include "same_line.h"
#include "scopes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A batch is a pass over the symbol table, and all its instructions in memory. */
#define BATCH_CODE_BYTES  (512u << 10) /* with lines */
#define BATCH_PLAIN_BYTES (4u << 20)   /* without */
#define BATCH_FUNCTIONS	  8192u
#define BATCHES_OF_MANY	  64u /* ... where functions are so many that the passes would count */

struct sn_structure {
	char *path;
	struct sn_structure_options options;
	struct sn_structure_info info;
	struct sn_elf_file *file, *symbols;
	struct sn_code *code;
	struct sn_gpu_binary *gpu; /* then there is no code */
	uint32_t *batches;	   /* the first function of each, and one more */
	uint32_t batch_count;
};

/* Instructions that lie in the same place: one, or a block of them. */
struct item {
	uint64_t start, end;
	uint32_t loop; /* of the batch; SN_FLOW_NONE */
};

/* A function of the batch: which items, and what it is. */
struct entry {
	uint32_t function; /* of the code */
	uint32_t first_item, item_count;
	uint32_t first_call;
	struct sn_structure_function result;
};

struct worker {
	struct sn_structure *structure;
	struct sn_symbolizer *symbolizer;
	uint32_t module;
	struct sn_flow flow;
	struct sn_loop_forest forest;
	struct sn_scopes scopes;
	struct sn_string_pool pool; /* of the function being written */
	/* of a batch */
	struct item *items;
	struct entry *entries;
	struct sn_nest_loop *loops;
	struct sn_nest_marks *marks;
	struct sn_same_line line;
	struct sn_structure_call *calls;
	bool *is_irreducible; /* by loop */
	uint64_t *addresses;
	struct sn_symbol_location *locations;
	uint32_t item_count, entry_count, loop_count, call_count;
	struct sn_nest_places places; /* of the addresses */
	bool failed;		      /* something is missing for lack of memory */
	size_t address_count;
	size_t item_capacity, entry_capacity, loop_capacity, mark_capacity, flag_capacity,
	    address_capacity, location_capacity, call_capacity;
};

/* ---- opening ---- */

static int new_symbolizer(const struct sn_structure *structure, struct sn_symbolizer **symbolizer,
			  uint32_t *module, struct sn_error *error)
{
	struct sn_symbolizer_options options = {
	    .cache_folder = "", .debug_path = structure->options.debug_path, .no_loops = true};
	int result = sn_symbolizer_new(&options, symbolizer, error);
	if (result == 0)
		result = sn_symbolizer_module(*symbolizer, structure->path, NULL, 0, 0, module);
	return result;
}

/* What the debug information is like, and which file it is in. */
static int look_for_symbols(struct sn_structure *structure, struct sn_error *error)
{
	struct sn_symbolizer *symbolizer = NULL;
	struct sn_symbol_location location;
	struct sn_symbol_module_info info = {0};
	uint64_t address = 0;
	uint32_t module;
	int result = new_symbolizer(structure, &symbolizer, &module, error);
	if (result == 0)
		result = sn_symbolizer_lookup(symbolizer, module, &address, 1, &location);
	if (result == 0)
		sn_symbolizer_module_info(symbolizer, module, &info);
	structure->info.status = sn_symbol_status_text(info.status);
	structure->info.has_lines = info.status == SN_SYMBOL_LINES;
	if (info.debug_file)
		sn_elf_file_open(info.debug_file, &structure->symbols, NULL);
	sn_symbolizer_free(symbolizer);
	return result;
}

static void describe(struct sn_structure *structure)
{
	struct sn_structure_info *info = &structure->info;
	const struct sn_elf_file *file = structure->file;
	info->machine = file->machine == EM_AARCH64 ? "AArch64" : "x86-64";
	info->has_jump_tables = sn_jump_table_is_available();
	for (uint32_t i = 0; i < file->build_id_bytes; i++)
		snprintf(info->build_id + 2 * i, 3, "%02x", file->build_id[i]);
	for (uint32_t i = 0; i < structure->code->section_count; i++)
		info->code_bytes +=
		    structure->code->sections[i].end - structure->code->sections[i].start;
}

static int divide(struct sn_structure *structure)
{
	const struct sn_code *code = structure->code;
	bool is_full = structure->info.has_lines && !structure->options.no_lines;
	uint64_t most = is_full ? BATCH_CODE_BYTES : BATCH_PLAIN_BYTES, bytes = 0;
	uint32_t functions = code->function_count / BATCHES_OF_MANY;
	size_t capacity = 0;
	if (functions < BATCH_FUNCTIONS)
		functions = BATCH_FUNCTIONS;
	for (uint32_t i = 0; i <= code->function_count; i++) {
		bool is_last = i == code->function_count;
		bool is_first = structure->batch_count == 0;
		uint64_t size = is_last ? 0 : code->functions[i].end - code->functions[i].start;
		bool is_full_batch =
		    !is_first && (bytes + size > most ||
				  i - structure->batches[structure->batch_count - 1] >= functions);
		if (is_first || is_last || is_full_batch) {
			if (sn_vec_push(&structure->batches, &capacity, &structure->batch_count, i))
				return SN_ERR_MEMORY;
			bytes = 0;
		}
		bytes += size;
	}
	structure->batch_count--;
	return 0;
}

static int open_gpu(struct sn_structure *structure, struct sn_error *error)
{
	int result = sn_gpu_binary_read(structure->file, &structure->gpu, error);
	if (result < 0)
		return sn_fail_prefix(error, result, "cannot read '%s'", structure->path);
	if (sn_gpu_binary_read_lines(structure->gpu) < 0)
		return sn_fail_memory(error);
	sn_gpu_structure_describe(structure->gpu, &structure->info);
	return 0;
}

/* Opens the file where it is not in memory already. */
static int open_all(struct sn_structure *structure, struct sn_error *error)
{
	int result = 0;
	if (!structure->file)
		result = sn_elf_file_open(structure->path, &structure->file, error);
	if (result == 0 && sn_gpu_is_binary(structure->file))
		return open_gpu(structure, error);
	/* all its sections begin at 0, and where jumps go is not known before they are linked */
	if (result == 0 && structure->file->type == ET_REL)
		return sn_fail(error, SN_ERR_UNSUPPORTED,
			       "cannot read '%s': an object file that is not linked yet",
			       structure->path);
	if (result == 0)
		result = look_for_symbols(structure, error);
	if (result == 0)
		result = sn_code_open(structure->file, structure->symbols, &structure->code);
	if (result == 0 && !structure->code)
		return sn_fail(error, SN_ERR_FORMAT,
			       "cannot read '%s': neither x86-64 nor AArch64 code",
			       structure->path);
	if (result == 0)
		result = divide(structure);
	if (result == 0)
		describe(structure);
	if (result == 0 && structure->file->is_truncated && structure->info.code_bytes == 0)
		return sn_fail(error, SN_ERR_FORMAT, "cannot read '%s': truncated",
			       structure->path);
	return sn_fail_code(error, result);
}

static struct sn_structure *make(const char *path, const struct sn_structure_options *options)
{
	struct sn_structure *created = calloc(1, sizeof(*created));
	if (created)
		created->path = strdup(path);
	if (!created || !created->path) {
		free(created);
		return NULL;
	}
	if (options)
		created->options = *options;
	return created;
}

int sn_structure_open(const char *path, const struct sn_structure_options *options,
		      struct sn_structure **structure, struct sn_error *error)
{
	struct sn_structure *created = make(path, options);
	if (!created)
		return sn_fail_memory(error);
	int result = open_all(created, error);
	if (result < 0)
		sn_structure_free(created);
	else
		*structure = created;
	return result;
}

int sn_structure_open_image(const void *image, size_t bytes, const char *name,
			    const struct sn_structure_options *options,
			    struct sn_structure **structure, struct sn_error *error)
{
	struct sn_structure *created = make(name, options);
	if (!created)
		return sn_fail_memory(error);
	int result = sn_elf_file_from_memory(image, bytes, false, &created->file, error);
	if (result < 0)
		result = sn_fail_prefix(error, result, "cannot read '%s'", name);
	else if (!sn_gpu_is_binary(created->file))
		result = sn_fail(error, SN_ERR_FORMAT, "cannot read '%s': not a GPU binary", name);
	else
		result = open_gpu(created, error);
	if (result < 0)
		sn_structure_free(created);
	else
		*structure = created;
	return result;
}

void sn_structure_free(struct sn_structure *structure)
{
	if (!structure)
		return;
	sn_code_free(structure->code);
	sn_gpu_binary_free(structure->gpu);
	sn_elf_file_free(structure->symbols);
	sn_elf_file_free(structure->file);
	free(structure->batches);
	free(structure->path);
	free(structure);
}

const struct sn_structure_info *sn_structure_info(const struct sn_structure *structure)
{
	return &structure->info;
}

/* ---- collecting a batch ---- */

static bool is_full(const struct worker *worker)
{
	return worker->structure->info.has_lines && !worker->structure->options.no_lines;
}

static void add_address(struct worker *worker, uint64_t address)
{
	worker->failed |= sn_vec_push(&worker->addresses, &worker->address_capacity,
				      &worker->address_count, address) < 0;
}

static void add_item(struct worker *worker, uint64_t start, uint64_t end, uint32_t loop)
{
	worker->failed |= sn_vec_push(&worker->items, &worker->item_capacity, &worker->item_count,
				      (struct item){start, end, loop}) < 0;
	if (is_full(worker))
		add_address(worker, start);
}

static void add_block(struct worker *worker, const struct sn_flow_block *block, uint32_t loop)
{
	struct sn_code *code = worker->structure->code;
	struct sn_bytes bytes = sn_code_bytes(code, block->start);
	if (!is_full(worker)) {
		add_item(worker, block->start, block->end, loop);
		return;
	}
	for (uint64_t at = block->start; at < block->end;) {
		struct sn_insn insn;
		size_t into = (size_t)(at - block->start);
		if (!code->decode(bytes.data + into, bytes.size - into, at, &insn))
			break;
		add_item(worker, at, at + insn.length, loop);
		at += insn.length;
	}
}

static int add_loops(struct worker *worker, uint32_t function)
{
	const struct sn_loop_forest *forest = &worker->forest;
	uint32_t first = worker->loop_count, count = first + forest->loop_count;
	if (sn_vec_reserve(&worker->loops, &worker->loop_capacity, count + 1u) < 0 ||
	    sn_vec_reserve(&worker->marks, &worker->mark_capacity, count + 1u) < 0 ||
	    sn_vec_reserve(&worker->is_irreducible, &worker->flag_capacity, count + 1u) < 0)
		return SN_ERR_MEMORY;
	if (worker->structure->info.has_lines)
		sn_nest_marks(&worker->flow.graph, forest, &worker->marks[first]);
	for (uint32_t i = 0; i < forest->loop_count; i++) {
		struct sn_nest_marks *marks = &worker->marks[first + i];
		if (!worker->structure->info.has_lines)
			marks->count = marks->all_count = 0;
		worker->loops[first + i] =
		    sn_nest_loop_of(&worker->flow.graph, forest, i, first, function);
		worker->is_irreducible[first + i] = forest->loops[i].is_irreducible;
		for (uint32_t j = 0; j < marks->all_count; j++)
			add_address(worker, marks->addresses[j]);
	}
	worker->loop_count = count;
	return 0;
}

SN_SORT_BY(sort_by_start, struct item, const void *, SN_ORDER(a->start, b->start));

SN_SORT_BY(sort_by_call, struct sn_structure_call, const void *, SN_ORDER(a->start, b->start));

static int add_calls(struct worker *worker)
{
	const struct sn_flow *flow = &worker->flow;
	if (sn_vec_reserve(&worker->calls, &worker->call_capacity,
			   (size_t)worker->call_count + flow->call_count) < 0)
		return SN_ERR_MEMORY;
	struct sn_structure_call *calls = worker->calls + worker->call_count;
	for (uint32_t i = 0; i < flow->call_count; i++)
		calls[i] = (struct sn_structure_call){flow->calls[i].at, flow->calls[i].end,
						      flow->calls[i].target};
	sort_by_call(calls, flow->call_count, NULL);
	worker->call_count += flow->call_count;
	return 0;
}

static int add_function(struct worker *worker, uint32_t function)
{
	struct sn_code *code = worker->structure->code;
	struct entry entry = {.function = function,
			      .first_item = worker->item_count,
			      .first_call = worker->call_count};
	uint32_t first_loop = worker->loop_count;
	if (sn_flow_build(&worker->flow, code, function) < 0 ||
	    sn_loop_forest_build(&worker->forest, &worker->flow.graph) < 0 ||
	    add_calls(worker) < 0 || add_loops(worker, function) < 0)
		return SN_ERR_MEMORY;
	add_address(worker, code->functions[function].start);
	const struct sn_flow_graph *graph = &worker->flow.graph;
	for (uint32_t i = 0; i < graph->block_count; i++) {
		uint32_t loop = worker->forest.block_loops[i];
		if (loop != SN_FLOW_NONE)
			loop += first_loop;
		add_block(worker, &graph->blocks[i], loop);
	}
	entry.item_count = worker->item_count - entry.first_item;
	if (entry.item_count > 0)
		sort_by_start(worker->items + entry.first_item, entry.item_count, NULL);
	entry.result = (struct sn_structure_function){
	    .block_count = graph->block_count,
	    .loop_count = worker->forest.loop_count,
	    .jump_count = worker->flow.jump_count,
	    .unresolved_count = worker->flow.unresolved_count,
	    .call_count = worker->flow.call_count,
	};
	for (uint32_t i = 0; i < worker->forest.loop_count; i++)
		entry.result.irreducible_count += worker->forest.loops[i].is_irreducible;
	worker->failed |=
	    sn_vec_push(&worker->entries, &worker->entry_capacity, &worker->entry_count, entry) < 0;
	return worker->failed ? SN_ERR_MEMORY : 0;
}

/* ---- what the debug information says ---- */

static int look_up(struct worker *worker)
{
	if (worker->address_count == 0)
		return 0;
	sn_sort_u64(worker->addresses, worker->address_count);
	worker->address_count = sn_sort_unique(worker->addresses, worker->address_count);
	if (sn_vec_reserve(&worker->locations, &worker->location_capacity, worker->address_count))
		return SN_ERR_MEMORY;
	worker->places =
	    (struct sn_nest_places){worker->addresses, worker->locations, worker->address_count};
	int result = sn_symbolizer_lookup(worker->symbolizer, worker->module, worker->addresses,
					  worker->address_count, worker->locations);
	return result < 0 ? result
			  : sn_nest_settle_all(worker->loops, worker->marks, worker->loop_count,
					       &worker->places, &worker->line);
}

/* ---- writing a batch ---- */

/* The place of an item: of its own where lines are wanted, else of the loop it is in. */
static struct sn_symbol_location place_of(const struct worker *worker, const struct item *item,
					  const struct sn_symbol_location *function)
{
	if (is_full(worker))
		return *sn_nest_place(&worker->places, item->start);
	struct sn_symbol_location place = *function;
	place.depth = 1;
	if (item->loop != SN_FLOW_NONE && worker->loops[item->loop].like) {
		place = *worker->loops[item->loop].like;
		place.depth = worker->loops[item->loop].home;
	}
	return place;
}

static int place_item(struct worker *worker, const struct item *item,
		      const struct sn_symbol_location *function, struct sn_string_pool *pool)
{
	struct sn_symbol_location place = place_of(worker, item, function);
	if (sn_nest_insert(worker->loops, item->loop, pool, &place) < 0)
		return SN_ERR_MEMORY;
	uint32_t scope =
	    sn_scopes_add(&worker->scopes, &place, item->start, item->end, is_full(worker));
	if (item->loop != SN_FLOW_NONE && worker->loops[item->loop].header == item->start)
		sn_scopes_count_loop(&worker->scopes, scope, worker->is_irreducible[item->loop]);
	return worker->scopes.failed ? SN_ERR_MEMORY : 0;
}

static int write_function(struct worker *worker, struct entry *entry,
			  const struct sn_structure_writer *writer, FILE *out)
{
	const struct sn_code_function *function =
	    &worker->structure->code->functions[entry->function];
	const struct sn_symbol_location *location = sn_nest_place(&worker->places, function->start);
	int result = 0;
	sn_scopes_begin(&worker->scopes, location, function->start);
	for (uint32_t i = 0; i < entry->item_count && result == 0; i++)
		result = place_item(worker, &worker->items[entry->first_item + i], location,
				    &worker->pool);
	if (result == 0) {
		sn_scopes_finish(&worker->scopes);
		entry->result.scopes = worker->scopes.scopes;
		entry->result.ranges = worker->scopes.ranges;
		entry->result.scope_count = worker->scopes.scope_count;
		entry->result.calls = worker->calls + entry->first_call;
		writer->write(writer->data, &entry->result, out);
	}
	sn_string_pool_clear(&worker->pool);
	return result;
}

/* By symbol, by readable name, or by address. */
static bool is_asked(const struct sn_structure *structure, uint32_t function)
{
	const char *asked = structure->options.function;
	const struct sn_code_function *of = &structure->code->functions[function];
	char *end;
	if (!asked || (of->name && strcmp(of->name, asked) == 0))
		return true;
	if (sn_text_begins(asked, "0x"))
		return strtoull(asked, &end, 16) == of->start && *end == '\0';
	char *name = of->name ? sn_demangle_short(of->name) : NULL;
	bool is_it = name && strcmp(name, asked) == 0;
	free(name);
	return is_it;
}

static int write_batch(struct worker *worker, uint32_t batch,
		       const struct sn_structure_writer *writer, FILE *out)
{
	const struct sn_structure *structure = worker->structure;
	int result = 0;
	worker->item_count = worker->entry_count = worker->loop_count = 0;
	worker->address_count = worker->call_count = 0;
	for (uint32_t i = structure->batches[batch];
	     i < structure->batches[batch + 1] && result == 0; i++)
		if (sn_flow_owner(structure->code, i) == i && is_asked(structure, i))
			result = add_function(worker, i);
	if (result == 0)
		result = look_up(worker);
	for (uint32_t i = 0; i < worker->entry_count && result == 0; i++)
		result = write_function(worker, &worker->entries[i], writer, out);
	sn_symbolizer_forget(worker->symbolizer, worker->module);
	return result;
}

static void worker_release(struct worker *worker)
{
	sn_symbolizer_free(worker->symbolizer);
	sn_flow_release(&worker->flow);
	sn_loop_forest_release(&worker->forest);
	sn_scopes_release(&worker->scopes);
	sn_string_pool_release(&worker->pool);
	sn_same_line_release(&worker->line);
	free(worker->items);
	free(worker->entries);
	free(worker->loops);
	free(worker->marks);
	free(worker->calls);
	free(worker->is_irreducible);
	free(worker->addresses);
	free(worker->locations);
}

/* ---- threads ---- */

/* What a batch has written, until those before it have been taken. */
struct written {
	char *text;
	size_t length;
	bool is_done;
};

enum { STOPPED = 1 }; /* by the taker */

struct work {
	struct sn_structure *structure;
	const struct sn_structure_writer *writer;
	struct worker *workers;
	unsigned ahead_max;
	pthread_mutex_t lock; /* of all below; the only one */
	pthread_cond_t changed;
	struct written *written; /* by batch */
	uint32_t taken;
	bool is_handing_on; /* some thread is */
	bool is_stopped;
};

/* Waits until a batch is not too far ahead of what was taken. False: there is nothing to do any
 * more. The batch that is to be taken next never waits. */
static bool wait_for_turn(struct work *work, size_t batch)
{
	pthread_mutex_lock(&work->lock);
	while (!work->is_stopped && batch >= work->taken + work->ahead_max)
		pthread_cond_wait(&work->changed, &work->lock);
	bool goes_on = !work->is_stopped;
	pthread_mutex_unlock(&work->lock);
	return goes_on;
}

/* Hands on what is written, in order, while other threads go on; the lock is held before and
 * after. What is written meanwhile is handed on by the same thread. */
static void hand_on(struct work *work)
{
	const struct sn_structure_writer *writer = work->writer;
	while (!work->is_handing_on && !work->is_stopped && work->written[work->taken].is_done) {
		struct written *written = &work->written[work->taken];
		work->is_handing_on = true;
		pthread_mutex_unlock(&work->lock);
		bool goes_on = writer->put(writer->data, written->text, written->length);
		free(written->text);
		written->text = NULL;
		pthread_mutex_lock(&work->lock);
		work->is_handing_on = false;
		work->taken++;
		work->is_stopped |= !goes_on;
	}
	pthread_cond_broadcast(&work->changed);
}

static int begin_worker(struct work *work, struct worker *worker)
{
	if (worker->symbolizer)
		return 0;
	worker->structure = work->structure;
	worker->flow.wants_calls = work->structure->options.wants_calls;
	return new_symbolizer(work->structure, &worker->symbolizer, &worker->module, NULL);
}

static int run_batch(void *context, unsigned index, size_t batch)
{
	struct work *work = context;
	struct worker *worker = &work->workers[index];
	struct written written = {.is_done = true};
	if (!wait_for_turn(work, batch))
		return STOPPED;
	int result = begin_worker(work, worker);
	FILE *out = result == 0 ? open_memstream(&written.text, &written.length) : NULL;
	result = out ? write_batch(worker, (uint32_t)batch, work->writer, out) : SN_ERR_MEMORY;
	if (out && fclose(out) != 0)
		result = SN_ERR_MEMORY;
	pthread_mutex_lock(&work->lock);
	work->written[batch] = written;
	work->is_stopped |= result < 0;
	hand_on(work);
	pthread_mutex_unlock(&work->lock);
	sn_progress_add(1);
	return result;
}

static int run_batches(struct work *work, unsigned jobs)
{
	uint32_t count = work->structure->batch_count;
	work->written = calloc(count + 1u, sizeof(*work->written)); /* the last is never done */
	work->workers = calloc(jobs, sizeof(*work->workers));
	sn_progress_begin("reading machine code", count);
	int result = work->written && work->workers ? sn_pool_run(jobs, count, run_batch, work)
						    : SN_ERR_MEMORY;
	for (unsigned i = 0; i < jobs && work->workers; i++)
		worker_release(&work->workers[i]);
	for (uint32_t i = 0; i < count && work->written; i++)
		free(work->written[i].text);
	free(work->workers);
	free(work->written);
	return result;
}

int sn_structure_write(struct sn_structure *structure, const struct sn_structure_writer *writer,
		       struct sn_error *error)
{
	if (structure->gpu)
		return sn_fail_code(
		    error, sn_gpu_structure_write(structure->gpu, &structure->options, writer));
	unsigned jobs = sn_pool_threads(structure->options.jobs);
	struct work work = {.structure = structure,
			    .writer = writer,
			    .ahead_max = 2 * jobs,
			    .lock = PTHREAD_MUTEX_INITIALIZER,
			    .changed = PTHREAD_COND_INITIALIZER};
	int result = run_batches(&work, jobs);
	return result == STOPPED ? 0 : sn_fail_code(error, result);
}
