/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether CUPTI's records can be right: the first kernels of a process are compared with their launches. A release whose records lie
 * otherwise, or a clock that is not what it seems, is found so at the beginning, and what is measured is less and true.
 */
#include "cuda.h"

/* As many launches are kept with their times, and as many records are looked at. */
#define LAUNCHES       256u
/* Kernels of graphs cannot be compared: after so many the check ends as well. */
#define MOST_LOOKED_AT 4096u
/* How far a device's clock may be off. */
#define SLACK_NS       1000000u
/* So many records without a launch, and none with one, are no accident. */
#define MANY_UNKNOWN   32u
/* A kernel's record is no longer, in any release. */
#define MOST_BYTES     1024u

static struct {
	_Atomic uint32_t correlation;
	_Atomic uint64_t start_ns;
} launches[LAUNCHES];

static _Atomic uint32_t launch_count;
static uint32_t looked_at, checked, wrong, unknown; /* with the lock of finished operations */
static bool has_ended;
static _Atomic bool times_are_wrong;

void sn_cuda_check_launch(uint32_t correlation)
{
	if (atomic_load_explicit(&launch_count, memory_order_relaxed) >= LAUNCHES)
		return;
	uint32_t index = atomic_fetch_add_explicit(&launch_count, 1, memory_order_relaxed);
	if (index >= LAUNCHES)
		return;
	atomic_store_explicit(&launches[index].start_ns, sn_now_ns(), memory_order_relaxed);
	/* release: the time comes before its number */
	atomic_store_explicit(&launches[index].correlation, correlation, memory_order_release);
}

bool sn_cuda_times_are_right(void)
{
	return !atomic_load_explicit(&times_are_wrong, memory_order_relaxed);
}

/* 0 where it is not one of the first. */
static uint64_t launch_ns(uint32_t correlation)
{
	for (uint32_t index = 0; index < LAUNCHES; index++)
		if (atomic_load_explicit(&launches[index].correlation, memory_order_acquire) ==
		    correlation)
			return atomic_load_explicit(&launches[index].start_ns,
						    memory_order_relaxed);
	return 0;
}

static void judge(const struct sn_cupti_kernel *kernel, uint64_t offset_ns)
{
	uint64_t start_ns = kernel->start + offset_ns, end_ns = kernel->end + offset_ns;
	uint64_t launched_ns = launch_ns(kernel->correlation);
	/* a graph's node has the number of another call; one without times counts as such elsewhere */
	if (kernel->graph || !kernel->start || kernel->end < kernel->start)
		return;
	if (!launched_ns) {
		unknown++;
		return;
	}
	checked++;
	wrong += start_ns + SLACK_NS < launched_ns || end_ns > sn_now_ns() + SLACK_NS;
}

bool sn_cuda_check_has_ended(void)
{
	return has_ended;
}

bool sn_cuda_check_record(const struct sn_cupti_kernel *kernel, size_t bytes, uint64_t offset_ns)
{
	if (bytes < sizeof(*kernel) || bytes > MOST_BYTES || bytes % 8) {
		sn_cuda_say(
		    "CUPTI: calls only, its records of kernels have a length that is not known",
		    NULL);
		return false;
	}
	judge(kernel, offset_ns);
	has_ended = checked + unknown >= LAUNCHES || ++looked_at >= MOST_LOOKED_AT;
	if (checked && wrong * 2 > checked && sn_cuda_times_are_right()) {
		times_are_wrong = true;
		sn_cuda_say("CUPTI: kernels, copies and sets without their places in time, which "
			    "are not those of their calls",
			    NULL);
	}
	if (!checked && unknown == MANY_UNKNOWN)
		sn_cuda_say("CUPTI: its first kernels have numbers of no call, and are lost", NULL);
	return true;
}
