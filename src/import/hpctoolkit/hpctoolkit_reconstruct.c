/* SPDX-License-Identifier: Apache-2.0 */
/* See hpctoolkit_reconstruct.h. */
#include "hpctoolkit_reconstruct.h"

#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

void sn_hpct_reconstructions_release(struct sn_hpct_reconstructions *reconstructions)
{
	for (size_t i = 0; i < reconstructions->count; i++)
		free(reconstructions->all[i].entries);
	free(reconstructions->all);
	sn_intern_release(&reconstructions->keys);
}

void sn_hpct_thread_release(struct sn_hpct_thread *thread)
{
	for (size_t i = 0; i < thread->group_count; i++) {
		sn_sums_release(&thread->groups[i].launches);
		sn_sums_release(&thread->groups[i].samples);
		free(thread->groups[i].roots);
		sn_intern_release(&thread->groups[i].graphs);
	}
	free(thread->groups);
	sn_intern_release(&thread->group_ids);
	sn_sums_release(&thread->values);
	sn_sums_release(&thread->samples);
	*thread = (struct sn_hpct_thread){0};
}

/* From the root through the function that begins the way and the calls on it to the address. */
static uint32_t make_way(struct sn_hpct_reconstructions *reconstructions,
			 const struct sn_hpct_graph *graph, const struct sn_hpct_way *way,
			 uint32_t root)
{
	struct sn_hpct_code *code = reconstructions->graphs->code;
	uint32_t context = root;
	for (uint32_t i = 0; i < way->call_count; i++)
		context = sn_hpct_code_place(code, context, graph->module,
					     graph->calls[way->calls[i]].address)
			      .full;
	return sn_hpct_code_place(code, context, graph->module, graph->address).full;
}

static int instantiate(struct sn_hpct_reconstructions *reconstructions, size_t number)
{
	struct sn_hpct_reconstruction *made = reconstructions->all + number;
	const struct sn_hpct_graph *graph = reconstructions->graphs->graphs + made->graph;
	made->entries =
	    calloc(2 * (size_t)graph->way_count + graph->call_count + 1, sizeof(*made->entries));
	if (!made->entries)
		return SN_ERR_MEMORY;
	made->finals = made->entries + graph->way_count;
	made->calls = made->finals + graph->way_count;
	for (uint32_t i = 0; i < graph->way_count; i++) {
		made->entries[i] =
		    sn_hpct_code_function(reconstructions->graphs->code, made->root, SN_HPCT_CALLED,
					  graph->module, graph->ways[i].entry);
		made->finals[i] = make_way(reconstructions, graph, graph->ways + i, made->root);
	}
	return 0;
}

/* 1 where it is new. */
static int find_or_add(struct sn_hpct_reconstructions *reconstructions, uint32_t graph,
		       uint32_t root, uint32_t *number)
{
	uint32_t key[2] = {graph, root};
	*number = sn_intern_add(&reconstructions->keys, key, sizeof(key));
	if (*number == SN_INTERN_NONE ||
	    sn_vec_reserve(&reconstructions->all, &reconstructions->capacity, (size_t)*number + 1) <
		0)
		return SN_ERR_MEMORY;
	if (*number < reconstructions->count)
		return 0;
	reconstructions->all[reconstructions->count++] =
	    (struct sn_hpct_reconstruction){.graph = graph, .root = root};
	return instantiate(reconstructions, *number) < 0 ? SN_ERR_MEMORY : 1;
}

int sn_hpct_reconstruct(struct sn_hpct_reconstructions *reconstructions, uint32_t graph,
			uint32_t root, uint32_t *reconstruction)
{
	size_t first = reconstructions->count;
	int code = find_or_add(reconstructions, graph, root, reconstruction);
	for (size_t i = first; code >= 0 && i < reconstructions->count; i++) {
		const struct sn_hpct_graph *of =
		    reconstructions->graphs->graphs + reconstructions->all[i].graph;
		for (uint32_t c = 0; code >= 0 && c < of->call_count; c++) {
			uint32_t call;
			code = find_or_add(reconstructions, of->calls[c].graph, root, &call);
			reconstructions->all[i].calls[c] = call;
		}
	}
	return code < 0 ? SN_ERR_MEMORY : 0;
}

