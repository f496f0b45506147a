/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of program counters, of kernels that compute nothing, and the code objects that they lie in. Each launch of a kernel gives as many
 * samples as is planned (device/samples.h), or else one of each reason, at its first instruction.
 */
#include "../../device/samples.h"
#include "sdk.h"

#include <elf.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ERROR = 1, NOT_FOUND = 2, CONFIGURED = 15, LOCKED = 16, NOT_IMPLEMENTED = 17 };
enum {
	INVALID_ARGUMENT = 19,
	OLD_DRIVER = 28,
	RATE_EXCEEDED = 33,
	NOT_AVAILABLE = 37,
	PERMISSION = 40
};
enum { STOCHASTIC = 1, HOST_TRAP = 2, CYCLES = 2, MICROSECONDS = 3, POWERS_OF_2 = 1 };
enum { SAMPLES = 2, INVALID = 1, TRAP_RECORD = 2, STOCHASTIC_RECORD = 3 };
enum { CODE_OBJECT = 10, DISPATCH = 12, ENQUEUE = 1, LOAD = 1, UNLOAD = 2 };
enum { IN_FILE = 1, IN_MEMORY = 2, DEVICES = 8, MODULES = 64 };
#define LOADED_AT 0x7f0000000000u
#define APART	  0x10000000u

/* As the SDK numbers them; the last is that the wave issued. */
static const char *const reasons[] = {"none",
				      "no_instruction_available",
				      "alu_dependency",
				      "waitcnt",
				      "internal_instruction",
				      "barrier_wait",
				      "arbiter_not_win",
				      "arbiter_win_ex_stall",
				      "other_wait",
				      "sleep_wait",
				      "issued"};
enum { REASONS = sizeof(reasons) / sizeof(*reasons), ISSUED = REASONS - 1 };

/* ---- code objects ---- */

static struct module {
	char *image;
	size_t bytes;
	uint64_t lowest; /* address of what is loaded, in the file */
} modules[MODULES];	 /* by number */

struct loaded {
	uint64_t size, id, agent, hsa_agent;
	const char *uri;
	uint64_t load_base, load_size;
	int64_t load_delta;
	int32_t storage;
	union {
		int32_t file;
		uint64_t memory[2];
	};
};

static void tell_loaded(struct loaded *loaded, uint32_t phase)
{
	for (uint32_t index = 0; index < fake_context_count; index++) {
		struct fake_context *context = &fake_contexts[index];
		struct fake_call_record record = {.context = index + 1,
						  .kind = CODE_OBJECT,
						  .operation = LOAD,
						  .phase = phase,
						  .payload = loaded};
		uint64_t word = 0;
		if (context->is_active && context->on_code)
			context->on_code(record, &word, context->code_data);
	}
}

/* The SDK may leave out a first segment that is not loaded: so its load_base is not where the file begins. */
static uint64_t lowest_of(const char *image)
{
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)image;
	const Elf64_Phdr *segments = (const Elf64_Phdr *)(image + head->e_phoff);
	uint64_t lowest = UINT64_MAX;
	for (int index = 0; index < head->e_phnum; index++)
		if (segments[index].p_type == PT_LOAD && segments[index].p_vaddr &&
		    segments[index].p_vaddr < lowest)
			lowest = segments[index].p_vaddr;
	return lowest;
}

/* A file that has the code at an offset. */
static int file_with(const void *image, size_t bytes, off_t offset)
{
	int file = memfd_create("code", 0);
	if (file < 0 || pwrite(file, image, bytes, offset) != (ssize_t)bytes)
		abort();
	return file;
}

static uint64_t number_of_load(int device, uint32_t module)
{
	return (uint64_t)device * MODULES + module;
}

/* What tools are shown of it is there while it is told. */
void fake_sdk_module(int device, const void *image, size_t bytes, uint32_t number, bool is_unloaded)
{
	char uri[128];
	if (!image || number >= MODULES)
		return;
	struct module *module = &modules[number];
	char *shown = malloc(bytes);
	memcpy(shown, image, bytes);
	if (!module->image) {
		module->image = malloc(bytes);
		memcpy(module->image, image, bytes);
		module->bytes = bytes;
		module->lowest = lowest_of(image);
	}
	/* each load has a number and a place of its own */
	uint64_t id = number_of_load(device, number);
	struct loaded loaded = {.size = sizeof(loaded),
				.id = id,
				.agent = FAKE_AGENT + (uint64_t)device,
				.uri = uri,
				.load_base = LOADED_AT + id * APART + module->lowest,
				.load_size = bytes,
				.load_delta = LOADED_AT + id * APART};
	bool is_file = fake_fails("sdk-pc-file");
	snprintf(uri, sizeof(uri), "memory://%d#offset=0x%lx&size=%zu", getpid(),
		 (unsigned long)shown, bytes);
	if (is_file) {
		loaded.storage = IN_FILE;
		loaded.file = file_with(shown, bytes, 4096);
		snprintf(uri, sizeof(uri), "file:///code%%20object#offset=4096&size=%zu", bytes);
	} else {
		loaded.storage = IN_MEMORY;
		loaded.memory[0] = (uint64_t)(uintptr_t)shown;
		loaded.memory[1] = bytes;
	}
	tell_loaded(&loaded, is_unloaded ? UNLOAD : LOAD);
	if (is_file)
		close(loaded.file);
	memset(shown, 0xa5, bytes);
	free(shown);
}

