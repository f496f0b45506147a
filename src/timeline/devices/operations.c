/* SPDX-License-Identifier: Apache-2.0 */
/* Merges the streams of a device; annotations are left out, loops have their own time only. */
#include "operations.h"

#include "base/text.h"
#include "timeline/event_merge.h"
#include "format/measurement/measurement.h"
#include "frame/context_frame.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/*
 * Kernels that move data between devices: collectives of the vendors' libraries, of PyTorch's
 * symmetric memory, vLLM, FlashInfer, TensorRT-LLM, aiter and Transformer Engine, and DeepEP's
 * exchange of experts' tokens. Only the function's own name counts, not its template arguments and
 * parameters, because a reduction within a block may have such a type there.
 */
static bool is_communication(const char *name)
{
	static const char *const parts[] = {"ncclKernel",	 "ncclDevKernel", "ncclSymk",
					    "rcclGenericKernel", "nccl:",	  "oneccl",
					    "nvshmem",		 "cross_device_", "mscclKernel",
					    "multimem_",	 "_shot_all_",	  "::internode",
					    "::intranode",	 "userbuffers",	  "quickreduce"};
	/* in any of their spellings */
	static const char *const collectives[] = {"allreduce", "allgather", "reducescatter",
						  "alltoall", "all2all"};
	static const char unnamed[] = "(anonymous namespace)";
	char plain[200];
	size_t length = strcspn(name, "<("), used = 0;
	while (!strncmp(name + length, unnamed, sizeof(unnamed) - 1))
		length += 1 + strcspn(name + length + 1, "<(");
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (memmem(name, length, parts[i], strlen(parts[i])))
			return true;
	/* inductor names a kernel after the operators that it fuses, of which some only waited */
	if (sn_text_begins(name, "triton_"))
		return false;
	for (size_t i = 0; i < length && used + 1 < sizeof(plain); i++)
		if (name[i] != '_')
			plain[used++] = (char)tolower(name[i]);
	plain[used] = 0;
	for (size_t i = 0; i < sizeof(collectives) / sizeof(*collectives); i++)
		if (strstr(plain, collectives[i]))
			return true;
	return false;
}

static bool has_value(const struct sonde_db *db, uint32_t context, const char *metric)
{
	struct sonde_db_summary summary;
	uint32_t number = sonde_db_metric_by_name(db, metric);
	return number != SONDE_NONE && sonde_db_summary(db, context, number, &summary) &&
	       summary.exclusive.count > 0;
}

/* "jit_step/add.1" is add.1 of jit_step. */
static const char *instruction(const char *name)
{
	const char *slash = strrchr(name, '/');
	return slash ? slash + 1 : name;
}

/* An operation of a compiled program that a device runs by itself, such as a TPU: by the name of the
 * instruction. A "done" waits for what "start" began. */
static enum sn_device_work work_of_instruction(const char *name)
{
	static const struct {
		const char *begin;
		enum sn_device_work work;
	} known[] = {{"all-reduce", SN_WORK_COMMUNICATION},
		     {"all-gather", SN_WORK_COMMUNICATION},
		     {"all-to-all", SN_WORK_COMMUNICATION},
		     {"reduce-scatter", SN_WORK_COMMUNICATION},
		     {"ragged-all-to-all", SN_WORK_COMMUNICATION},
		     {"async-collective", SN_WORK_COMMUNICATION},
		     {"collective-", SN_WORK_COMMUNICATION},
		     {"send", SN_WORK_COMMUNICATION},
		     {"recv", SN_WORK_COMMUNICATION},
		     {"copy-start", SN_WORK_COPY},
		     {"copy-done", SN_WORK_COPY},
		     {"slice-start", SN_WORK_COPY},
		     {"slice-done", SN_WORK_COPY},
		     {"infeed", SN_WORK_COPY},
		     {"outfeed", SN_WORK_COPY}};
	name = instruction(name);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (sn_text_begins(name, known[i].begin))
			return known[i].work;
	return SN_WORK_COMPUTE;
}

