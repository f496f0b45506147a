/* SPDX-License-Identifier: Apache-2.0 */
/* Divides samples without a call stack among the contexts in which they may have been taken. */
#include "hpctoolkit_reconstruct.h"

#include "aggregate/gpu_context/gpu_context.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

enum {
	MOST_PATHS = 4096, /* to one function; real kernels have few */
	MOST_DEPTH = 1024, /* calls on a path */
};

void sn_hpct_reconstruction_release(struct sn_hpct_reconstruction *reconstruction)
{
	for (size_t i = 0; i < reconstruction->call_capacity; i++) {
		sn_gpu_call_graph_free(reconstruction->calls[i].graph);
		free(reconstruction->calls[i].path_counts);
	}
	free(reconstruction->calls);
	free(reconstruction->addresses);
	sn_intern_release(&reconstruction->address_keys);
	sn_intern_release(&reconstruction->samples);
}

void sn_hpct_thread_release(struct sn_hpct_thread *thread)
{
	for (size_t i = 0; i < thread->group_count; i++) {
		sn_sums_release(&thread->groups[i].launches);
		sn_sums_release(&thread->groups[i].samples);
		free(thread->groups[i].roots);
	}
	free(thread->groups);
	sn_table_release(&thread->group_ids);
	sn_sums_release(&thread->values);
	sn_sums_release(&thread->samples);
	*thread = (struct sn_hpct_thread){0};
}

static int read_calls(const struct sn_hpcstruct *structure, struct sn_hpct_calls *calls)
{
	size_t count = structure->call_count;
	calls->is_read = true;
	if (structure->calls_damaged || (!structure->has_calls && count == 0))
		return 0;
	struct sn_gpu_call_site *sites = malloc((count + 1) * sizeof(*sites));
	calls->path_counts = malloc((structure->function_count + 1) * sizeof(uint32_t));
	int code = sites && calls->path_counts ? 0 : SN_ERR_MEMORY;
	for (size_t i = 0; code == 0 && i < count; i++)
		sites[i] = (struct sn_gpu_call_site){structure->calls[i].caller,
						     structure->calls[i].callee,
						     structure->calls[i].address};
	if (code == 0)
		code = sn_gpu_call_graph_new((uint32_t)structure->function_count, sites, count,
					     SN_GPU_RECURSION_ROOT, &calls->graph);
	if (code == 0)
		code = sn_gpu_call_graph_count_paths(calls->graph, MOST_PATHS, MOST_DEPTH,
						     calls->path_counts);
	free(sites);
	return code;
}

/* Finds the function of an address, unless too many paths lead to it. */
static int find_function(struct sn_hpct_reconstruction *all, struct sn_hpct_address *address)
{
	const struct sn_hpcstruct *structure = &all->code->modules[address->module].structure;
	const struct sn_hpcstruct_leaf *leaf = sn_hpcstruct_find(structure, address->address);
	if (!leaf)
		return 0;
	if (sn_vec_reserve_zeroed(&all->calls, &all->call_capacity, address->module + 1ull) < 0)
		return SN_ERR_MEMORY;
	struct sn_hpct_calls *calls = all->calls + address->module;
	if (!calls->is_read && read_calls(structure, calls) != 0)
		return SN_ERR_MEMORY;
	if (calls->graph && calls->path_counts[leaf->function] <= MOST_PATHS)
		address->function = leaf->function;
	else if (calls->graph || structure->calls_damaged)
		all->unresolved++;
	return 0;
}