/* The address of a kernel in its file; false where its code is not known. */
static bool find_kernel(const struct module *module, const char *name, uint64_t *address)
{
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)module->image;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(module->image + head->e_shoff);
	for (int index = 0; index < head->e_shnum; index++) {
		if (sections[index].sh_type != SHT_DYNSYM)
			continue;
		const Elf64_Sym *symbols =
		    (const Elf64_Sym *)(module->image + sections[index].sh_offset);
		const char *names = module->image + sections[sections[index].sh_link].sh_offset;
		for (uint32_t at = 0; at < sections[index].sh_size / sizeof(*symbols); at++)
			if (ELF64_ST_TYPE(symbols[at].st_info) == STT_FUNC &&
			    !strcmp(names + symbols[at].st_name, name)) {
				*address = symbols[at].st_value;
				return true;
			}
	}
	return false;
}

static const struct fake_planned *plan;

__attribute__((constructor)) static void read_plan(void)
{
	plan = fake_samples_plan(reasons, REASONS);
}

/* ---- records ---- */

static void put(uint8_t *data, size_t place, uint64_t value, size_t bytes)
{
	memcpy(data + place, &value, bytes);
}

struct sampled {
	uint64_t code_object, offset, dispatch, correlation, time_ns;
	int reason;
};

static size_t fill_trap(uint8_t *data, const struct sampled *sampled)
{
	/* what the SDK found no code of has no size */
	bool is_invalid = fake_fails("sdk-pc-invalid") && fake_fails_now("sdk-pc-invalid", 10);
	put(data, 0, is_invalid ? 0 : 88, 8);
	put(data, 16, sampled->code_object, 8);
	put(data, 24, sampled->offset, 8);
	put(data, 32, UINT64_MAX, 8);
	put(data, 40, sampled->time_ns, 8);
	put(data, 48, sampled->dispatch, 8);
	put(data, 56, sampled->correlation, 8);
	return is_invalid ? 0 : 88;
}

static size_t fill_stochastic(uint8_t *data, const struct sampled *sampled)
{
	bool is_issued = sampled->reason == ISSUED;
	put(data, 0, 104, 8);
	/* what is no reason, and what surrounds one, is set as well */
	put(data, 10, is_issued ? 1 | 3 << 1 : 15 << 1, 1);
	put(data, 24, sampled->code_object, 8);
	put(data, 32, sampled->offset, 8);
	put(data, 40, UINT64_MAX, 8);
	put(data, 60, 8, 4);
	put(data, 64, sampled->time_ns, 8);
	put(data, 72, sampled->dispatch, 8);
	put(data, 80, sampled->correlation, 8);
	put(data, 96, is_issued ? 0x3ffff8 : 0x3ffff0 | (uint64_t)sampled->reason, 4);
	return 104;
}

/* False where it is lost. */
static bool add_sample(const struct fake_context *context, int device,
		       const struct sampled *sampled, uint64_t due_ns)
{
	uint8_t data[FAKE_LONGEST] = {0};
	if (context->methods[device] == HOST_TRAP) {
		bool is_valid = fill_trap(data, sampled);
		fake_record_add(context->sample_buffer, due_ns, SAMPLES, TRAP_RECORD, data, 88);
		return is_valid;
	}
	if (fake_fails("sdk-pc-invalid") && fake_fails_now("sdk-pc-invalid", 10)) {
		put(data, 0, 8, 8);
		fake_record_add(context->sample_buffer, due_ns, SAMPLES, INVALID, data, 8);
		return false;
	}
	size_t bytes = fill_stochastic(data, sampled);
	fake_record_add(context->sample_buffer, due_ns, SAMPLES, STOCHASTIC_RECORD, data, bytes);
	return true;
}

static void sample(const struct fake_context *context, const struct fake_run *run,
		   struct sampled *sampled, uint64_t pc, uint32_t number)
{
	const char *kernel = run->operation->name;
	uint64_t due_ns = fake_fails("sdk-pc-early") ? run->start_ns : run->end_ns;
	bool is_dropped = fake_fails_now("sdk-pc-drop", 5);
	uint32_t lost = is_dropped ? number : 0;
	if (is_dropped)
		fake_record_drop(context->sample_buffer, number);
	for (uint32_t at = 0; at < number && !is_dropped; at++)
		lost += !add_sample(context, run->device, sampled, due_ns);
	fake_samples_count(kernel, pc, sampled->reason, number, lost);
}

