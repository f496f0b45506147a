/* SPDX-License-Identifier: Apache-2.0 */
/* Writes items into a trace file. */
#include "trace.h"

#include "base/intern.h"
#include "base/table.h"
#include "base/vec.h"
#include "format/measurement/measurement.h"
#include "sonde/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 64, LINE_BYTES = 2 * TEXT_BYTES + 16, RECENT = 256 };

/* The last name with a hash; most events have few names and streams. */
struct recent_name {
	const char *group; /* a static string */
	char name[TEXT_BYTES];
	uint32_t context;
};
struct sn_os_trace {
	struct recent_name recent_names[RECENT];
	struct sn_trace_file *file;
	struct sn_table streams; /* of the file, by process and thread, or by processor */
	struct sn_intern names;	 /* 4 bytes of parent, then the text */
	struct sn_table threads;
	char (*texts)[TEXT_BYTES]; /* by the thread's index: its last name */
	size_t text_capacity;
	uint32_t keys[SN_OS_KEYS];
	uint32_t frequency;
};

static const struct {
	const char *name, *unit;
	enum sonde_attribute_type type;
} keys[SN_OS_KEYS] = {
    [SN_OS_KEY_CPU] = {"cpu", "", SONDE_ATTRIBUTE_UNSIGNED},
    [SN_OS_KEY_WAKER] = {"waker", "", SONDE_ATTRIBUTE_UNSIGNED},
    [SN_OS_KEY_NEXT] = {"next", "", SONDE_ATTRIBUTE_UNSIGNED},
    [SN_OS_KEY_WOKEN] = {"woken", "", SONDE_ATTRIBUTE_UNSIGNED},
    [SN_OS_KEY_RESULT] = {"result", "", SONDE_ATTRIBUTE_SIGNED},
    [SN_OS_KEY_ARGUMENT] = {"argument", "", SONDE_ATTRIBUTE_UNSIGNED},
    [SN_OS_KEY_BYTES] = {"bytes", "bytes", SONDE_ATTRIBUTE_UNSIGNED},
    [SN_OS_KEY_ADDRESS] = {"address", "", SONDE_ATTRIBUTE_UNSIGNED},
    [SN_OS_KEY_DEVICE] = {"device", "", SONDE_ATTRIBUTE_UNSIGNED},
    [SN_OS_KEY_SECTOR] = {"sector", "", SONDE_ATTRIBUTE_UNSIGNED},
    [SN_OS_KEY_ERROR] = {"error", "", SONDE_ATTRIBUTE_SIGNED},
};

static const struct {
	enum sn_trace_tag kind;
	bool is_of_cpu;
} layers[SN_OS_LAYERS] = {
    [SN_OS_LAYER_STATE] = {SN_TRACE_STATE, false},
    [SN_OS_LAYER_SYSCALL] = {SN_TRACE_SYSTEM, false},
    [SN_OS_LAYER_BLOCK] = {SN_TRACE_SYSTEM, false},
    [SN_OS_LAYER_EVENT] = {SN_TRACE_INSTANT, false},
    [SN_OS_LAYER_OCCUPANCY] = {SN_TRACE_STATE, true},
    [SN_OS_LAYER_INTERRUPT] = {SN_TRACE_SYSTEM, true},
    [SN_OS_LAYER_PACKET] = {SN_TRACE_INSTANT, true},
    [SN_OS_LAYER_FREQUENCY] = {SN_TRACE_COUNTER, true},
};

/* ---- definitions ---- */

/* Reads the name of a thread that started before recording and that no record has named. */
static void read_name(int32_t pid, int32_t tid, char text[TEXT_BYTES])
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid > 0 ? pid : tid, tid);
	FILE *file = fopen(path, "re");
	text[0] = 0;
	if (!file)
		return;
	if (fgets(text, TEXT_BYTES, file))
		text[strcspn(text, "\n")] = 0;
	fclose(file);
}

/* The place of a thread's name; NULL without memory. */
static char *thread_text(struct sn_os_trace *trace, int32_t tid)
{
	uint32_t known = trace->threads.count;
	if (sn_vec_reserve(&trace->texts, &trace->text_capacity, known + 1ull))
		return NULL;
	uint32_t number = sn_table_add(&trace->threads, (uint32_t)tid);
	if (number == SN_TABLE_NONE)
		return NULL;
	if (number == known)
		trace->texts[number][0] = 0;
	return trace->texts[number];
}

static void name_thread(void *context, int32_t pid, int32_t tid, const char *name)
{
	char *text = thread_text(context, tid);
	if (text)
		snprintf(text, TEXT_BYTES, "%s", name);
}

static const char *name_of(struct sn_os_trace *trace, int32_t pid, int32_t tid)
{
	char *text = thread_text(trace, tid);
	if (text && !*text)
		read_name(pid, tid, text);
	return text ? text : "";
}