enum sn_device_work sn_device_work(const struct sonde_db *db, uint32_t context)
{
	const struct sonde_db_frame *frame = sn_context_frame(db, context);
	if (frame->kind == SN_FRAME_GRAPH_NODE)
		return has_value(db, context, "kernel-time")
			   ? work_of_instruction(sonde_db_string(db, frame->name))
			   : SN_WORK_NONE;
	if (frame->kind == SN_FRAME_KERNEL)
		return is_communication(sonde_db_string(db, frame->name)) ? SN_WORK_COMMUNICATION
									  : SN_WORK_COMPUTE;
	if (frame->kind != SN_FRAME_GPU_OP)
		return SN_WORK_NONE;
	/* the last ones of each list are HPCToolkit's */
	static const char *const copies[] = {"copy-time", "map-time", "GXCOPY (sec)", "GXCOPY (s)"};
	static const char *const fills[] = {"fill-time", "graph-time", "GMSET (sec)", "GMSET (s)"};
	for (size_t i = 0; i < sizeof(copies) / sizeof(*copies); i++)
		if (has_value(db, context, copies[i]))
			return SN_WORK_COPY;
	for (size_t i = 0; i < sizeof(fills) / sizeof(*fills); i++)
		if (has_value(db, context, fills[i]))
			return SN_WORK_COMPUTE;
	return SN_WORK_NONE;
}

/* Whether the launch was recorded; importers put operations without one below a frame
 * of kind idle. */
static bool is_launched(const struct sonde_db *db, uint32_t context)
{
	return sn_context_frame(db, sonde_db_context(db, context)->parent)->kind != SN_FRAME_IDLE;
}

static bool may_contain(const struct sonde_db *db, uint32_t context)
{
	static const char *const names[] = {"while", "conditional", "call"};
	const struct sonde_db_frame *frame = sn_context_frame(db, context);
	const char *name = instruction(sonde_db_string(db, frame->name));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (frame->kind == SN_FRAME_GRAPH_NODE && sn_text_begins(name, names[i]))
			return true;
	return false;
}

/* What a loop or branch of a program that a device runs by itself is, beside enum sn_device_work: it
 * contains operations, and has only the time in which none of them runs. */
enum { CONTAINER = SN_WORK_NONE + 1 };

static void find_containers(struct sn_device_works *works)
{
	const struct sonde_db *db = works->db;
	for (uint32_t i = 1; i < sonde_db_context_count(db); i++) {
		uint32_t parent = sonde_db_context(db, i)->parent;
		if (sn_context_frame(db, i)->kind == SN_FRAME_GRAPH_NODE &&
		    sn_device_work(db, i) != SN_WORK_NONE && may_contain(db, parent))
			works->known[parent] =
			    1 + (works->launched_only && !is_launched(db, parent) ? SN_WORK_NONE
										  : CONTAINER);
	}
}

int sn_device_works_init(struct sn_device_works *works, const struct sonde_db *db,
			 bool launched_only)
{
	*works = (struct sn_device_works){db, launched_only,
					  calloc(sonde_db_context_count(db) + 1ull, 1)};
	if (!works->known)
		return SN_ERR_MEMORY;
	find_containers(works);
	return 0;
}

void sn_device_works_release(struct sn_device_works *works)
{
	free(works->known);
	works->known = NULL;
}

/* An enum sn_device_work, or CONTAINER. */
static unsigned work_of(const struct sn_device_works *works, uint32_t context)
{
	if (!works->known[context]) {
		bool counts = !works->launched_only || is_launched(works->db, context);
		works->known[context] =
		    (uint8_t)(1 + (counts ? sn_device_work(works->db, context) : SN_WORK_NONE));
	}
	return works->known[context] - 1u;
}

/* Loops within loops of which more is open than this have no own time. */
enum { OPEN_MAX = 16 };