struct sn_hpct_group *sn_hpct_thread_group(struct sn_hpct_thread *thread, uint64_t id)
{
	uint32_t number = sn_intern_add(&thread->group_ids, &id, sizeof(id));
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&thread->groups, &thread->group_capacity, (size_t)number + 1) < 0)
		return NULL;
	if (number == thread->group_count)
		thread->groups[thread->group_count++] = (struct sn_hpct_group){.id = id};
	return thread->groups + number;
}

int sn_hpct_group_launch(struct sn_hpct_group *group, struct sn_hpct_launch launch)
{
	for (size_t i = 0; i < group->root_count; i++)
		if (group->roots[i].root == launch.root &&
		    group->roots[i].module == launch.module &&
		    group->roots[i].function == launch.function)
			return 0;
	if (sn_vec_reserve(&group->roots, &group->root_capacity, group->root_count + 1) < 0)
		return SN_ERR_MEMORY;
	group->roots[group->root_count++] = launch;
	return 0;
}

int sn_hpct_group_graph(struct sn_hpct_group *group, uint32_t graph)
{
	return sn_intern_add(&group->graphs, &graph, sizeof(graph)) == SN_INTERN_NONE
		   ? SN_ERR_MEMORY
		   : 0;
}

static double value_of(const struct sn_sums *sums, uint32_t major, uint32_t minor)
{
	const struct sn_sum *sum = minor == SONDE_NONE ? NULL : sn_sums_find(sums, major, minor);
	return sum ? sum->value : 0;
}

/* Ways first .. end - 1 end with the same `depth` calls, and have `factor` between them. */
struct share {
	uint32_t first, end, depth;
	double factor;
};

struct sharing {
	const struct sn_hpct_graph *graph;
	const double *weights;	/* of the graph's calls */
	const bool *is_entered; /* by way */
	double *factors;	/* by way: the result */
	struct share *shares;
	size_t count, capacity;
};

static uint32_t call_at(const struct sharing *sharing, uint32_t way, uint32_t depth)
{
	const struct sn_hpct_way *found = sharing->graph->ways + way;
	return found->calls[found->call_count - 1 - depth];
}

/* Done where ways do not go on, or where one is left; else to be divided further. */
static void settle(struct sharing *sharing, const struct share *share)
{
	const struct sn_hpct_way *first = sharing->graph->ways + share->first;
	if (share->factor == 0 || first->call_count == share->depth ||
	    share->end - share->first == 1) {
		for (uint32_t way = share->first; way < share->end; way++)
			if (sharing->is_entered[way])
				sharing->factors[way] = share->factor;
	} else {
		sharing->shares[sharing->count++] = *share;
	}
}

/* Divides ways by the next call outwards; in `parts` there is room for one part a way. */
static void divide(struct sharing *sharing, struct share share, struct share *parts)
{
	uint32_t count = 0;
	double total = 0;
	for (uint32_t way = share.first; way < share.end; way++) {
		if (!sharing->is_entered[way] ||
		    sharing->graph->ways[way].call_count <= share.depth)
			continue;
		uint32_t call = call_at(sharing, way, share.depth);
		if (count && call_at(sharing, parts[count - 1].first, share.depth) == call) {
			parts[count - 1].end = way + 1;
			continue;
		}
		double weight = sharing->weights[call];
		parts[count++] = (struct share){way, way + 1, share.depth + 1, weight};
		total += weight;
	}
	for (uint32_t i = 0; i < count; i++) {
		parts[i].factor = total > 0 ? share.factor * parts[i].factor / total
					    : share.factor / (double)count;
		settle(sharing, parts + i);
	}
}

/* The part of a sample each way gets, of the ways that were entered. */
static int share_out(struct sharing *sharing)
{
	uint32_t way_count = sharing->graph->way_count, entered = 0, last = 0;
	for (uint32_t way = 0; way < way_count; way++) {
		sharing->factors[way] = 0;
		if (sharing->is_entered[way]) {
			entered++;
			last = way;
		}
	}
	if (entered <= 1) {
		if (entered == 1)
			sharing->factors[last] = 1;
		return 0;
	}
	struct share *room = malloc(2 * (size_t)way_count * sizeof(*room));
	if (!room)
		return SN_ERR_MEMORY;
	sharing->shares = room;
	sharing->count = 0;
	sharing->shares[sharing->count++] = (struct share){0, way_count, 0, 1};
	/* what is waiting never has more ways than there are, so it fits into half the room */
	while (sharing->count) {
		struct share share = sharing->shares[--sharing->count];
		divide(sharing, share, room + way_count);
	}
	free(room);
	return 0;
}