int sn_hpct_reconstruct_address(struct sn_hpct_reconstruction *all, uint32_t module,
				uint64_t address, uint32_t *number)
{
	uint64_t key[2] = {module, address};
	uint32_t found = sn_intern_add(&all->address_keys, key, sizeof(key));
	if (found == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	if (found == all->address_count) {
		struct sn_hpct_address new = {address, module, SN_HPCT_NO_CALLERS};
		if (find_function(all, &new) != 0 ||
		    sn_vec_push(&all->addresses, &all->address_capacity, &all->address_count, new))
			return SN_ERR_MEMORY;
	}
	*number = all->addresses[found].function == SN_HPCT_NO_CALLERS ? SN_HPCT_NO_CALLERS : found;
	return 0;
}

int sn_hpct_thread_sample(struct sn_hpct_thread *thread, struct sn_hpct_reconstruction *all,
			  uint32_t address, uint32_t root, uint32_t *sample)
{
	uint32_t key[2] = {address, root};
	*sample = sn_intern_add(&all->samples, key, sizeof(key));
	return *sample == SN_INTERN_NONE ||
		       sn_sums_add(&thread->samples, *sample, SONDE_NONE, 0) < 0
		   ? SN_ERR_MEMORY
		   : 0;
}

struct sn_hpct_group *sn_hpct_thread_group(struct sn_hpct_thread *thread, uint64_t id)
{
	uint32_t number = sn_table_add(&thread->group_ids, id);
	if (number == SN_TABLE_NONE)
		return NULL;
	if (number == thread->group_count &&
	    sn_vec_push(&thread->groups, &thread->group_capacity, &thread->group_count,
			(struct sn_hpct_group){0}) < 0)
		return NULL;
	return thread->groups + number;
}

int sn_hpct_group_launch(struct sn_hpct_group *group, struct sn_hpct_launch launch)
{
	for (size_t i = 0; i < group->root_count; i++)
		if (group->roots[i].root == launch.root &&
		    group->roots[i].module == launch.module &&
		    group->roots[i].function == launch.function)
			return 0;
	return sn_vec_push(&group->roots, &group->root_capacity, &group->root_count, launch);
}

/* A value to be divided. */
struct sample {
	uint32_t root, module, function;
	uint32_t metric; /* SONDE_NONE: only the contexts are wanted */
	uint64_t address;
	double value;
};

SN_SORT_BY(sort_samples, struct sample, const void *,
	   SN_ORDER_BY(a, b, root, module, address, metric));

/* The samples in order, from malloc. Samples of a group have no known root yet: root 0. NULL
 * without memory. */
static struct sample *list_samples(const struct sn_hpct_reconstruction *all,
				   const struct sn_sums *sums, bool are_grouped)
{
	struct sample *samples = malloc((sums->count + 1) * sizeof(*samples));
	for (size_t i = 0; samples && i < sums->count; i++) {
		const struct sn_sum *sum = sums->entries + i;
		const uint32_t alone[2] = {sum->major, 0};
		const uint32_t *pair =
		    are_grouped ? alone : sn_intern_at(&all->samples, sum->major, NULL);
		const struct sn_hpct_address *address = all->addresses + pair[0];
		samples[i] = (struct sample){pair[1],	 address->module,  address->function,
					     sum->minor, address->address, sum->value};
	}
	if (samples)
		sort_samples(samples, sums->count, NULL);
	return samples;
}

/* A thread's own samples, or those of one of its groups, while they are divided. */
struct finishing {
	const struct sn_hpct_reconstruction *all;
	struct sn_hpct_thread *thread;
	const struct sn_hpct_group *group; /* NULL: the thread's own */
	const struct sn_sums *launches;	   /* all known launches, among other values */
	struct sn_table contexts;	   /* the contexts with values in `launches` */
	struct sn_sums *output;
};

/* Samples of one module below one root, or in one group, and all that is computed for them. */
struct division {
	const struct finishing *of;
	const struct sn_hpct_reconstruction *all;
	const struct sn_gpu_call_graph *graph;
	const struct sample *samples;
	size_t sample_count;
	uint32_t module;
	struct sn_gpu_contexts contexts;
	struct sn_arena arena; /* of the following arrays */
	double *weights;       /* by call site: the samples at it */
	/* by context */
	uint32_t *tops;	    /* the kernel with which its path begins */
	uint8_t *is_needed; /* wanted below the current root */
	uint32_t *nodes;    /* the tree's context of the call that leads to it */
	uint32_t *finals;   /* the tree's context of the current address in it */
	double *factors;    /* the share of a sample's value */
	/* by function; of kernels */
	uint32_t *entries;     /* the tree's context of the kernel below the root */
	double *scales;	       /* launches measured / launches sampled */
	double *totals;	       /* launches in the group */
	uint8_t *is_present;   /* launched at the root, as far as known */
	uint8_t *is_entered;   /* launched, and its scale or total is not 0 */
	uint8_t *has_launches; /* launches are known; for functions: of a kernel that leads there */
	uint8_t *has_sampled;
	/* by function */
	uint8_t *is_reached; /* its samples are divided in this pass */
};

static double weight_at(const struct division *division, uint64_t address)
{
	const struct sample *samples = division->samples;
	size_t first = sn_search(i, division->sample_count, samples[i].address < address);
	for (size_t i = first; i < division->sample_count && samples[i].address == address; i++)
		if (samples[i].metric == division->all->sample_metric &&
		    samples[i].metric != SONDE_NONE)
			return samples[i].value;
	return 0;
}

static void division_allocate(struct division *division)
{
	struct sn_arena *arena = &division->arena;
	uint32_t contexts = division->contexts.count, functions = division->graph->function_count;
	division->weights = sn_arena_array(arena, double, division->graph->site_count);
	division->tops = sn_arena_array(arena, uint32_t, contexts);
	division->is_needed = sn_arena_array(arena, uint8_t, contexts);
	division->nodes = sn_arena_array(arena, uint32_t, contexts);
	division->finals = sn_arena_array(arena, uint32_t, contexts);
	division->factors = sn_arena_array(arena, double, contexts);
	division->entries = sn_arena_array(arena, uint32_t, functions);
	division->scales = sn_arena_array(arena, double, functions);
	division->totals = sn_arena_array(arena, double, functions);
	division->is_present = sn_arena_array(arena, uint8_t, functions);
	division->is_entered = sn_arena_array(arena, uint8_t, functions);
	division->has_launches = sn_arena_array(arena, uint8_t, functions);
	division->has_sampled = sn_arena_array(arena, uint8_t, functions);
	division->is_reached = sn_arena_array(arena, uint8_t, functions);
}

/* Finds the contexts of all samples, from `samples` on, of the same module and root. Release it in
 * either case. 0 or SN_ERR_MEMORY. */
static int division_init(struct division *division, const struct finishing *of,
			 const struct sample *samples, size_t left)
{
	*division = (struct division){.of = of,
				      .all = of->all,
				      .graph = of->all->calls[samples->module].graph,
				      .samples = samples,
				      .module = samples->module};
	double *measured =
	    sn_arena_array(&division->arena, double, division->graph->function_count);
	if (!measured)
		return SN_ERR_MEMORY;
	for (; division->sample_count < left; division->sample_count++) {
		const struct sample *sample = samples + division->sample_count;
		if (sample->module != samples->module || sample->root != samples->root)
			break;
		measured[sample->function] = 1;
	}
	if (sn_gpu_contexts_find(division->graph, measured, &division->contexts) != 0)
		return SN_ERR_MEMORY;
	division_allocate(division);
	if (division->arena.failed)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < division->graph->site_count; i++)
		division->weights[i] = weight_at(division, division->graph->sites[i].address);
	for (uint32_t i = 0; i < division->contexts.count; i++) {
		const struct sn_gpu_context *context = division->contexts.contexts + i;
		division->tops[i] = context->parent == SN_GPU_CONTEXT_NONE
					? context->function
					: division->tops[context->parent];
	}
	return 0;
}

