/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which launches samples are of, where CUPTI tells their kernel alone: kernels that run side by side are sampled together. Samples wait here,
 * counted by instruction and reason, until records tell which calls launched the kernel in that time and for how long it
 * ran. Then they are divided in proportion to that, in whole samples: none is lost or made.
 */
#include "pc_sampling.h"

#include "collect/core/hash.h"

#include <string.h>

#define SAMPLES (1u << 15)
#define KERNELS (1u << 12)
#define PLACES	(1u << 14)
#define NONE	UINT32_MAX
/* Records of more than come in one of CUPTI's buffers. */
#define RANGES	(1u << 13)

struct waiting {
	const char *kernel;
	struct sn_gpu_sample sample; /* count 0: the place is free */
};

/* A call that launches a kernel. */
struct place {
	struct sn_gpu_place at;	    /* state NULL: is free */
	uint64_t recent_ns, all_ns; /* that the kernel took since the last division, and ever */
	double owed;		    /* by rounding */
	uint32_t kernel;
	uint32_t next_of_kernel;
};

struct kernel {
	const char *name;
	bool is_used;
	uint32_t first; /* place */
	uint64_t recent_ns, all_ns;
};

static struct tables {
	struct waiting waiting[SAMPLES], kept[SAMPLES / 2]; /* kept: while they are divided */
	struct kernel kernels[KERNELS];
	struct place places[PLACES];
} * tables;
static uint32_t waiting_count, kernel_count, place_count;

/* ---- what is known ---- */

static bool have_tables(void)
{
	return SN_PAGES_ONCE(tables);
}

static uint64_t hash_of(const void *pointer, uint64_t more)
{
	return sn_hash_mix(sn_hash_mix((uintptr_t)pointer, more), more >> 32);
}

/* Its number; with `is_new` one that is not known gets one, if there is room: NONE. */
static uint32_t find_kernel(const char *name, bool is_new)
{
	uint64_t hash = hash_of(name, 0);
	for (;; hash++) {
		struct kernel *kernel = &tables->kernels[hash % KERNELS];
		if (kernel->is_used && kernel->name == name)
			return (uint32_t)(hash % KERNELS);
		if (kernel->is_used)
			continue;
		if (!is_new || kernel_count >= KERNELS / 4 * 3)
			return NONE;
		kernel_count++;
		*kernel = (struct kernel){.name = name, .is_used = true, .first = NONE};
		return (uint32_t)(hash % KERNELS);
	}
}

static struct place *find_place(uint32_t number, const struct sn_gpu_place *at)
{
	struct kernel *kernel = &tables->kernels[number];
	uint64_t hash =
	    hash_of(at->state, ((uint64_t)number << 32 | at->call) ^ at->graph_node << 20);
	for (;; hash++) {
		struct place *place = &tables->places[hash % PLACES];
		if (place->at.state && place->kernel == number && place->at.state == at->state &&
		    place->at.call == at->call && place->at.graph_node == at->graph_node)
			return place;
		if (place->at.state)
			continue;
		if (place_count >= PLACES / 4 * 3)
			return NULL;
		place_count++;
		*place =
		    (struct place){.at = *at, .kernel = number, .next_of_kernel = kernel->first};
		kernel->first = (uint32_t)(hash % PLACES);
		return place;
	}
}

void sn_cuda_samples_note_kernel(const char *name, const struct sn_gpu_place *at,
				 uint64_t duration_ns)
{
	uint32_t number = have_tables() ? find_kernel(name, true) : NONE;
	struct place *place = number == NONE ? NULL : find_place(number, at);
	if (!place)
		return;
	place->recent_ns += duration_ns;
	place->all_ns += duration_ns;
	tables->kernels[number].recent_ns += duration_ns;
	tables->kernels[number].all_ns += duration_ns;
}

/* ---- ranges: in which samples were taken ---- */

/* The last ones, each in its number's place. */
static struct {
	_Atomic uint64_t start_ns, end_ns;
} ranges[RANGES];
static _Atomic uint32_t range_count;

void sn_cuda_samples_note_range(bool begins, uint64_t ns)
{
	uint32_t count = range_count;
	if (!begins) {
		ranges[(count - 1) % RANGES].end_ns = ns;
		return;
	}
	ranges[count % RANGES].start_ns = ns;
	ranges[count % RANGES].end_ns = UINT64_MAX;
	range_count = count + 1;
}