/* With the device's lock. */
void fake_sdk_sample(const struct fake_context *context, const struct fake_run *run,
		     uint64_t dispatch)
{
	uint32_t number = run->operation->module;
	const struct module *module = &modules[number < MODULES ? number : 0];
	uint64_t address;
	if (!context->sample_buffer || !context->methods[run->device] ||
	    run->operation->kind != FAKE_KERNEL || !module->image ||
	    !find_kernel(module, run->operation->name, &address))
		return;
	bool is_unknown = fake_fails("sdk-pc-unknown");
	struct sampled sampled = {
	    .code_object = is_unknown ? 0 : number_of_load(run->device, number),
	    .dispatch = dispatch,
	    .correlation = fake_fails("sdk-pc-uncorrelated") ? 0 : fake_sdk_correlation(),
	    .time_ns = run->end_ns + FAKE_CLOCK_AHEAD_NS};
	for (const struct fake_planned *line = plan; line; line = line->next) {
		if (fnmatch(line->pattern, run->operation->name, 0))
			continue;
		sampled.offset = address + line->pc - (is_unknown ? 0 : module->lowest);
		sampled.reason = line->reason;
		sample(context, run, &sampled, line->pc, line->count);
	}
	for (int reason = 0; reason < REASONS && !plan; reason++) {
		sampled.offset = address - (is_unknown ? 0 : module->lowest);
		sampled.reason = reason;
		sample(context, run, &sampled, 0, 1);
	}
}

/* ---- the SDK's functions ---- */

struct offer {
	uint64_t size;
	int32_t method, unit;
	uint64_t least, most, flags;
};

static const struct offer offers[] = {
    {sizeof(struct offer), HOST_TRAP, MICROSECONDS, 1, UINT64_MAX, 0},
    {sizeof(struct offer), STOCHASTIC, CYCLES, 256, 1u << 20, POWERS_OF_2},
    /* where another process samples */
    {sizeof(struct offer), HOST_TRAP, MICROSECONDS, 77, 77, 0}};

static bool is_enabled(void)
{
	const char *value = getenv("ROCPROFILER_PC_SAMPLING_BETA_ENABLED");
	return value && (!strcmp(value, "1") || !strcasecmp(value, "on"));
}

/* What a device offers now. */
static const struct offer *offers_of(size_t *count)
{
	bool is_busy = fake_fails("sdk-pc-busy"), is_old = fake_fails("sdk-pc-host-trap");
	*count = fake_fails("sdk-pc-unsupported") ? 0 : is_busy || is_old ? 1 : 2;
	return is_busy ? &offers[2] : offers;
}

int rocprofiler_query_pc_sampling_agent_configurations(
    uint64_t agent, int (*callback)(const struct offer *, size_t, void *), void *data)
{
	size_t count;
	const struct offer *of = offers_of(&count);
	if (!is_enabled())
		return NOT_IMPLEMENTED;
	while (fake_fails("sdk-pc-hangs"))
		pause();
	if (agent < FAKE_AGENT || agent >= FAKE_AGENT + (uint64_t)fake_device_count())
		return 7;
	/* the second device is another one */
	if (fake_fails("sdk-pc-second") && agent > FAKE_AGENT)
		count = 0;
	return fake_fails("sdk-pc-old-driver") ? OLD_DRIVER : callback(of, count, data);
}

static bool is_offered(int method, int unit, uint64_t interval)
{
	size_t count;
	const struct offer *of = offers_of(&count);
	for (size_t index = 0; index < count; index++)
		if (of[index].method == method && of[index].unit == unit &&
		    interval >= of[index].least && interval <= of[index].most &&
		    (!(of[index].flags & POWERS_OF_2) || !(interval & (interval - 1))))
			return true;
	return false;
}

int rocprofiler_configure_pc_sampling_service(uint64_t context, uint64_t agent, int method,
					      int unit, uint64_t interval, uint64_t buffer,
					      int flags)
{
	static uint64_t configured; /* one context of a process */
	uint64_t device = agent - FAKE_AGENT;
	if (!is_enabled())
		return NOT_IMPLEMENTED;
	if (fake_has_begun())
		return LOCKED;
	if (!context || context > fake_context_count)
		return NOT_FOUND;
	if (device >= DEVICES || device >= (uint64_t)fake_device_count() || flags || !buffer)
		return INVALID_ARGUMENT;
	if (fake_fails("sdk-pc-permission"))
		return PERMISSION;
	if (fake_fails("sdk-pc-taken") || fake_fails("sdk-pc-odd"))
		return fake_fails("sdk-pc-odd") ? RATE_EXCEEDED : ERROR;
	if (!is_offered(method, unit, interval))
		return NOT_AVAILABLE;
	if (configured && configured != context)
		return ERROR;
	struct fake_context *of = &fake_contexts[context - 1];
	if (of->methods[device])
		return CONFIGURED;
	configured = context;
	of->methods[device] = method;
	of->sample_buffer = buffer;
	fake_samples_interval = interval;
	return 0;
}