/* Adds the tree's contexts that are needed below a root. The context of a path's first call
 * includes the kernel with which the path begins. */
static void add_nodes(struct division *division, uint32_t root)
{
	struct sn_hpct_code *code = division->all->code;
	for (uint32_t i = 0; i < division->contexts.count; i++) {
		const struct sn_gpu_context *context = division->contexts.contexts + i;
		if (!division->is_needed[i])
			continue;
		if (context->parent == SN_GPU_CONTEXT_NONE) {
			division->nodes[i] = root;
			division->entries[context->function] = sn_hpct_code_function(
			    code, root, SN_HPCT_CALLED, division->module, context->function);
		} else {
			division->nodes[i] =
			    sn_hpct_code_place(code, division->nodes[context->parent],
					       division->module,
					       division->graph->sites[context->site].address)
				.full;
		}
	}
}

static double value_of(const struct sn_sums *sums, uint32_t major, uint32_t minor)
{
	const struct sn_sum *sum = minor == SONDE_NONE ? NULL : sn_sums_find(sums, major, minor);
	return sum ? sum->value : 0;
}

/* Sets the flags of functions to those of the kernels that lead to them. */
static void spread(const struct division *division, uint8_t *flags)
{
	for (uint32_t i = 0; i < division->contexts.count; i++)
		flags[division->contexts.contexts[i].function] |= flags[division->tops[i]];
}

