/* SPDX-License-Identifier: Apache-2.0 */
/* What the devices did: the SDK's records, and what becomes of each. */
#include "rocm.h"

#include "collect/core/line.h"

#include <string.h>

/* ---- devices: HIP's numbers are the order of those that are GPUs ---- */

static uint64_t devices[SN_ROCM_DEVICES];
static uint32_t device_count;

sn_rocprofiler_status sn_rocm_on_agents(int version, const void **agents, size_t count,
					void *unused)
{
	(void)version, (void)unused;
	device_count = 0;
	for (size_t index = 0; index < count && device_count < SN_ROCM_DEVICES; index++) {
		const struct sn_rocprofiler_agent *agent = agents[index];
		if (agent->size >= sizeof(*agent) && agent->type == SN_ROCPROFILER_AGENT_GPU)
			devices[device_count++] = agent->id;
	}
	return 0;
}

uint32_t sn_rocm_devices(const uint64_t **agents)
{
	*agents = devices;
	return device_count;
}

static bool is_device(uint64_t agent)
{
	for (uint32_t index = 0; index < device_count; index++)
		if (devices[index] == agent)
			return true;
	return false;
}

static uint16_t device_of(uint64_t agent)
{
	for (uint32_t index = 0; index < device_count; index++)
		if (devices[index] == agent)
			return (uint16_t)index;
	return 0;
}

/* The SDK's clock counts while the machine is suspended, and ours does not. A record without times keeps none, so that it counts as such. */
static void set_times(struct sn_gpu_operation *operation, uint64_t start, uint64_t end,
		      uint64_t offset)
{
	bool has_times = start && start <= end;
	operation->start_ns = has_times ? start + offset : 0;
	operation->end_ns = has_times ? end + offset : 0;
}

/* ---- records ---- */

/* Memory is set, and often copied, by kernels of the runtime's own. */
void sn_rocm_set_kernel(struct sn_gpu_operation *operation, uint64_t kernel)
{
	const char *name = sn_rocm_kernel_name(kernel);
	operation->kind = SN_GPU_KERNEL;
	operation->name = name;
	if (sn_begins_with(name, "__amd_rocclr_fill")) {
		operation->kind = SN_GPU_SET;
		operation->name = "set";
	} else if (sn_begins_with(name, "__amd_rocclr_copy")) {
		operation->kind = SN_GPU_COPY;
		operation->name = "copy by a kernel";
	}
}

/* HIP's, or else the queue of the hardware, which streams share. */
static uint32_t stream_of(uint64_t correlation, uint64_t queue)
{
	return sn_rocm_hears_streams() ? sn_rocm_note_of((uint32_t)correlation).stream
				       : (uint32_t)queue;
}

static void read_kernel(const struct sn_rocprofiler_kernel *kernel,
			struct sn_gpu_operation *operation)
{
	*operation =
	    (struct sn_gpu_operation){.device = device_of(kernel->agent),
				      .stream = stream_of(kernel->correlation, kernel->queue),
				      .correlation = (uint32_t)kernel->correlation};
	sn_rocm_set_kernel(operation, kernel->kernel);
	if (operation->kind != SN_GPU_KERNEL)
		operation->bytes = sn_rocm_take_bytes(operation->correlation);
}

static void read_copy(const struct sn_rocprofiler_copy *copy, struct sn_gpu_operation *operation)
{
	static const char *const names[] = {"copy", "copy host to host", "copy host to device",
					    "copy device to host", "copy device to device"};
	uint32_t known = copy->direction < sizeof(names) / sizeof(*names) ? copy->direction : 0;
	*operation = (struct sn_gpu_operation){
	    .kind = SN_GPU_COPY,
	    .device = device_of(is_device(copy->to_agent) ? copy->to_agent : copy->from_agent),
	    .stream = stream_of(copy->correlation, 0),
	    .correlation = (uint32_t)copy->correlation,
	    .name = names[known],
	    .bytes = copy->bytes};
}

enum sn_rocm_reading { OTHER, READ, TOO_SHORT };

static enum sn_rocm_reading read_record(const struct sn_rocprofiler_header *header, uint64_t offset,
					struct sn_gpu_operation *operation)
{
	const struct sn_rocprofiler_kernel *kernel = header->record;
	const struct sn_rocprofiler_copy *copy = header->record;
	if (header->category != SN_ROCPROFILER_CATEGORY_TRACING)
		return OTHER;
	if (header->kind == SN_ROCPROFILER_BUFFER_KERNEL) {
		if (kernel->size < sizeof(*kernel))
			return TOO_SHORT;
		read_kernel(kernel, operation);
		set_times(operation, kernel->start, kernel->end, offset);
		return READ;
	}
	if (header->kind != SN_ROCPROFILER_BUFFER_COPY)
		return OTHER;
	if (copy->size < sizeof(*copy))
		return TOO_SHORT;
	read_copy(copy, operation);
	set_times(operation, copy->start, copy->end, offset);
	return READ;
}

static void give(struct sn_gpu_operation *operation)
{
	if (!sn_config.gpu_graph_nodes && sn_rocm_note_of(operation->correlation).replays)
		sn_rocm_graph_add(operation);
	else
		sn_gpu_done(operation);
}

void sn_rocm_on_records(uint64_t context, uint64_t buffer, struct sn_rocprofiler_header **headers,
			size_t count, void *unused, uint64_t dropped)
{
	static uint64_t dropped_before; /* under the lock; the SDK counts from its start */
	(void)context, (void)buffer, (void)unused;
	if (!sn_rocm_has_records())
		return;
	uint64_t offset = sn_gpu_clock_offset(sn_rocprofiler.rocprofiler_get_timestamp);
	sn_gpu_begin_done();
	for (size_t index = 0; index < count; index++) {
		struct sn_gpu_operation operation;
		enum sn_rocm_reading reading = read_record(headers[index], offset, &operation);
		operation.interface = &sn_rocm;
		if (reading == READ)
			give(&operation);
		else if (reading == TOO_SHORT)
			sn_drop(NULL, SN_DROP_GPU_LOST, 1);
	}
	if (dropped > dropped_before) {
		sn_drop(NULL, SN_DROP_GPU_LOST, dropped - dropped_before);
		dropped_before = dropped;
	}
	sn_gpu_end_done();
}