static uint64_t least(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

uint64_t sn_cuda_samples_ns(uint64_t start_ns, uint64_t end_ns)
{
	uint64_t ns = 0;
	uint32_t count = range_count, oldest = count > RANGES ? count - RANGES : 0;
	if (!sn_config.gpu_samples_in)
		return end_ns - start_ns;
	for (uint32_t number = count; number > oldest; number--) {
		uint64_t begin_ns = ranges[(number - 1) % RANGES].start_ns,
			 stop_ns = ranges[(number - 1) % RANGES].end_ns;
		if (stop_ns <= start_ns)
			return ns;
		begin_ns = begin_ns > start_ns ? begin_ns : start_ns;
		stop_ns = least(stop_ns, end_ns);
		ns += stop_ns > begin_ns ? stop_ns - begin_ns : 0;
	}
	/* before what is known: as if all of it had been sampled */
	return oldest ? end_ns - start_ns : ns;
}

/* ---- dividing ---- */

static void give(const char *kernel, const struct sn_gpu_place *at,
		 const struct sn_gpu_sample *sample, uint64_t count)
{
	struct sn_gpu_operation operation = {
	    .interface = &sn_cuda, .name = kernel, .sample = *sample};
	operation.sample.count = count;
	if (count)
		sn_gpu_sampled(at, &operation);
}

static void give_to_nobody(const char *kernel, const struct sn_gpu_sample *sample)
{
	struct sn_gpu_place at = {.state = sn_gpu_any_thread(), .call = SN_NODE_ROOT};
	if (at.state)
		give(kernel, &at, sample, sample->count);
	else
		sn_drop(NULL, SN_DROP_GPU_SAMPLE_LOST, sample->count);
}

static struct place *most_owed(const struct kernel *kernel)
{
	struct place *most = &tables->places[kernel->first];
	for (uint32_t at = kernel->first; at != NONE; at = tables->places[at].next_of_kernel)
		if (tables->places[at].owed > most->owed)
			most = &tables->places[at];
	return most;
}

/* Each call gets its share in whole samples; what rounding owes it counts at the next division. */
static void divide(const struct kernel *kernel, const struct sn_gpu_sample *sample)
{
	uint64_t left = sample->count, whole_ns = kernel->recent_ns;
	bool is_recent = whole_ns;
	if (!is_recent)
		whole_ns = kernel->all_ns;
	for (uint32_t at = kernel->first; at != NONE; at = tables->places[at].next_of_kernel) {
		struct place *place = &tables->places[at];
		uint64_t ns = is_recent ? place->recent_ns : place->all_ns;
		place->owed += (double)sample->count * ((double)ns / (double)whole_ns);
		uint64_t part = place->owed > 0 ? (uint64_t)place->owed : 0;
		part = part < left ? part : left;
		place->owed -= (double)part;
		left -= part;
		give(kernel->name, &place->at, sample, part);
	}
	while (left) {
		struct place *place = most_owed(kernel);
		place->owed -= 1;
		left--;
		give(kernel->name, &place->at, sample, 1);
	}
}

/* Samples of a kernel whose records have not come yet wait. True where it is done with. */
static bool settle(const struct waiting *waiting, bool is_end)
{
	uint32_t number = find_kernel(waiting->kernel, false);
	const struct kernel *kernel = number == NONE ? NULL : &tables->kernels[number];
	if (kernel && (kernel->recent_ns || (is_end && kernel->all_ns)))
		divide(kernel, &waiting->sample);
	else if (is_end)
		give_to_nobody(waiting->kernel, &waiting->sample);
	else
		return false;
	return true;
}

static void forget_recent(struct kernel *kernel)
{
	kernel->recent_ns = 0;
	for (uint32_t at = kernel->first; at != NONE; at = tables->places[at].next_of_kernel)
		tables->places[at].recent_ns = 0;
}

static void wait_for(const char *kernel, const struct sn_gpu_sample *sample);

void sn_cuda_samples_divide(bool is_end)
{
	uint32_t kept_count = 0;
	if (!tables || !waiting_count)
		return;
	struct waiting *kept = tables->kept;
	for (uint32_t at = 0; at < SAMPLES; at++) {
		struct waiting *waiting = &tables->waiting[at];
		if (waiting->sample.count && !settle(waiting, is_end))
			kept[kept_count++] = *waiting;
		waiting->sample.count = 0;
	}
	waiting_count = 0;
	for (uint32_t number = 0; number < KERNELS; number++)
		if (tables->kernels[number].is_used)
			forget_recent(&tables->kernels[number]);
	for (uint32_t at = 0; at < kept_count; at++)
		wait_for(kept[at].kernel, &kept[at].sample);
}

/* ---- waiting ---- */

static bool is_same(const struct waiting *waiting, const char *kernel,
		    const struct sn_gpu_sample *sample)
{
	return waiting->kernel == kernel && waiting->sample.address == sample->address &&
	       waiting->sample.module == sample->module && waiting->sample.reason == sample->reason;
}

static void wait_for(const char *kernel, const struct sn_gpu_sample *sample)
{
	uint64_t hash =
	    hash_of(kernel, sample->address << 16 ^ (uint64_t)sample->module << 8 ^ sample->reason);
	for (;; hash++) {
		struct waiting *waiting = &tables->waiting[hash % SAMPLES];
		if (!waiting->sample.count) {
			*waiting = (struct waiting){kernel, *sample};
			waiting_count++;
			return;
		}
		if (is_same(waiting, kernel, sample)) {
			waiting->sample.count += sample->count;
			return;
		}
	}
}

void sn_cuda_samples_of_kernel(const char *kernel, const struct sn_gpu_sample *sample)
{
	if (!have_tables()) {
		sn_drop(NULL, SN_DROP_GPU_SAMPLE_LOST, sample->count);
		return;
	}
	/* where too much waits, what has no records yet is of no known launch */
	if (waiting_count >= SAMPLES / 2 - 1)
		sn_cuda_samples_divide(false);
	if (waiting_count >= SAMPLES / 2 - 1)
		sn_cuda_samples_divide(true);
	wait_for(kernel, sample);
}

void sn_cuda_samples_forget(void)
{
	if (tables)
		memset(tables, 0, sizeof(*tables));
	waiting_count = kernel_count = place_count = 0;
	range_count = 0;
}