/* Computes the scale of each kernel, and for which functions both numbers of launches are known. */
static void find_scales(struct division *division)
{
	uint32_t launches = division->all->launch_metric,
		 sampled = division->all->sampled_launch_metric;
	memset(division->has_launches, 0, division->graph->function_count);
	memset(division->has_sampled, 0, division->graph->function_count);
	for (uint32_t i = 0; i < division->contexts.count; i++) {
		uint32_t function = division->contexts.contexts[i].function;
		uint32_t entry = division->entries[function];
		if (division->tops[i] != function || !division->is_needed[i])
			continue;
		double total = value_of(division->of->launches, entry, sampled);
		division->is_present[function] =
		    sn_table_find(&division->of->contexts, entry) != SN_TABLE_NONE;
		division->has_launches[function] =
		    launches != SONDE_NONE && sn_sums_find(division->of->launches, entry, launches);
		division->has_sampled[function] =
		    sampled != SONDE_NONE && sn_sums_find(division->of->launches, entry, sampled);
		division->scales[function] =
		    total != 0 ? value_of(division->of->launches, entry, launches) / total : 0;
	}
	spread(division, division->has_launches);
	spread(division, division->has_sampled);
}

static bool is_scaled(const struct division *division, uint32_t function)
{
	return division->has_launches[function] && division->has_sampled[function];
}

/* The factor of a kernel's samples: 0 if it was not launched, 1 if a number of
 * launches is unknown. */
static double scale_of(const struct division *division, uint32_t function, uint32_t kernel)
{
	double scale = is_scaled(division, function) ? division->scales[kernel] : 1;
	return division->is_present[kernel] ? scale : 0;
}

/* Adds each sample's value times each context's factor. Contexts are added even if it is 0. */
static int add_values(const struct division *division)
{
	const struct sn_gpu_contexts *contexts = &division->contexts;
	for (size_t i = 0; i < division->sample_count; i++) {
		const struct sample *sample = division->samples + i;
		bool is_new = i == 0 || sample[-1].address != sample->address;
		if (!division->is_reached[sample->function])
			continue;
		for (uint32_t at = contexts->first[sample->function];
		     at < contexts->first[sample->function + 1]; at++) {
			uint32_t context = contexts->by_function[at];
			double value = division->factors[context] * sample->value;
			if (is_new)
				division->finals[context] =
				    sn_hpct_code_place(division->all->code,
						       division->nodes[context], division->module,
						       sample->address)
					.full;
			if (value != 0 &&
			    sn_sums_add(division->of->output, division->finals[context],
					sample->metric, value) < 0)
				return SN_ERR_MEMORY;
		}
	}
	return 0;
}

/* Divides the samples of functions whose numbers of launches are known, or of all others. For the
 * latter every kernel present counts as launched. */
static int divide_by_scale(struct division *division, bool is_known)
{
	const struct sn_gpu_context *contexts = division->contexts.contexts;
	for (uint32_t i = 0; i < division->graph->function_count; i++) {
		division->is_reached[i] = is_scaled(division, i) == is_known;
		division->is_entered[i] =
		    division->is_present[i] && (!is_known || division->scales[i] != 0);
	}
	if (sn_gpu_contexts_share(division->graph, division->is_entered, division->weights,
				  &division->contexts) != 0)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < division->contexts.count; i++)
		division->factors[i] =
		    contexts[i].share * scale_of(division, contexts[i].function, division->tops[i]);
	return add_values(division);
}

/* Divides samples below one root by the thread's own launches. */
static int divide_by_root(struct division *division)
{
	memset(division->is_needed, 1, division->contexts.count);
	add_nodes(division, division->samples->root);
	find_scales(division);
	int code = divide_by_scale(division, true);
	return code == 0 ? divide_by_scale(division, false) : code;
}

