/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library for LD_PRELOAD that writes down a program's calls of Level Zero in the order in which they end, with what their parameters point at
 * (docs/format/recording.md), so that they can be made again elsewhere (tests/fake/replay). It hears them by the loader's tracing layer, which
 * ZE_ENABLE_TRACING_LAYER=1 loads, and changes nothing: so of operations there are the times that the program asks for itself. SONDE_RECORD
 * names a folder; SONDE_RECORD_MIB the most that a process writes. It needs a C compiler, and no header of Level Zero's.
 */
#include "../../../../src/collect/adapters/levelzero/ze.h"
#include "../tool.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS_BYTES	  12u
#define MOST_PARAMETERS	  16u
#define DEVICES		  64u
/* No byte more than the program has. */
#define DESCRIPTION_BYTES 24u
#define KERNEL_BYTES	  32u
_Static_assert(sizeof(struct sn_ze_event_pool_desc) == DESCRIPTION_BYTES, "calls.def");
_Static_assert(sizeof(struct sn_ze_list_desc) == DESCRIPTION_BYTES, "calls.def");
_Static_assert(sizeof(struct sn_ze_host_memory_desc) == DESCRIPTION_BYTES, "calls.def");
_Static_assert(sizeof(struct sn_ze_event_desc) == 32 && sizeof(struct sn_ze_queue_desc) == 40,
	       "calls.def");

static sn_ze_result (*get_properties)(void *device, struct sn_ze_device_properties *properties);
static _Atomic bool is_on, was_tried;

/* ---- what parameters point at ---- */

static void note_pointed(uint64_t address, size_t bytes)
{
	struct recording_pointed fields = {.address = address};
	if (address && bytes)
		record_add(RECORDING_OF_pointed, &fields, sizeof(fields),
			   (const void *)(uintptr_t)address, bytes);
}

static void note_kernel(uint64_t description)
{
	const char *const *name = (const char *const *)(uintptr_t)(description + 24);
	note_pointed(description, KERNEL_BYTES);
	if (description)
		record_string(*name);
}

/* Of a device, once: what its times are. */
static void note_device(void *device)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static void *known[DEVICES];
	static uint32_t count;
	struct sn_ze_device_properties of = {.type = SN_ZE_DEVICE_PROPERTIES_1_2};
	char key[32], text[512];
	uint32_t at = 0;
	pthread_mutex_lock(&lock);
	while (at < count && known[at] != device)
		at++;
	bool is_new = at == count && count < DEVICES;
	if (is_new)
		known[count++] = device;
	pthread_mutex_unlock(&lock);
	if (!is_new || !get_properties || get_properties(device, &of))
		return;
	snprintf(key, sizeof(key), "device.%u", at);
	snprintf(text, sizeof(text),
		 "%.256s, %llu ticks in a second, of %u bits, and of kernels %u", of.name,
		 (unsigned long long)of.timer_resolution, of.timestamp_bits,
		 of.kernel_timestamp_bits);
	record_fact(key, text);
}

/* How many the parameter before says, which is a number or where one is. */
static uint32_t count_before(const uint64_t *words, size_t at, char letter)
{
	return letter == 'a'   ? (uint32_t)words[at - 1]
	       : words[at - 1] ? *(const uint32_t *)(uintptr_t)words[at - 1]
			       : 0;
}

static void note_parameter(const uint64_t *words, size_t at, char letter)
{
	uint64_t word = words[at];
	switch (letter) {
	case 'o':
	case 'A':
		note_pointed(word, sizeof(void *));
		break;
	case 'c':
		note_pointed(word, sizeof(uint32_t));
		break;
	case 'a':
	case 'O':
		note_pointed(word, word ? count_before(words, at, letter) * sizeof(void *) : 0);
		break;
	case 'd':
		note_pointed(word, DESCRIPTION_BYTES);
		break;
	case 'e':
		note_pointed(word, sizeof(struct sn_ze_event_desc));
		break;
	case 'q':
		note_pointed(word, sizeof(struct sn_ze_queue_desc));
		break;
	case 'k':
		note_kernel(word);
		break;
	case 'g':
		note_pointed(word, GROUPS_BYTES);
		break;
	case 'r':
		note_pointed(word, sizeof(struct sn_ze_region));
		break;
	case 't':
		note_pointed(word, sizeof(struct sn_ze_timestamps));
		break;
	default:
		break;
	}
}

/* ---- calls ---- */