/* The stream of a thread or a processor; SN_ID_NONE without memory. */
static uint32_t stream_of(struct sn_os_trace *trace, const struct sn_os_item *item)
{
	bool is_of_cpu = layers[item->layer].is_of_cpu;
	int32_t pid = is_of_cpu ? 0 : item->pid;
	/* process numbers are not negative, so the highest bit is free */
	uint64_t key = sn_table_pair((uint32_t)pid, (uint32_t)item->tid) | (uint64_t)is_of_cpu
									       << 63;
	uint32_t known = sn_table_find(&trace->streams, key);
	if (known != SN_TABLE_NONE)
		return known;
	char text[32];
	snprintf(text, sizeof(text), "CPU %d", item->tid);
	const char *name = is_of_cpu ? text : name_of(trace, pid, item->tid);
	struct sn_trace_stream stream = {.kind = is_of_cpu ? SN_TRACE_STREAM_PROCESSOR
							   : SN_TRACE_STREAM_THREAD,
					 .thread = SN_ID_NONE,
					 .pid = (uint64_t)pid,
					 .tid = (uint64_t)item->tid,
					 .device = SN_ID_NONE,
					 .device_context = SN_ID_NONE,
					 .queue = SN_ID_NONE,
					 .name_length = (uint32_t)strlen(name),
					 .name = name};
	uint32_t created = sn_trace_file_stream(trace->file, &stream);
	return sn_table_put(&trace->streams, key, created) ? SN_ID_NONE : created;
}

static uint32_t name_below(struct sn_os_trace *trace, uint32_t parent, const char *text)
{
	char line[LINE_BYTES];
	size_t length = strnlen(text, LINE_BYTES - sizeof(parent));
	memcpy(line, &parent, sizeof(parent));
	memcpy(line + sizeof(parent), text, length);
	uint32_t known = trace->names.count;
	uint32_t number = sn_intern_add(&trace->names, line, sizeof(parent) + length);
	if (number == SN_INTERN_NONE || number < known)
		return number;
	return sn_trace_file_name(trace->file, SN_FRAME_OS, parent, text);
}

static uint32_t make_context(struct sn_os_trace *trace, const struct sn_os_item *item)
{
	char text[LINE_BYTES];
	uint32_t name = SN_ID_NONE;
	if (item->layer == SN_OS_LAYER_FREQUENCY)
		return name_below(trace, name, "frequency");
	if (item->group)
		name = name_below(trace, name, item->group);
	if (item->layer == SN_OS_LAYER_OCCUPANCY) {
		name = name_below(trace, name, "running");
		snprintf(text, sizeof(text), "%s %d",
			 name_of(trace, item->named_pid, item->named_tid), item->named_tid);
		return name_below(trace, name, text);
	}
	return item->name ? name_below(trace, name, item->name) : name;
}

/* The same, for most names without a lookup. */
static uint32_t context_of(struct sn_os_trace *trace, const struct sn_os_item *item)
{
	if (!item->name || item->layer == SN_OS_LAYER_OCCUPANCY)
		return make_context(trace, item);
	size_t length = strlen(item->name);
	uint32_t hash = (uint32_t)length;
	for (size_t i = 0; i < length && i < 16; i++)
		hash = hash * 31 + (unsigned char)item->name[i];
	struct recent_name *recent = trace->recent_names + hash % RECENT;
	if (recent->group == item->group && length < TEXT_BYTES &&
	    !memcmp(recent->name, item->name, length + 1))
		return recent->context;
	uint32_t context = make_context(trace, item);
	if (length < TEXT_BYTES && context != SN_ID_NONE) {
		recent->group = item->group;
		memcpy(recent->name, item->name, length + 1);
		recent->context = context;
	}
	return context;
}

/* ---- events ---- */

static void add_item(void *context, const struct sn_os_item *item)
{
	struct sn_os_trace *trace = context;
	struct sn_trace_attribute attributes[SN_OS_KEYS];
	/* defined when it is first used, because reports would show a metric without values */
	if (item->layer == SN_OS_LAYER_FREQUENCY && trace->frequency == SN_ID_NONE)
		trace->frequency =
		    sn_trace_file_counter(trace->file, SN_METRIC_COUNT, "frequency", "Hz");
	struct sn_trace_event event = {.kind = (uint8_t)layers[item->layer].kind,
				       .stream = stream_of(trace, item),
				       .context = context_of(trace, item),
				       .counter = trace->frequency,
				       .start_ns = item->start_ns,
				       .end_ns = item->end_ns,
				       .value = item->value,
				       .link = item->link ? SN_TRACE_LINK_WAKEUP + item->link : 0,
				       .attributes = attributes};
	if (event.stream == SN_ID_NONE || event.context == SN_ID_NONE) {
		sn_trace_file_lose(trace->file, SN_TRACE_LOST_BUSY, 1);
		return;
	}
	for (uint32_t key = 0; key < SN_OS_KEYS; key++)
		if (item->present >> key & 1)
			attributes[event.attribute_count++] = (struct sn_trace_attribute){
			    .key = trace->keys[key], .value = (uint64_t)item->values[key]};
	sn_trace_file_add(trace->file, &event);
}

struct sn_os_trace *sn_os_trace_new(struct sn_trace_file *file)
{
	struct sn_os_trace *trace = calloc(1, sizeof(*trace));
	if (!trace)
		return NULL;
	trace->file = file;
	for (int key = 0; key < SN_OS_KEYS; key++)
		trace->keys[key] =
		    sn_trace_file_key(file, keys[key].type, keys[key].name, keys[key].unit);
	trace->frequency = SN_ID_NONE;
	return trace;
}

void sn_os_trace_free(struct sn_os_trace *trace)
{
	if (!trace)
		return;
	sn_table_release(&trace->streams);
	sn_intern_release(&trace->names);
	sn_table_release(&trace->threads);
	free(trace->texts);
	free(trace);
}

struct sn_os_sink sn_os_trace_sink(struct sn_os_trace *trace)
{
	return (struct sn_os_sink){add_item, name_thread, trace};
}