struct sn_operations {
	const struct sonde_trace *trace;
	const struct sn_device_works *works;
	struct sn_event_merge *merge;
	struct sn_operation next; /* read, but not given yet */
	bool has_next, has_ended, is_container;
	struct sn_operation open[OPEN_MAX]; /* containers, the innermost last */
	unsigned open_count;
	uint64_t covered_ns; /* until then something ran, or was given */
};

struct sn_operations *sn_operations_new(const struct sonde_trace *trace,
					const struct sn_device_works *works, const uint32_t *tracks,
					size_t count, uint32_t profile)
{
	struct sn_operations *operations = malloc(sizeof(*operations));
	uint32_t *chosen = malloc((count + 1) * sizeof(*chosen));
	size_t chosen_count = 0;
	for (size_t i = 0; i < count && chosen; i++)
		if (profile == SONDE_NONE ||
		    sonde_trace_track(trace, tracks[i])->profile == profile)
			chosen[chosen_count++] = tracks[i];
	if (operations && chosen)
		*operations =
		    (struct sn_operations){.trace = trace,
					   .works = works,
					   .merge = sn_event_merge_new(trace, chosen, chosen_count,
								       SN_EVENT_WINDOW_ALL(0))};
	bool has_memory = operations && chosen && operations->merge;
	free(chosen);
	if (has_memory)
		return operations;
	free(operations);
	return NULL;
}

void sn_operations_free(struct sn_operations *operations)
{
	if (operations)
		sn_event_merge_free(operations->merge);
	free(operations);
}

/* Reads the next operation or container. 0 or a negative enum sn_err. */
static int read_next(struct sn_operations *operations, struct sn_error *error)
{
	struct sn_merged_event event;
	int result;
	while ((result = sn_event_merge_next(operations->merge, &event, error)) > 0) {
		unsigned work = work_of(operations->works, event.context);
		if (work == SN_WORK_NONE)
			continue;
		operations->is_container = work == CONTAINER;
		operations->next = (struct sn_operation){
		    .start_ns = event.start_ns,
		    .end_ns = event.end_ns,
		    .link = event.link,
		    .context = event.context,
		    .profile = sonde_trace_track(operations->trace, event.track)->profile,
		    .work = work == CONTAINER ? SN_WORK_COMPUTE : (enum sn_device_work)work,
		};
		operations->has_next = true;
		return 0;
	}
	operations->has_ended = true;
	return result;
}

/* A part of the innermost open container before time_ns in which nothing else runs. Containers that
 * have ended by then are closed. */
static bool take_own_time(struct sn_operations *operations, uint64_t time_ns,
			  struct sn_operation *operation)
{
	while (operations->open_count) {
		struct sn_operation *one = operations->open + operations->open_count - 1;
		uint64_t until = one->end_ns < time_ns ? one->end_ns : time_ns;
		if (operations->covered_ns < until) {
			*operation = *one;
			operation->start_ns = operations->covered_ns;
			operation->end_ns = operations->covered_ns = until;
			one->is_continued = true;
			return true;
		}
		if (one->end_ns > time_ns)
			return false;
		operations->open_count--;
	}
	return false;
}

int sn_operations_next(struct sn_operations *operations, struct sn_operation *operation,
		       struct sn_error *error)
{
	for (;;) {
		int result = operations->has_next || operations->has_ended
				 ? 0
				 : read_next(operations, error);
		const struct sn_operation *next = &operations->next;
		if (result)
			return result;
		if (take_own_time(operations, operations->has_next ? next->start_ns : UINT64_MAX,
				  operation))
			return 1;
		if (!operations->has_next)
			return 0;
		operations->has_next = false;
		uint64_t covers = operations->is_container ? next->start_ns : next->end_ns;
		if (covers > operations->covered_ns)
			operations->covered_ns = covers;
		if (!operations->is_container) {
			*operation = *next;
			return 1;
		}
		if (operations->open_count < OPEN_MAX)
			operations->open[operations->open_count++] = *next;
	}
}