/* Whether a launch is of a kernel with which one of the paths begins. */
static bool is_launch(const struct division *division, const struct sn_hpct_launch *launch)
{
	const struct sn_gpu_contexts *contexts = &division->contexts;
	if (launch->module != division->module ||
	    launch->function >= division->graph->function_count)
		return false;
	uint32_t first = contexts->first[launch->function];
	return first < contexts->first[launch->function + 1] &&
	       contexts->contexts[contexts->by_function[first]].parent == SN_GPU_CONTEXT_NONE;
}

/* Sums the group's launches of each kernel by that metric. Sets is_known for functions to which a
 * kernel with such a value leads. */
static void sum_launches(struct division *division, uint32_t metric, uint8_t *is_known)
{
	const struct sn_hpct_group *group = division->of->group;
	uint32_t functions = division->graph->function_count;
	memset(division->totals, 0, functions * sizeof(*division->totals));
	for (size_t i = 0; metric != SONDE_NONE && i < group->root_count; i++) {
		const struct sn_hpct_launch *launch = group->roots + i;
		if (!is_launch(division, launch))
			continue;
		uint32_t entry =
		    sn_hpct_code_function(division->all->code, launch->root, SN_HPCT_CALLED,
					  division->module, launch->function);
		is_known[launch->function] |= sn_sums_find(&group->launches, entry, metric) != NULL;
		division->totals[launch->function] += value_of(&group->launches, entry, metric);
	}
	for (uint32_t i = 0; i < functions; i++)
		division->is_entered[i] = division->totals[i] != 0;
	spread(division, is_known);
}

/* The wanted functions to which kernels launched at the root lead, with their contexts
 * and those above. */
static void find_needed(struct division *division, uint32_t root, const uint8_t *is_wanted)
{
	const struct sn_hpct_group *group = division->of->group;
	const struct sn_gpu_context *contexts = division->contexts.contexts;
	uint32_t functions = division->graph->function_count;
	memset(division->is_reached, 0, functions);
	memset(division->is_needed, 0, division->contexts.count);
	for (size_t i = 0; i < group->root_count; i++)
		if (group->roots[i].root == root && is_launch(division, group->roots + i))
			division->is_reached[group->roots[i].function] = 1;
	spread(division, division->is_reached);
	for (uint32_t i = 0; i < functions; i++)
		division->is_reached[i] &= is_wanted[i];
	for (uint32_t i = division->contexts.count; i-- > 0;) {
		division->is_needed[i] |= division->is_reached[contexts[i].function];
		if (division->is_needed[i] && contexts[i].parent != SN_GPU_CONTEXT_NONE)
			division->is_needed[contexts[i].parent] = 1;
	}
}

/* Divides the part of the group's samples that belongs to launches below one root. */
static int divide_below(struct division *division, uint32_t root, uint32_t metric)
{
	const struct sn_gpu_context *contexts = division->contexts.contexts;
	add_nodes(division, root);
	find_scales(division);
	for (uint32_t i = 0; i < division->contexts.count; i++) {
		uint32_t kernel = division->tops[i];
		double own =
		    value_of(&division->of->group->launches, division->entries[kernel], metric);
		division->factors[i] = division->is_entered[kernel] && division->is_needed[i]
					   ? own / division->totals[kernel] * contexts[i].share *
						 scale_of(division, contexts[i].function, kernel)
					   : 0;
	}
	return add_values(division);
}

static bool is_first_of_root(const struct sn_hpct_group *group, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (group->roots[i].root == group->roots[number].root)
			return false;
	return true;
}

/* Divides the samples of the wanted functions in proportion to the launches by that metric. */
static int divide_by_launches(struct division *division, uint32_t metric, const uint8_t *is_wanted)
{
	const struct sn_hpct_group *group = division->of->group;
	int code = sn_gpu_contexts_share(division->graph, division->is_entered, division->weights,
					 &division->contexts);
	for (size_t i = 0; code == 0 && i < group->root_count; i++) {
		if (!is_first_of_root(group, i))
			continue;
		find_needed(division, group->roots[i].root, is_wanted);
		code = divide_below(division, group->roots[i].root, metric);
	}
	return code;
}