/* Launches measured over launches sampled, by way; 0 where the kernel was not launched. */
static void scale(const struct sn_hpct_reconstructions *all,
		  const struct sn_hpct_reconstruction *of, const struct sn_sums *values,
		  const struct sn_intern *contexts, double *factors)
{
	uint32_t way_count = all->graphs->graphs[of->graph].way_count;
	bool has_both[2] = {false, false};
	for (uint32_t way = 0; way < way_count; way++) {
		has_both[0] =
		    has_both[0] || (all->launches != SONDE_NONE &&
				    sn_sums_find(values, of->entries[way], all->launches));
		has_both[1] =
		    has_both[1] || (all->sampled_launches != SONDE_NONE &&
				    sn_sums_find(values, of->entries[way], all->sampled_launches));
	}
	for (uint32_t way = 0; way < way_count; way++) {
		uint32_t entry = of->entries[way];
		double launches = value_of(values, entry, all->launches);
		double sampled = value_of(values, entry, all->sampled_launches);
		if (sn_intern_find(contexts, &entry, sizeof(entry)) == SN_INTERN_NONE)
			factors[way] = 0;
		else if (!has_both[0] || !has_both[1])
			factors[way] = 1;
		else
			factors[way] = sampled != 0 ? launches / sampled : 0;
	}
}

/* Space for the computations on one graph. */
struct room {
	double *scales, *shares, *weights, *exterior;
	bool *is_entered;
};

static int room_init(struct room *room, const struct sn_hpct_graph *graph)
{
	size_t ways = graph->way_count;
	room->scales = calloc(3 * ways + graph->call_count + 1, sizeof(double));
	room->is_entered = calloc(ways + 1, sizeof(bool));
	room->shares = room->scales + ways;
	room->exterior = room->shares + ways;
	room->weights = room->exterior + ways;
	if (room->scales && room->is_entered)
		return 0;
	free(room->scales);
	free(room->is_entered);
	return SN_ERR_MEMORY;
}

static void room_release(struct room *room)
{
	free(room->scales);
	free(room->is_entered);
}

static int compare_major(const void *left, const void *right)
{
	const struct sn_sum *a = left, *b = right;
	if (a->major != b->major)
		return a->major < b->major ? -1 : 1;
	return (a->minor > b->minor) - (a->minor < b->minor);
}

/* A copy of the entries, by major and minor; NULL without memory. */
static struct sn_sum *sorted(const struct sn_sums *sums)
{
	struct sn_sum *copy = malloc((sums->count + 1) * sizeof(*copy));
	if (copy && sums->count) {
		memcpy(copy, sums->entries, sums->count * sizeof(*copy));
		qsort(copy, sums->count, sizeof(*copy), compare_major);
	}
	return copy;
}

static int give(struct sn_sums *output, const uint32_t *finals, const double *factors,
		uint32_t way_count, const struct sn_sum *sum)
{
	for (uint32_t way = 0; way < way_count; way++) {
		double value = factors[way] * sum->value;
		if (value != 0 && sn_sums_add(output, finals[way], sum->minor, value) < 0)
			return SN_ERR_MEMORY;
	}
	return 0;
}

/* The factors of one reconstruction from this thread's own launches and samples. */
static int own_factors(const struct sn_hpct_thread *thread, const struct sn_intern *contexts,
		       const struct sn_hpct_reconstructions *all,
		       const struct sn_hpct_reconstruction *of, struct room *room)
{
	const struct sn_hpct_graph *graph = all->graphs->graphs + of->graph;
	scale(all, of, &thread->values, contexts, room->scales);
	for (uint32_t way = 0; way < graph->way_count; way++)
		room->is_entered[way] = room->scales[way] != 0;
	for (uint32_t call = 0; call < graph->call_count; call++)
		room->weights[call] = value_of(&thread->samples, of->calls[call], all->samples);
	struct sharing sharing = {graph, room->weights, room->is_entered, room->shares, NULL, 0, 0};
	int code = share_out(&sharing);
	for (uint32_t way = 0; way < graph->way_count; way++)
		room->shares[way] *= room->scales[way];
	return code;
}

