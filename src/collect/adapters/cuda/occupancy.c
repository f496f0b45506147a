/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many warps of a kernel can be resident on a multiprocessor, by the rules of CUDA's programming guide: as many whole blocks
 * as its warps, registers, shared memory and places for blocks allow. CUPTI tells what a device has.
 */
#include "cuda.h"

#define DEVICES		64u
#define KNOWN		64u /* places of a hash of 6 bits */
/* Of all devices since 2012: registers are given to warps, shared memory to blocks, and warps to parts of the multiprocessor. */
#define WARP_THREADS	32u
#define REGISTERS_UNIT	256u
#define SHARED_UNIT	128u
#define PARTS		4u
/* Since compute capability 8 of each block, for the system. */
#define SHARED_RESERVED 1024u

/* Zero: not known. */
static struct {
	uint32_t warps, blocks, shared_bytes, registers, shared_reserved;
} devices[DEVICES];

void sn_cuda_device_record(const struct sn_cupti_device *device)
{
	if (device->id >= DEVICES || device->threads_per_warp != WARP_THREADS)
		return;
	devices[device->id].warps = device->warps;
	devices[device->id].blocks = device->blocks;
	devices[device->id].shared_bytes = device->shared_bytes;
	devices[device->id].registers = device->registers;
	devices[device->id].shared_reserved = device->capability_major >= 8 ? SHARED_RESERVED : 0;
}

static uint32_t up(uint32_t number, uint32_t unit)
{
	return (number + unit - 1) / unit * unit;
}

static uint32_t least(uint32_t one, uint32_t other)
{
	return one < other ? one : other;
}

/* By what it depends on. Programs launch the same kernels again and again, and divisions take as long as all else. */
static struct {
	uint64_t needs;
	uint32_t device, warps;
} known[KNOWN];

static uint32_t warps_of(uint32_t device, uint32_t threads, const struct sn_gpu_shape *shape)
{
	uint32_t warps = (threads + WARP_THREADS - 1) / WARP_THREADS;
	uint32_t registers = up(shape->registers * WARP_THREADS, REGISTERS_UNIT);
	uint32_t shared = up(shape->shared_bytes + devices[device].shared_reserved, SHARED_UNIT);
	uint32_t blocks = least(devices[device].blocks, devices[device].warps / warps);
	if (registers)
		blocks =
		    least(blocks, devices[device].registers / registers / PARTS * PARTS / warps);
	if (shared)
		blocks = least(blocks, devices[device].shared_bytes / shared);
	return blocks * warps;
}

void sn_cuda_occupancy(uint32_t device, struct sn_gpu_shape *shape)
{
	uint32_t threads = (uint32_t)shape->block[0] * shape->block[1] * shape->block[2];
	uint64_t needs =
	    (uint64_t)shape->shared_bytes << 32 | (uint64_t)threads << 16 | shape->registers;
	uint32_t place = (uint32_t)(needs * 0x9e3779b97f4a7c15u >> 58);
	if (device >= DEVICES || !devices[device].warps || !threads || threads > UINT16_MAX)
		return;
	if (known[place].needs != needs || known[place].device != device) {
		known[place].needs = needs;
		known[place].device = device;
		known[place].warps = warps_of(device, threads, shape);
	}
	shape->warps = (uint16_t)known[place].warps;
	shape->warps_most = (uint16_t)devices[device].warps;
}
