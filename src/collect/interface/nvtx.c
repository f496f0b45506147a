/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX ranges as regions. A program that carries the header-only NVTX v3 loads the library named by
 * NVTX_INJECTION64_PATH at its first NVTX call and hands it tables of pointers to fill.
 *
 * Push/pop ranges are regions, one stack a domain; start/end ranges may overlap and are timed where
 * they began; marks are counted. Names of named domains are prefixed with theirs. Categories,
 * colours, payloads, resources and thread names are left out. Push and pop answer as with no tool.
 */
#include "collect/intercept/intercept.h"
#include "collect/core/keep.h"
#include "region.h"
#include "collect/core/thread.h"

#include <string.h>

/* ---- the interface, as NVTX v3 fixes it ---- */

enum { NVTX_EXPORT_CALLBACKS = 1 };
enum { NVTX_MODULE_CORE = 1, NVTX_MODULE_CORE2 = 5 };
enum { NVTX_MESSAGE_ASCII = 1, NVTX_MESSAGE_UNICODE = 2, NVTX_MESSAGE_REGISTERED = 3 };
enum { NVTX_NO_PUSH_POP_TRACKING = -2 };

enum nvtx_core {
	CORE_MARK_EX = 1,
	CORE_MARK_A,
	CORE_MARK_W,
	CORE_RANGE_START_EX,
	CORE_RANGE_START_A,
	CORE_RANGE_START_W,
	CORE_RANGE_END,
	CORE_RANGE_PUSH_EX,
	CORE_RANGE_PUSH_A,
	CORE_RANGE_PUSH_W,
	CORE_RANGE_POP,
};

enum nvtx_core2 {
	CORE2_MARK_EX = 1,
	CORE2_RANGE_START_EX,
	CORE2_RANGE_END,
	CORE2_RANGE_PUSH_EX,
	CORE2_RANGE_POP,
	CORE2_REGISTER_STRING_A = 10,
	CORE2_REGISTER_STRING_W,
	CORE2_CREATE_A,
	CORE2_CREATE_W,
};

typedef void (*nvtx_function)(void);

struct nvtx_callbacks {
	size_t struct_bytes;
	int (*module_table)(int module, nvtx_function ***table, unsigned *size);
};

struct nvtx_event {
	uint16_t version;
	uint16_t bytes;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	uint64_t payload;
	int32_t message_type;
	union {
		const char *ascii;
		const wchar_t *unicode;
		const struct text *registered;
	} message;
};

/* ---- names ---- */

#define NAME_MAX 512u

/* A string that lives for ever: a registered one, or a domain's name. */
struct text {
	uint32_t user; /* a domain's stack of regions */
	uint32_t length;
	char bytes[];
};

static _Atomic uint32_t next_user = SN_REGION_NVTX + 1;

/* Never freed: NVTX strings last until the process ends. NULL without memory. */
static struct text *text_new(const char *bytes, size_t length)
{
	struct text *text = sn_keep(sizeof(struct text) + length);
	if (!text)
		return NULL;
	text->length = (uint32_t)length;
	memcpy(text->bytes, bytes, length);
	return text;
}

struct name {
	char bytes[NAME_MAX];
	size_t length;
};

static void name_append(struct name *name, const char *bytes, size_t length)
{
	if (length > sizeof(name->bytes) - name->length)
		length = sizeof(name->bytes) - name->length;
	memcpy(name->bytes + name->length, bytes, length);
	name->length += length;
}

static void name_append_wide(struct name *name, const wchar_t *wide)
{
	name->length +=
	    sn_region_narrow(wide, name->bytes + name->length, sizeof(name->bytes) - name->length);
}

static void name_of_event(struct name *name, const struct text *domain,
			  const struct nvtx_event *event)
{
	name->length = 0;
	if (domain && domain->length) {
		name_append(name, domain->bytes, domain->length);
		name_append(name, ":", 1);
	}
	if (event->message_type == NVTX_MESSAGE_ASCII && event->message.ascii)
		name_append(name, event->message.ascii, strlen(event->message.ascii));
	else if (event->message_type == NVTX_MESSAGE_UNICODE && event->message.unicode)
		name_append_wide(name, event->message.unicode);
	else if (event->message_type == NVTX_MESSAGE_REGISTERED && event->message.registered)
		name_append(name, event->message.registered->bytes,
			    event->message.registered->length);
	else
		name_append(name, "range", 5);
}

/* The forms of a function that are of no domain: by an event's structure, a text, a wide text. */
#define OF_NO_DOMAIN(result, name, call)                                                           \
	static result name##_ex(const struct nvtx_event *event)                                    \
	{                                                                                          \
		call;                                                                              \
	}                                                                                          \
	static result name##_a(const char *text)                                                   \
	{                                                                                          \
		const struct nvtx_event *event = &(struct nvtx_event){                             \
		    .message_type = NVTX_MESSAGE_ASCII, .message.ascii = text};                    \
		call;                                                                              \
	}                                                                                          \
	static result name##_w(const wchar_t *text)                                                \
	{                                                                                          \
		const struct nvtx_event *event = &(struct nvtx_event){                             \
		    .message_type = NVTX_MESSAGE_UNICODE, .message.unicode = text};                \
		call;                                                                              \
	}

/* ---- push and pop ---- */

static uint32_t user_of(const struct text *domain)
{
	return domain ? domain->user : SN_REGION_NVTX;
}