static int finish_samples(struct sn_hpct_thread *thread, const struct sn_intern *contexts,
			  const struct sn_hpct_reconstructions *all, struct sn_sums *output)
{
	struct sn_sum *sums = sorted(&thread->samples);
	int code = sums ? 0 : SN_ERR_MEMORY;
	for (size_t i = 0, next; code == 0 && i < thread->samples.count; i = next) {
		const struct sn_hpct_reconstruction *of = all->all + sums[i].major;
		const struct sn_hpct_graph *graph = all->graphs->graphs + of->graph;
		struct room room;
		code = room_init(&room, graph);
		if (code == 0)
			code = own_factors(thread, contexts, all, of, &room);
		for (next = i; next < thread->samples.count && sums[next].major == sums[i].major;
		     next++)
			if (code == 0)
				code = give(output, of->finals, room.shares, graph->way_count,
					    sums + next);
		room_release(&room);
	}
	free(sums);
	return code;
}

static bool begins_at(const struct sn_hpct_graph *graph, const struct sn_hpct_launch *launch)
{
	for (uint32_t way = 0; way < graph->way_count; way++)
		if (graph->module == launch->module && graph->ways[way].entry == launch->function)
			return true;
	return false;
}

/* The reconstructions of a graph below the launches of a group, each once; from malloc. */
static int group_reconstructions(struct sn_hpct_reconstructions *all,
				 const struct sn_hpct_group *group, uint32_t graph,
				 uint32_t **numbers, size_t *count)
{
	*count = 0;
	*numbers = malloc((group->root_count + 1) * sizeof(**numbers));
	if (!*numbers)
		return SN_ERR_MEMORY;
	for (size_t i = 0; i < group->root_count; i++) {
		uint32_t number;
		bool is_there = false;
		if (!begins_at(all->graphs->graphs + graph, group->roots + i))
			continue;
		if (sn_hpct_reconstruct(all, graph, group->roots[i].root, &number) != 0)
			return SN_ERR_MEMORY;
		for (size_t k = 0; k < *count; k++)
			is_there = is_there || (*numbers)[k] == number;
		if (!is_there)
			(*numbers)[(*count)++] = number;
	}
	return 0;
}

/* What is launched in a group is counted by the sampled launches, else by all. */
static uint32_t group_metric(const struct sn_hpct_reconstructions *all,
			     const struct sn_hpct_group *group, const uint32_t *numbers,
			     size_t count)
{
	const uint32_t metrics[] = {all->sampled_launches, all->launches};
	for (int m = 0; m < 2; m++) {
		for (size_t i = 0; i < count && metrics[m] != SONDE_NONE; i++) {
			const struct sn_hpct_reconstruction *of = all->all + numbers[i];
			uint32_t ways = all->graphs->graphs[of->graph].way_count;
			for (uint32_t way = 0; way < ways; way++)
				if (sn_sums_find(&group->launches, of->entries[way], metrics[m]))
					return metrics[m];
		}
	}
	return SONDE_NONE;
}

/* By way: launches of its kernel in the group, from all roots. Two ways of one entry context count
 * it once. */
static double entry_total(const struct sn_hpct_reconstructions *all,
			  const struct sn_hpct_group *group, const uint32_t *numbers, size_t count,
			  uint32_t way, uint32_t metric)
{
	double total = 0;
	for (size_t i = 0; i < count; i++)
		total += value_of(&group->launches, all->all[numbers[i]].entries[way], metric);
	return total;
}

struct group_work {
	const struct sn_hpct_reconstructions *all;
	const struct sn_hpct_group *group;
	const struct sn_sums *launches;	  /* of all groups */
	const struct sn_intern *contexts; /* in them */
	uint32_t graph;
	const uint32_t *numbers;
	size_t count;
	struct sn_sums *output;
};

static int finish_reconstruction(const struct group_work *work, const struct sn_sum *sums,
				 size_t sum_count, size_t number, uint32_t metric,
				 struct room *room)
{
	const struct sn_hpct_reconstructions *all = work->all;
	const struct sn_hpct_reconstruction *of = all->all + work->numbers[number];
	const struct sn_hpct_graph *graph = all->graphs->graphs + work->graph;
	int code = 0;
	scale(all, of, work->launches, work->contexts, room->scales);
	for (uint32_t way = 0; way < graph->way_count; way++) {
		double total =
		    entry_total(all, work->group, work->numbers, work->count, way, metric);
		double own = value_of(&work->group->launches, of->entries[way], metric);
		room->exterior[way] =
		    total != 0 ? own / total * room->shares[way] * room->scales[way] : 0;
	}
	for (size_t i = 0; i < sum_count && code == 0; i++)
		code = give(work->output, of->finals, room->exterior, graph->way_count, sums + i);
	return code;
}

