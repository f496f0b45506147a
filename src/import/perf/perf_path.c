/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the addresses of a sample to a node of the tree: kernel frames by name, the program's frames
 * by module and offset.
 */
#include "perf.h"
#include "perf_unwind.h"

#define DEPTH_MAX 1024

/* An address and the mode in which it was executed, a PERF_RECORD_MISC_CPUMODE. */
struct step {
	uint64_t address;
	unsigned mode;
	bool is_return;
};

/* The mode that a mark between the addresses of a chain stands for; 0 if it is unknown. */
static unsigned mode_of_mark(uint64_t entry)
{
	switch (entry) {
	case PERF_CONTEXT_HV:
		return PERF_RECORD_MISC_HYPERVISOR;
	case PERF_CONTEXT_KERNEL:
		return PERF_RECORD_MISC_KERNEL;
	case PERF_CONTEXT_USER:
		return PERF_RECORD_MISC_USER;
	case PERF_CONTEXT_GUEST:
	case PERF_CONTEXT_GUEST_KERNEL:
		return PERF_RECORD_MISC_GUEST_KERNEL;
	case PERF_CONTEXT_GUEST_USER:
		return PERF_RECORD_MISC_GUEST_USER;
	default:
		return PERF_RECORD_MISC_CPUMODE_UNKNOWN;
	}
}

/* Reads the recorded chain, innermost first. The first address of each mode is where it was
 * interrupted, not a return address. If there is a copy of the user stack, only the kernel's part
 * of the chain is used. */
static size_t read_chain(struct sn_perf *perf, const struct sn_perf_raw *record,
			 const struct sn_perf_sample *sample, struct step *steps)
{
	unsigned mode = record->header.misc & PERF_RECORD_MISC_CPUMODE_MASK;
	bool is_return = false;
	size_t count = 0;
	for (uint64_t i = 0; i < sample->chain_count; i++) {
		uint64_t entry = sn_perf_chain(sample, i);
		if (entry >= (uint64_t)PERF_CONTEXT_MAX) {
			mode = mode_of_mark(entry);
			is_return = false;
			continue;
		}
		if (sample->has_stack && mode == PERF_RECORD_MISC_USER)
			continue;
		if (count == DEPTH_MAX) {
			perf->too_deep++;
			break;
		}
		steps[count++] = (struct step){entry, mode, is_return};
		is_return = true;
	}
	return count;
}

/* Unwinds the user's part of the path from the copy of the stack. */
static size_t unwind_stack(struct sn_perf *perf, const struct sn_perf_sample *sample,
			   struct step *steps, size_t room, bool *is_complete)
{
	struct sn_recorded_frame frames[DEPTH_MAX];
	struct sn_perf_moment when = {sample->time_ns, perf->order};
	uint64_t mask = perf->file->events[sample->event].attr.sample_regs_user;
	size_t count;
	enum sn_recorded_end end =
	    sn_perf_unwind(&perf->space, sample, mask, when, frames, room, &count);
	*is_complete = end == SN_RECORDED_WHOLE;
	perf->unwound_not += end == SN_RECORDED_CUT;
	perf->too_deep += end == SN_RECORDED_TOO_DEEP;
	for (size_t i = 0; i < count; i++)
		steps[i] =
		    (struct step){frames[i].address, PERF_RECORD_MISC_USER, frames[i].is_return};
	return count;
}

static size_t collect(struct sn_perf *perf, const struct sn_perf_raw *record,
		      const struct sn_perf_sample *sample, struct step *steps, bool *is_complete)
{
	size_t count = read_chain(perf, record, sample, steps);
	*is_complete = false;
	if (sample->has_stack)
		count += unwind_stack(perf, sample, steps + count, DEPTH_MAX - count, is_complete);
	if (!count)
		steps[count++] = (struct step){
		    sample->ip, record->header.misc & PERF_RECORD_MISC_CPUMODE_MASK, false};
	return count;
}

static uint32_t add(struct sn_perf *perf, uint32_t parent, const struct sn_frame *frame)
{
	struct sn_merged_node node = {parent,
				      sn_intern_add(&perf->merge.frames, frame, sizeof(*frame))};
	if (node.frame == SN_INTERN_NONE || parent == SN_NODE_NONE)
		return SN_NODE_NONE;
	return sn_nodes_add(&perf->merge.nodes, node);
}

