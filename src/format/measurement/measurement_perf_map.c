/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that was generated at run time, of which its compiler wrote a map: the launcher keeps
 * perf-PID.map in the measurement folder (measurement_reader.h). Frames in memory without a file
 * are given to one more module, the map, as addresses, so that names are looked up as everywhere.
 */
#include "measurement_reader.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The map of the measurement's process beside its file; false where there is none. */
static bool find_map(const struct sn_measurement *measurement, const char *path, char *map,
		     size_t map_bytes)
{
	const char *pid = sn_measurement_property(measurement, "pid");
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash + 1 - path) : 0;
	return pid && strspn(pid, "0123456789") == strlen(pid) &&
	       snprintf(map, map_bytes, "%.*s" SN_PERF_MAP_PREFIX "%s" SN_PERF_MAP_SUFFIX, folder,
			path, pid) < (int)map_bytes &&
	       !access(map, R_OK);
}

static bool is_in_file(const struct sn_measurement *measurement, uint64_t address)
{
	for (uint32_t i = 0; i < measurement->module_count; i++) {
		const struct sn_module_record *module = measurement->modules + i;
		if (address >= module->start && address < module->end &&
		    !(module->flags & (SN_MODULE_UNLOADED | SN_MODULE_ANONYMOUS)))
			return true;
	}
	return false;
}

/* False where the frame is not code without a file. */
static bool address_of(const struct sn_measurement *measurement, const struct sn_frame *frame,
		       uint64_t *address)
{
	if (frame->kind != SN_FRAME_NATIVE)
		return false;
	if (frame->id == SN_ID_NONE) {
		*address = frame->value;
		return !is_in_file(measurement, frame->value);
	}
	*address = frame->value + measurement->modules[frame->id].bias;
	return measurement->modules[frame->id].flags & SN_MODULE_ANONYMOUS;
}

/* One more string and one more module, in copies of the tables. */
static int add_module(struct sn_measurement *measurement, const char *path)
{
	struct sn_measurement_strings *strings = &measurement->strings;
	uint32_t count = strings->count;
	size_t length = strlen(path), text = count ? strings->offsets[count] : 0;
	struct sn_module_record *modules =
	    sn_measurement_copy(measurement, measurement->modules, measurement->module_count, 1);
	uint32_t *offsets =
	    sn_measurement_copy(measurement, strings->offsets, count ? count + 1ull : 0, 2);
	char *bytes = sn_measurement_copy(measurement, strings->bytes, text, length);
	if (measurement->arena.failed)
		return SN_ERR_MEMORY;
	memcpy(bytes + text, path, length);
	offsets[count + 1] = (uint32_t)(text + length);
	modules[measurement->module_count] =
	    (struct sn_module_record){.path = count, .flags = SN_MODULE_PERF_MAP};
	*strings = (struct sn_measurement_strings){count + 1, offsets, bytes};
	measurement->modules = modules;
	return 0;
}

int sn_measurement_use_perf_map(struct sn_measurement *measurement, const char *path)
{
	char map[4096];
	uint32_t number = measurement->module_count;
	if (!find_map(measurement, path, map, sizeof(map)))
		return 0;
	if (add_module(measurement, map) < 0)
		return SN_ERR_MEMORY;
	for (uint32_t i = 0; i < measurement->thread_count; i++) {
		const struct sn_measurement_thread *thread = &measurement->threads[i];
		for (uint32_t node = 0; node < thread->node_count; node++) {
			/* they lie in the copy of the file that the measurement owns */
			struct sn_frame *frame = (struct sn_frame *)&thread->nodes[node].frame;
			uint64_t address;
			if (!address_of(measurement, frame, &address))
				continue;
			frame->id = number;
			frame->value = address;
		}
	}
	measurement->module_count++;
	return 0;
}
