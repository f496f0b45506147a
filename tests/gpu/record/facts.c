/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording says of where it was made: kernel, driver, devices with all their attributes, the command. The machine's name is not
 * written, and no environment. */
#include "file.h"
#include "recorder.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

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

/* The first line of a file. */
static void add_line(const char *key, const char *path)
{
	char text[2048] = "";
	FILE *file = fopen(path, "re");
	size_t got = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	if (file)
		fclose(file);
	text[strcspn(text, "\n")] = '\0';
	if (got)
		record_fact(key, text);
}

static void add_command(void)
{
	char text[2048];
	FILE *file = fopen("/proc/self/cmdline", "re");
	size_t got = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	if (file)
		fclose(file);
	for (size_t index = 0; index + 1 < got; index++)
		text[index] = text[index] ? text[index] : ' ';
	text[got] = '\0';
	record_fact("command", text);
}

void record_facts(void)
{
	struct utsname system;
	char text[32];
	int version = 0, count = 0;
	if (!uname(&system)) {
		record_fact("system", system.release);
		record_fact("machine", system.machine);
	}
	add_line("driver", "/proc/driver/nvidia/version");
	add_command();
	if (!find_driver())
		return;
	driver.version(&version);
	snprintf(text, sizeof(text), "%d", version);
	record_fact("driver.cuda", text);
	driver.count(&count);
	for (int ordinal = 0; ordinal < count; ordinal++)
		add_device(ordinal);
}