static int finish_graph(const struct group_work *work, const struct sn_sum *sums, size_t sum_count,
			uint32_t metric)
{
	const struct sn_hpct_graph *graph = work->all->graphs->graphs + work->graph;
	struct room room;
	int code = room_init(&room, graph);
	if (code != 0)
		return code;
	for (uint32_t way = 0; way < graph->way_count; way++)
		room.is_entered[way] = entry_total(work->all, work->group, work->numbers,
						   work->count, way, metric) != 0;
	for (uint32_t call = 0; call < graph->call_count; call++)
		room.weights[call] =
		    value_of(&work->group->samples, graph->calls[call].graph, work->all->samples);
	struct sharing sharing = {graph, room.weights, room.is_entered, room.shares, NULL, 0, 0};
	code = share_out(&sharing);
	for (size_t i = 0; i < work->count && code == 0; i++)
		code = finish_reconstruction(work, sums, sum_count, i, metric, &room);
	room_release(&room);
	return code;
}

static int finish_group(struct sn_hpct_thread *thread, const struct sn_hpct_group *group,
			struct sn_hpct_reconstructions *all, struct group_work *work)
{
	struct sn_sum *sums = sorted(&group->samples);
	int code = sums ? 0 : SN_ERR_MEMORY;
	work->group = group;
	for (uint32_t g = 0; code == 0 && g < group->graphs.count; g++) {
		uint32_t *numbers;
		size_t first = 0, end;
		work->graph = *(const uint32_t *)sn_intern_at(&group->graphs, g, NULL);
		while (first < group->samples.count && sums[first].major != work->graph)
			first++;
		for (end = first; end < group->samples.count && sums[end].major == work->graph;)
			end++;
		code = group_reconstructions(all, group, work->graph, &numbers, &work->count);
		work->numbers = numbers;
		uint32_t metric =
		    code == 0 ? group_metric(all, group, numbers, work->count) : SONDE_NONE;
		if (code == 0 && metric != SONDE_NONE)
			code = finish_graph(work, sums + first, end - first, metric);
		else
			thread->lost += end - first;
		free(numbers);
	}
	free(sums);
	return code;
}

/* Adds what each entry of `from` counts, and notes its context. */
static int merge(struct sn_sums *into, struct sn_intern *contexts, const struct sn_sums *from)
{
	for (size_t i = 0; i < from->count; i++) {
		const struct sn_sum *sum = from->entries + i;
		if (into && sn_sums_add(into, sum->major, sum->minor, sum->value) < 0)
			return SN_ERR_MEMORY;
		if (contexts &&
		    sn_intern_add(contexts, &sum->major, sizeof(sum->major)) == SN_INTERN_NONE)
			return SN_ERR_MEMORY;
	}
	return 0;
}

static int finish_groups(struct sn_hpct_thread *thread, struct sn_hpct_reconstructions *all,
			 struct sn_sums *output)
{
	struct sn_sums launches = {0};
	struct sn_intern contexts = {0};
	int code = 0;
	for (size_t i = 0; code == 0 && i < thread->group_count; i++) {
		code = merge(&launches, &contexts, &thread->groups[i].launches);
		if (code == 0)
			code = merge(&thread->values, NULL, &thread->groups[i].launches);
	}
	struct group_work work = {
	    .all = all, .launches = &launches, .contexts = &contexts, .output = output};
	for (size_t i = 0; code == 0 && i < thread->group_count; i++)
		code = finish_group(thread, thread->groups + i, all, &work);
	sn_sums_release(&launches);
	sn_intern_release(&contexts);
	return code;
}

int sn_hpct_thread_finish(struct sn_hpct_thread *thread,
			  struct sn_hpct_reconstructions *reconstructions)
{
	struct sn_sums output = {0};
	struct sn_intern contexts = {0};
	int code = 0;
	if (thread->samples.count) {
		code = merge(NULL, &contexts, &thread->values);
		if (code == 0)
			code = finish_samples(thread, &contexts, reconstructions, &output);
	}
	if (code == 0 && thread->group_count)
		code = finish_groups(thread, reconstructions, &output);
	if (code == 0)
		code = merge(&thread->values, NULL, &output);
	sn_sums_release(&output);
	sn_intern_release(&contexts);
	return code;
}