uint32_t sn_perf_named_node(struct sn_perf *perf, uint32_t parent, unsigned kind, const char *name)
{
	struct sn_frame frame = {.kind = (uint8_t)kind,
				 .id = sn_db_builder_string(perf->builder, name)};
	return add(perf, parent, &frame);
}

static uint32_t add_step(struct sn_perf *perf, uint32_t parent, const struct sn_perf_sample *sample,
			 const struct step *step)
{
	const struct sn_kallsym *function;
	struct sn_frame frame;
	switch (step->mode) {
	case PERF_RECORD_MISC_KERNEL:
		function = sn_kallsyms_find(&perf->kernel, step->address - step->is_return);
		return sn_perf_named_node(perf, parent, SN_FRAME_OS,
					  function ? sn_kallsyms_name(&perf->kernel, function->name)
						   : "[kernel]");
	case PERF_RECORD_MISC_USER:
	case PERF_RECORD_MISC_CPUMODE_UNKNOWN:
		if (sn_perf_space_find(&perf->space, sample->pid,
				       (struct sn_perf_moment){sample->time_ns, perf->order},
				       step->address, &frame))
			return SN_NODE_NONE;
		frame.flags = step->is_return ? SN_FRAME_RETURN_ADDRESS : 0;
		return add(perf, parent, &frame);
	case PERF_RECORD_MISC_HYPERVISOR:
		return sn_perf_named_node(perf, parent, SN_FRAME_OS, "[hypervisor]");
	default:
		return sn_perf_named_node(perf, parent, SN_FRAME_OS, "[guest]");
	}
}

/* ---- Python ---- */

struct joining {
	enum sn_python_part parts[DEPTH_MAX]; /* of the steps */
	struct sn_numbered_frame frames[SN_PERF_PYTHON_MOST];
	struct sn_joined joined[DEPTH_MAX + SN_PERF_PYTHON_MOST];
};

static void find_parts(struct sn_perf *perf, const struct sn_perf_sample *sample,
		       const struct step *steps, size_t count, enum sn_python_part *parts)
{
	struct sn_perf_moment when = {sample->time_ns, perf->order};
	for (size_t i = 0; i < count; i++)
		parts[i] = steps[i].mode == PERF_RECORD_MISC_USER
			       ? sn_perf_python_part(&perf->python, sample->pid, when,
						     steps[i].address - steps[i].is_return)
			       : SN_PYTHON_PART_OTHER;
}

/* Joins the path with the thread's Python frames; 0: it stands alone. */
static size_t join(struct sn_perf *perf, const struct sn_perf_sample *sample,
		   const struct step *steps, size_t count, bool is_complete,
		   struct joining *joining)
{
	struct sn_python_paths paths = {joining->parts, count, is_complete, joining->frames, 0};
	paths.frame_count =
	    sn_perf_python_frames(&perf->python, sample->tid, sample->time_ns, joining->frames);
	if (!paths.frame_count)
		return 0;
	find_parts(perf, sample, steps, count, joining->parts);
	return sn_python_join(&paths, joining->joined);
}

static uint32_t add_python(struct sn_perf *perf, uint32_t parent,
			   const struct sn_numbered_frame *python)
{
	struct sn_frame frame = {
	    .kind = SN_FRAME_PYTHON, .id = python->code, .value = python->line};
	return add(perf, parent, &frame);
}

uint32_t sn_perf_path(struct sn_perf *perf, const struct sn_perf_raw *record,
		      const struct sn_perf_sample *sample)
{
	struct step steps[DEPTH_MAX];
	struct joining joining; /* large, and mostly not needed */
	bool is_complete;
	size_t count = collect(perf, record, sample, steps, &is_complete);
	size_t both = join(perf, sample, steps, count, is_complete, &joining);
	uint32_t node = 0;
	for (size_t i = 0; i < both && node != SN_NODE_NONE; i++) {
		const struct sn_joined *one = &joining.joined[i];
		node = one->is_python ? add_python(perf, node, &joining.frames[one->number])
				      : add_step(perf, node, sample, steps + one->number);
	}
	for (size_t i = both ? 0 : count; i-- && node != SN_NODE_NONE;)
		node = add_step(perf, node, sample, steps + i);
	return node;
}
