/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording of CUPTI says of where it was made: the driver, and devices with all their attributes. */
#include "recorder.h"
#include "tool.h"

#include <dlfcn.h>
#include <stdio.h>

/* Attributes have numbers from 1 on; drivers know some 150 in 2026, and refuse what they do not know. */
#define MOST_ATTRIBUTES 256

/* The driver's public functions. */
static struct {
	int (*version)(int *version);
	int (*count)(int *count);
	int (*get)(int *device, int ordinal);
	int (*name)(char *name, int length, int device);
	int (*attribute)(int *value, int attribute, int device);
	int (*memory)(size_t *bytes, int device);
} driver;

static bool find_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	if (!library)
		return false;
	driver.version = (int (*)(int *))dlsym(library, "cuDriverGetVersion");
	driver.count = (int (*)(int *))dlsym(library, "cuDeviceGetCount");
	driver.get = (int (*)(int *, int))dlsym(library, "cuDeviceGet");
	driver.name = (int (*)(char *, int, int))dlsym(library, "cuDeviceGetName");
	driver.attribute = (int (*)(int *, int, int))dlsym(library, "cuDeviceGetAttribute");
	driver.memory = (int (*)(size_t *, int))dlsym(library, "cuDeviceTotalMem_v2");
	return driver.version && driver.count && driver.get && driver.name && driver.attribute &&
	       driver.memory;
}

static void add_device(int ordinal)
{
	char key[64], text[256] = "";
	int device, value;
	size_t bytes = 0;
	if (driver.get(&device, ordinal))
		return;
	driver.name(text, sizeof(text), device);
	snprintf(key, sizeof(key), "device.%d.name", ordinal);
	record_fact(key, text);
	driver.memory(&bytes, device);
	snprintf(key, sizeof(key), "device.%d.bytes", ordinal);
	snprintf(text, sizeof(text), "%zu", bytes);
	record_fact(key, text);
	for (int attribute = 1; attribute < MOST_ATTRIBUTES; attribute++) {
		if (driver.attribute(&value, attribute, device))
			continue;
		struct recording_attribute fields = {
		    .device = (uint32_t)ordinal, .attribute = (uint32_t)attribute, .value = value};
		record_add(RECORDING_OF_attribute, &fields, sizeof(fields), NULL, 0);
	}
}

void record_driver(void)
{
	char text[32];
	int version = 0, count = 0;
	record_line_of("driver", "/proc/driver/nvidia/version");
	if (!find_driver())
		return;
	driver.version(&version);
	snprintf(text, sizeof(text), "%d", version);
	record_fact("driver.cuda", text);
	driver.count(&count);
	for (int ordinal = 0; ordinal < count; ordinal++)
		add_device(ordinal);
}
