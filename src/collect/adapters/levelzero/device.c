/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices, and their clocks. A device counts ticks, in as many bits as it says; an operation's times have fewer, and begin anew
 * every few seconds or minutes. When an operation ran is found from when it was started: the first such time that is not
 * before. The program's clock is read before and after the device's, and the drift of both is measured between the first and the
 * last of such pairs.
 */
#include "levelzero.h"

#include "collect/core/clock.h"

#define DEVICES 64u

static struct sn_ze_device devices[DEVICES];
static uint32_t count;

static uint64_t mask_of(uint32_t bits)
{
	return bits && bits < 64 ? (1ull << bits) - 1 : UINT64_MAX;
}

/* Of the closest of some pairs of readings. False where the device cannot tell. */
static bool read_clocks(const struct sn_ze_device *device, uint64_t *ns, uint64_t *ticks)
{
	uint64_t width = UINT64_MAX;
	for (int attempt = 0; attempt < 3; attempt++) {
		uint64_t host, now, before_ns = sn_now_ns();
		if (sn_ze.zeDeviceGetGlobalTimestamps(device->handle, &host, &now))
			return false;
		uint64_t after_ns = sn_now_ns();
		if (after_ns - before_ns >= width)
			continue;
		width = after_ns - before_ns;
		*ns = before_ns + width / 2;
		*ticks = now;
	}
	return true;
}

static void begin(struct sn_ze_device *device)
{
	struct sn_ze_device_properties properties = {.type = SN_ZE_DEVICE_PROPERTIES_1_2};
	device->in_seconds = true;
	if (sn_ze.zeDeviceGetProperties(device->handle, &properties)) {
		properties = (struct sn_ze_device_properties){.type = SN_ZE_DEVICE_PROPERTIES};
		device->in_seconds = false;
		if (sn_ze.zeDeviceGetProperties(device->handle, &properties))
			return;
	}
	device->mask = mask_of(properties.timestamp_bits);
	device->kernel_mask = mask_of(properties.kernel_timestamp_bits);
	if (read_clocks(device, &device->first_ns, &device->first_ticks))
		device->resolution = properties.timer_resolution;
	device->last_ns = device->first_ns;
	device->last_ticks = device->first_ticks;
}

struct sn_ze_device *sn_ze_device(void *handle)
{
	for (uint32_t index = 0; index < count; index++)
		if (devices[index].handle == handle)
			return &devices[index];
	if (count == DEVICES)
		return NULL;
	struct sn_ze_device *device = &devices[count];
	*device = (struct sn_ze_device){.handle = handle, .number = (uint16_t)count};
	begin(device);
	count++;
	return device;
}

/* Ticks are kept as the device's that would never begin anew. */
void sn_ze_device_tick(struct sn_ze_device *device)
{
	uint64_t ns, ticks;
	if (!device->resolution || sn_now_ns() - device->last_ns < 1000000000u ||
	    !read_clocks(device, &ns, &ticks))
		return;
	device->last_ticks += (ticks - device->last_ticks) & device->mask;
	device->last_ns = ns;
}

static double ns_of_tick(const struct sn_ze_device *device)
{
	uint64_t ns = device->last_ns - device->first_ns;
	if (ns > 50000000u && device->last_ticks > device->first_ticks)
		return (double)ns / (double)(device->last_ticks - device->first_ticks);
	return device->in_seconds ? 1e9 / (double)device->resolution : (double)device->resolution;
}

/* What was counted is in ticks, and so is exact. */
static uint64_t ns_of(const struct sn_ze_device *device, uint64_t ticks)
{
	if (!device->in_seconds)
		return ticks * device->resolution;
	uint64_t seconds = ticks / device->resolution, rest = ticks % device->resolution;
	return seconds * 1000000000u + rest * 1000000000u / device->resolution;
}

bool sn_ze_device_times(const struct sn_ze_device *device, const struct sn_ze_timestamps *times,
			uint64_t least_ns, struct sn_gpu_operation *operation)
{
	uint64_t mask = device->kernel_mask;
	/* a device writes ones where it has nothing to write */
	if (!device->resolution || (times->start & mask) == mask || (times->end & mask) == mask)
		return false;
	double tick_ns = ns_of_tick(device);
	double least = (double)(int64_t)(least_ns - device->last_ns) / tick_ns;
	/* a little earlier, since neither clock is exact */
	uint64_t from = device->last_ticks + (uint64_t)(int64_t)least - mask / 16;
	uint64_t start = from + ((times->start - from) & mask);
	operation->start_ns =
	    device->last_ns +
	    (uint64_t)(int64_t)((double)(int64_t)(start - device->last_ticks) * tick_ns);
	operation->end_ns = operation->start_ns + ns_of(device, (times->end - times->start) & mask);
	return true;
}