static int push(const struct text *domain, const struct nvtx_event *event, uintptr_t stack)
{
	struct name name;
	name_of_event(&name, domain, event);
	SN_REGION_BEGIN(.name = name.bytes, .length = name.length, .stack = stack,
			.origin = SN_REGION_EITHER, .user = user_of(domain));
	return NVTX_NO_PUSH_POP_TRACKING;
}

static int domain_push_ex(const struct text *domain, const struct nvtx_event *event)
{
	return push(domain, event, SN_CALLER_STACK);
}

OF_NO_DOMAIN(int, push, return push(NULL, event, SN_CALLER_STACK))

static int domain_pop(const struct text *domain)
{
	sn_region_end(user_of(domain), 0);
	return NVTX_NO_PUSH_POP_TRACKING;
}

static int pop(void)
{
	return domain_pop(NULL);
}

/* ---- start and end ---- */

static struct sn_range_slot ranges[SN_RANGES];
static _Atomic uint64_t next_range = 1;

/* 0, which NVTX takes for "no range", where nothing is measured or too many ranges are open. */
static uint64_t domain_start_ex(const struct text *domain, const struct nvtx_event *event)
{
	uint64_t id = atomic_fetch_add_explicit(&next_range, 1, memory_order_relaxed);
	struct name name;
	name_of_event(&name, domain, event);
	return sn_range_open(ranges, id, name.bytes, name.length) ? id : 0;
}

OF_NO_DOMAIN(uint64_t, start, return domain_start_ex(NULL, event))

static void range_end(uint64_t id)
{
	sn_range_close(ranges, id);
}

static void domain_range_end(const struct text *domain, uint64_t id)
{
	range_end(id);
}

/* ---- marks ---- */

static void domain_mark_ex(const struct text *domain, const struct nvtx_event *event)
{
	struct name name;
	name_of_event(&name, domain, event);
	sn_region_mark(name.bytes, name.length);
}

OF_NO_DOMAIN(void, mark, domain_mark_ex(NULL, event))

/* ---- strings and domains ---- */

static const struct text *register_string_a(const struct text *domain, const char *string)
{
	return text_new(string, strlen(string));
}

static const struct text *register_string_w(const struct text *domain, const wchar_t *string)
{
	struct name name = {.length = 0};
	name_append_wide(&name, string);
	return text_new(name.bytes, name.length);
}

static const struct text *domain_create_a(const char *string)
{
	struct text *text = text_new(string, strlen(string));
	if (text)
		text->user = atomic_fetch_add_explicit(&next_user, 1, memory_order_relaxed);
	return text;
}

static const struct text *domain_create_w(const wchar_t *string)
{
	struct name name = {.length = 0};
	name_append_wide(&name, string);
	name_append(&name, "", 1);
	return domain_create_a(name.bytes);
}

/* ---- the tables ---- */

struct entry {
	unsigned position;
	nvtx_function function;
};

#define ENTRY(position, function)                                                                  \
	{                                                                                          \
		position, (nvtx_function)(void *)(function)                                        \
	}

static const struct entry core[] = {
    ENTRY(CORE_MARK_EX, mark_ex),	ENTRY(CORE_MARK_A, mark_a),
    ENTRY(CORE_MARK_W, mark_w),		ENTRY(CORE_RANGE_START_EX, start_ex),
    ENTRY(CORE_RANGE_START_A, start_a), ENTRY(CORE_RANGE_START_W, start_w),
    ENTRY(CORE_RANGE_END, range_end),	ENTRY(CORE_RANGE_PUSH_EX, push_ex),
    ENTRY(CORE_RANGE_PUSH_A, push_a),	ENTRY(CORE_RANGE_PUSH_W, push_w),
    ENTRY(CORE_RANGE_POP, pop),
};

static const struct entry core2[] = {
    ENTRY(CORE2_MARK_EX, domain_mark_ex),
    ENTRY(CORE2_RANGE_START_EX, domain_start_ex),
    ENTRY(CORE2_RANGE_END, domain_range_end),
    ENTRY(CORE2_RANGE_PUSH_EX, domain_push_ex),
    ENTRY(CORE2_RANGE_POP, domain_pop),
    ENTRY(CORE2_REGISTER_STRING_A, register_string_a),
    ENTRY(CORE2_REGISTER_STRING_W, register_string_w),
    ENTRY(CORE2_CREATE_A, domain_create_a),
    ENTRY(CORE2_CREATE_W, domain_create_w),
};

static void fill_table(const struct nvtx_callbacks *callbacks, int module,
		       const struct entry *entries, size_t count)
{
	nvtx_function **table = NULL;
	unsigned size = 0;
	if (!callbacks->module_table(module, &table, &size) || !table)
		return;
	for (size_t i = 0; i < count; i++)
		if (entries[i].position < size && table[entries[i].position])
			*table[entries[i].position] = entries[i].function;
}

/* Called by NVTX, once for each program or library that carries it. 1 for success, as it wants. */
SN_PUBLIC(int, InitializeInjectionNvtx2, (const void *(*export_table)(uint32_t id)))
{
	const struct nvtx_callbacks *callbacks = export_table(NVTX_EXPORT_CALLBACKS);
	if (!sn_measuring() || !(sn_config.sources & SN_SOURCE_REGION) || !callbacks ||
	    callbacks->struct_bytes < sizeof(*callbacks))
		return 0;
	fill_table(callbacks, NVTX_MODULE_CORE, core, sizeof(core) / sizeof(*core));
	fill_table(callbacks, NVTX_MODULE_CORE2, core2, sizeof(core2) / sizeof(*core2));
	return 1;
}