/* Divides a group's samples: in proportion to sampled launches where these are
 * known, else to all. */
static int divide_by_group(struct division *division)
{
	const struct sn_hpct_reconstruction *all = division->all;
	uint32_t functions = division->graph->function_count;
	uint8_t *by_sampled = sn_arena_array(&division->arena, uint8_t, functions);
	uint8_t *by_all = sn_arena_array(&division->arena, uint8_t, functions);
	if (division->arena.failed)
		return SN_ERR_MEMORY;
	sum_launches(division, all->sampled_launch_metric, by_sampled);
	int code = divide_by_launches(division, all->sampled_launch_metric, by_sampled);
	if (code != 0)
		return code;
	sum_launches(division, all->launch_metric, by_all);
	for (size_t i = 0; i < division->sample_count; i++) {
		uint32_t function = division->samples[i].function;
		division->of->thread->lost += !by_sampled[function] && !by_all[function] &&
					      division->samples[i].metric != SONDE_NONE;
	}
	/* includes functions without any known launches, whose contexts are added nevertheless */
	for (uint32_t i = 0; i < functions; i++)
		by_all[i] = !by_sampled[i];
	return divide_by_launches(division, all->launch_metric, by_all);
}

static int divide_samples(const struct finishing *of)
{
	const struct sn_sums *sums = of->group ? &of->group->samples : &of->thread->samples;
	struct sample *samples = list_samples(of->all, sums, of->group);
	int code = samples ? 0 : SN_ERR_MEMORY;
	for (size_t i = 0; code == 0 && i < sums->count;) {
		struct division division;
		code = division_init(&division, of, samples + i, sums->count - i);
		if (code == 0)
			code = of->group ? divide_by_group(&division) : divide_by_root(&division);
		i += division.sample_count;
		sn_gpu_contexts_release(&division.contexts);
		sn_arena_release(&division.arena);
	}
	free(samples);
	return code;
}

static int add_all(struct sn_sums *into, const struct sn_sums *from)
{
	for (size_t i = 0; i < from->count; i++)
		if (sn_sums_add(into, from->entries[i].major, from->entries[i].minor,
				from->entries[i].value) < 0)
			return SN_ERR_MEMORY;
	return 0;
}

static int list_contexts(struct finishing *of)
{
	sn_table_clear(&of->contexts);
	for (size_t i = 0; i < of->launches->count; i++)
		if (sn_table_add(&of->contexts, of->launches->entries[i].major) == SN_TABLE_NONE)
			return SN_ERR_MEMORY;
	return 0;
}

/* The launches of groups become values of the thread as well; only the samples of groups are
 * scaled by them. */
static int divide_groups(struct finishing *of)
{
	struct sn_hpct_thread *thread = of->thread;
	struct sn_sums launches = {0};
	int code = 0;
	for (size_t i = 0; code == 0 && i < thread->group_count; i++) {
		code = add_all(&launches, &thread->groups[i].launches);
		if (code == 0)
			code = add_all(&thread->values, &thread->groups[i].launches);
	}
	of->launches = &launches;
	if (code == 0)
		code = list_contexts(of);
	for (size_t i = 0; code == 0 && i < thread->group_count; i++) {
		of->group = thread->groups + i;
		code = divide_samples(of);
	}
	sn_sums_release(&launches);
	return code;
}

int sn_hpct_thread_finish(struct sn_hpct_thread *thread,
			  struct sn_hpct_reconstruction *reconstruction)
{
	struct sn_sums output = {0};
	struct finishing of = {.all = reconstruction,
			       .thread = thread,
			       .launches = &thread->values,
			       .output = &output};
	int code = 0;
	if (thread->samples.count) {
		code = list_contexts(&of);
		if (code == 0)
			code = divide_samples(&of);
	}
	if (code == 0 && thread->group_count)
		code = divide_groups(&of);
	if (code == 0)
		code = add_all(&thread->values, &output);
	sn_sums_release(&output);
	sn_table_release(&of.contexts);
	return code;
}