/* A number of 32 bits has nothing to say beyond them. */
static uint64_t word_of(const void *parameter, const char *name, char letter)
{
	bool is_long = strstr(name, "Synchronize") || strstr(name, "Memory") || strstr(name, "Mem");
	return letter == 'v' && !is_long ? *(const uint32_t *)parameter
					 : *(const uint64_t *)parameter;
}

static void record_call(uint32_t number, const char *name, const char *letters, void **parameters,
			sn_ze_result result)
{
	int saved_errno = errno;
	uint64_t words[MOST_PARAMETERS];
	size_t count = strlen(letters);
	struct recording_called fields = {
	    .call = number, .result = (int32_t)result, .count = count};
	if (!is_on)
		return;
	for (size_t at = 0; at < count; at++)
		words[at] = word_of(parameters[at], name, letters[at]);
	for (size_t at = 0; at < count && !result; at++)
		note_parameter(words, at, letters[at]);
	if (!strcmp(name, "DeviceGet") && !result && words[2])
		for (uint32_t at = 0; at < count_before(words, 2, 'O'); at++)
			note_device(((void **)(uintptr_t)words[2])[at]);
	record_add(RECORDING_OF_called, &fields, sizeof(fields), words, count * sizeof(*words));
	errno = saved_errno;
}

enum {
#define ZE(name, letters) CALL_##name,
#include "calls.def"
#undef ZE
};

#define ZE(name, letters)                                                                          \
	static void after_##name(void **parameters, sn_ze_result result, void *data, void **call)  \
	{                                                                                          \
		(void)data, (void)call;                                                            \
		record_call(CALL_##name, #name, letters, parameters, result);                      \
	}
#include "calls.def"
#undef ZE

static const struct {
	const char *name;
	sn_zel_callback after;
} calls[] = {
#define ZE(name, letters) {#name, after_##name},
#include "calls.def"
#undef ZE
};

/* ---- attaching, as the adapter does ---- */

static void listen(void *library, void *tracer)
{
	char symbol[128];
	for (uint32_t number = 0; number < sizeof(calls) / sizeof(*calls); number++) {
		struct recording_name fields = {.domain = RECORDING_LEVEL_ZERO, .cbid = number};
		snprintf(symbol, sizeof(symbol), "ze%s", calls[number].name);
		record_text(RECORDING_OF_name, &fields, sizeof(fields), symbol);
		snprintf(symbol, sizeof(symbol), "zelTracer%sRegisterCallback", calls[number].name);
		sn_zel_register add = (sn_zel_register)record_find(library, symbol);
		if (add)
			add(tracer, SN_ZEL_EPILOGUE, calls[number].after);
	}
}

/* By the layer's own functions: the loader does not pass its calls on yet. */
static void attach(void *loader, void *layer)
{
	const struct sn_zel_tracer_desc desc = {.type = SN_ZEL_TRACER_DESC};
	struct sn_zel_tracers table = {0};
	void *tracer = NULL;
	if (atomic_exchange(&was_tried, true) || !record_begin())
		return;
	record_facts();
	sn_ze_result (*fill)(uint32_t, struct sn_zel_tracers *) = (sn_ze_result(*)(
	    uint32_t, struct sn_zel_tracers *))dlsym(layer, "zelGetTracerApiProcAddrTable");
	get_properties = (sn_ze_result(*)(void *, struct sn_ze_device_properties *))dlsym(
	    loader, "zeDeviceGetProperties");
	if (!fill || fill(SN_ZE_VERSION_1_0, &table) || table.create(&desc, &tracer)) {
		record_fact("levelzero", "the tracing layer refuses");
		record_close();
		return;
	}
	listen(layer, tracer);
	is_on = !table.set_enabled(tracer, 1);
}

static void in_child(void)
{
	is_on = false;
	record_forget();
}

__attribute__((constructor)) static void begin(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

/* After the program's own exit handlers. */
__attribute__((destructor)) static void end(void)
{
	if (atomic_exchange(&is_on, false))
		record_close();
}

/* The loader calls this function of its own when it has loaded its layers. It may be in no scope that is searched, as Python opens it. */
void *zeLoaderGetTracingHandle(void);
void *zeLoaderGetTracingHandle(void)
{
	void *loader = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_NOLOAD);
	void *(*real)(void) =
	    loader ? (void *(*)(void))dlsym(loader, "zeLoaderGetTracingHandle") : NULL;
	void *layer = real ? real() : NULL;
	if (layer)
		attach(loader, layer);
	return layer;
}
