/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of any tracer: every event becomes one, with all its fields as attributes.
 *
 *   who      the context's vtid or tid; in a kernel's trace the thread that the processor runs, by
 *            sched_switch; else the processor
 *   how long NAME_entry and NAME_exit, NAME_begin and NAME_end, syscall_entry_NAME and
 *            syscall_exit_NAME are one interval, where both come on one thread; all else are
 * instants states   sched_switch, sched_wakeup, sched_waking: what threads did, and what processors
 * ran
 */
#include "ctf.h"

#include "base/vec.h"
#include "import/core/begin_end.h"
#include "format/measurement/measurement.h"
#include "import/core/recording.h"
#include "import/core/scheduler.h"

#include <stdio.h>
#include <string.h>

#define ATTRIBUTES_MAX	 48
#define KERNEL_PROCESSOR 1 /* `third` of the place of a processor's line */

struct sn_ctf_any {
	struct sn_recording recording;
	struct sn_begins begins;
	struct sn_sched sched;
	uint32_t *current; /* by processor: the thread, UINT32_MAX not known */
	size_t current_count, current_capacity;
	struct sn_intern tids;	/* uint32_t */
	uint32_t *pids, *names; /* by tid: process, builder's string */
	size_t pid_capacity, name_capacity;
	uint32_t key_cpu, key_waker, key_tid;
	uint64_t unended, unpaired, discarded;
	uint64_t last_ns;
};

/* What an event says of who it was. */
struct who {
	bool has_tid, has_cpu;
	uint32_t pid, tid, cpu;
	const char *name;
};

struct attributes {
	struct sn_attribute items[ATTRIBUTES_MAX];
	uint16_t count;
};

/* ---- who ---- */

static bool find_integer(const bt_field *const *structures, const char *const *names,
			 uint32_t *value)
{
	uint64_t found;
	for (int i = 0; i < 3; i++)
		for (int k = 0; names[k]; k++)
			if (sn_ctf_integer(sn_ctf_member(structures[i], names[k]), &found)) {
				*value = (uint32_t)found;
				return true;
			}
	return false;
}

static struct who who_of(struct sn_ctf_any *any, const bt_event *event)
{
	static const char *const tids[] = {"vtid", "tid", "pthread_id", NULL};
	static const char *const pids[] = {"vpid", "pid", NULL};
	static const char *const cpus[] = {"cpu_id", "cpu", NULL};
	const bt_packet *packet = bt_event_borrow_packet_const(event);
	const bt_field *structures[] = {bt_event_borrow_common_context_field_const(event),
					bt_event_borrow_specific_context_field_const(event),
					packet ? bt_packet_borrow_context_field_const(packet)
					       : NULL};
	struct who who = {0};
	who.has_cpu = find_integer(structures, cpus, &who.cpu);
	who.has_tid = find_integer(structures, tids, &who.tid);
	if (!find_integer(structures, pids, &who.pid))
		who.pid = who.tid;
	for (int i = 0; i < 3 && !who.name; i++)
		who.name = sn_ctf_string(sn_ctf_member(structures[i], "procname"));
	if (!who.has_tid && who.has_cpu && who.cpu < any->current_count &&
	    any->current[who.cpu] != UINT32_MAX) {
		who.tid = any->current[who.cpu];
		who.has_tid = who.tid != 0;
		uint32_t number = sn_intern_find(&any->tids, &who.tid, sizeof(who.tid));
		who.pid = number == SN_INTERN_NONE ? who.tid : any->pids[number];
	}
	return who;
}

static int note_thread(struct sn_ctf_any *any, uint32_t pid, uint32_t tid, const char *name)
{
	uint32_t before = any->tids.count;
	uint32_t number = sn_intern_add(&any->tids, &tid, sizeof(tid));
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&any->pids, &any->pid_capacity, number + 1ull) < 0 ||
	    sn_vec_reserve(&any->names, &any->name_capacity, number + 1ull) < 0)
		return SN_ERR_MEMORY;
	if (number == before) {
		any->pids[number] = pid;
		any->names[number] = SONDE_NONE;
	}
	if (name && *name)
		any->names[number] = sn_db_builder_string(any->recording.builder, name);
	return 0;
}

/* NULL without memory. */
static struct sn_recording_line *thread_line(struct sn_ctf_any *any, uint32_t tid)
{
	uint32_t number = sn_intern_find(&any->tids, &tid, sizeof(tid));
	uint32_t pid = number == SN_INTERN_NONE ? tid : any->pids[number];
	struct sn_recording_place place = {0, pid, tid, 0, 0};
	struct sn_recording_line *line = sn_recording_line(&any->recording, &place);
	if (line && number != SN_INTERN_NONE && any->names[number] != SONDE_NONE)
		line->name = any->names[number];
	return line;
}

static struct sn_recording_line *cpu_line(struct sn_ctf_any *any, uint32_t cpu)
{
	char name[32];
	struct sn_recording_place place = {0, 0, cpu, KERNEL_PROCESSOR, 0};
	struct sn_recording_line *line = sn_recording_line(&any->recording, &place);
	snprintf(name, sizeof(name), "CPU %u", cpu);
	if (!line)
		return NULL;
	line->name = sn_db_builder_string(any->recording.builder, name);
	line->is_processor = true;
	return line;
}

static struct sn_recording_line *line_of(struct sn_ctf_any *any, const struct who *who)
{
	if (who->has_tid)
		return note_thread(any, who->pid, who->tid, who->name) ? NULL
								       : thread_line(any, who->tid);
	return cpu_line(any, who->has_cpu ? who->cpu : 0);
}

/* ---- states ---- */

static int add_state(struct sn_ctf_any *any, struct sn_recording_line *line, uint32_t context,
		     const struct sn_sched_interval *interval, const struct sn_attribute *attribute)
{
	struct sn_event event = {
	    .start_ns = interval->start_ns + SN_RECORDING_BIAS_NS,
	    .end_ns = interval->end_ns + SN_RECORDING_BIAS_NS,
	    .context = context,
	    .metric = SONDE_NONE,
	    .kind = SONDE_TRACK_STATES,
	    .attribute_count = attribute->key != SONDE_NONE,
	    .attributes = attribute,
	};
	if (!line)
		return SN_ERR_MEMORY;
	sn_recording_add(&any->recording, line, &event);
	return 0;
}

static uint32_t child(struct sn_ctf_any *any, uint32_t parent, unsigned kind, const char *name)
{
	struct sn_db_builder *builder = any->recording.builder;
	return sn_db_builder_context(builder, parent,
				     sn_db_builder_named_frame(builder, kind, name));
}

static int take_state(void *context, const struct sn_sched_interval *interval)
{
	struct sn_ctf_any *any = context;
	struct sn_attribute attribute = {any->key_tid, 0, interval->tid};
	if (interval->processor != UINT32_MAX) {
		char name[256];
		uint32_t number = sn_intern_find(&any->tids, &interval->tid, sizeof(interval->tid));
		uint32_t text = number == SN_INTERN_NONE ? SONDE_NONE : any->names[number];
		snprintf(name, sizeof(name), "thread %u", interval->tid);
		if (text != SONDE_NONE)
			snprintf(name, sizeof(name), "%s",
				 sn_db_builder_text(any->recording.builder, text));
		return add_state(any, cpu_line(any, interval->processor),
				 child(any, 0, SN_FRAME_THREAD, name), interval, &attribute);
	}
	const struct sn_sched_thread *thread = &interval->thread;
	uint32_t state = child(any, 0, SN_FRAME_OS, sn_sched_state_name(thread->state));
	if (thread->state == SN_SCHED_BLOCKED)
		state = child(any, state, SN_FRAME_OS, sn_sched_reason(thread->why));
	attribute = (struct sn_attribute){SONDE_NONE, 0, 0};
	if (thread->state == SN_SCHED_RUNNING)
		attribute = (struct sn_attribute){any->key_cpu, 0, thread->cpu};
	else if (thread->waker)
		attribute = (struct sn_attribute){any->key_waker, 0, thread->waker};
	return add_state(any, thread_line(any, interval->tid), state, interval, &attribute);
}

static int set_current(struct sn_ctf_any *any, uint32_t cpu, uint32_t tid)
{
	if (cpu >= SN_SCHED_PROCESSORS_MAX)
		return 0;
	if (sn_vec_reserve(&any->current, &any->current_capacity, cpu + 1ull) < 0)
		return SN_ERR_MEMORY;
	while (any->current_count <= cpu)
		any->current[any->current_count++] = UINT32_MAX;
	any->current[cpu] = tid;
	return 0;
}

static int take_switch(struct sn_ctf_any *any, const bt_field *payload, const struct who *who,
		       uint64_t time_ns)
{
	uint64_t from, to;
	bool could_go_on;
	if (!who->has_cpu || !sn_ctf_integer(sn_ctf_member(payload, "prev_tid"), &from) ||
	    !sn_ctf_integer(sn_ctf_member(payload, "next_tid"), &to))
		return 0;
	char why = sn_sched_letter(sn_ctf_integer_or(payload, "prev_state", 0), &could_go_on);
	const char *names[] = {sn_ctf_string(sn_ctf_member(payload, "prev_comm")),
			       sn_ctf_string(sn_ctf_member(payload, "next_comm"))};
	if ((from && note_thread(any, (uint32_t)from, (uint32_t)from, names[0])) ||
	    (to && note_thread(any, (uint32_t)to, (uint32_t)to, names[1])) ||
	    set_current(any, who->cpu, (uint32_t)to))
		return SN_ERR_MEMORY;
	return sn_sched_switch(&any->sched, time_ns, who->cpu, (uint32_t)from, could_go_on, why,
			       (uint32_t)to);
}

static int take_wakeup(struct sn_ctf_any *any, const bt_field *payload, const struct who *who,
		       uint64_t time_ns)
{
	uint64_t tid;
	if (!sn_ctf_integer(sn_ctf_member(payload, "tid"), &tid))
		return 0;
	return sn_sched_wake(&any->sched, time_ns, (uint32_t)tid, who->has_tid ? who->tid : 0);
}

/* ---- events ---- */

static void put_attribute(struct sn_ctf_any *any, struct attributes *attributes, const char *name,
			  enum sonde_attribute_type type, uint64_t value)
{
	if (attributes->count == ATTRIBUTES_MAX)
		return;
	uint32_t key = sn_recording_attribute_key(&any->recording, name, strlen(name), type);
	attributes->items[attributes->count++] = (struct sn_attribute){key, 0, value};
}

/* Arrays of numbers as text, the first of them. */
static void put_array(struct sn_ctf_any *any, struct attributes *attributes, const char *name,
		      const bt_field *field)
{
	char text[256] = "[";
	size_t used = 1;
	uint64_t count = bt_field_array_get_length(field), value;
	for (uint64_t i = 0; i < count && used < sizeof(text) - 32; i++)
		if (sn_ctf_integer(bt_field_array_borrow_element_field_by_index_const(field, i),
				   &value))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%lld",
						 used > 1 ? ", " : "", (long long)value);
	snprintf(text + used, sizeof(text) - used, "]");
	if (used > 1)
		put_attribute(any, attributes, name, SONDE_ATTRIBUTE_STRING,
			      sn_db_builder_string(any->recording.builder, text));
}

static void put_members(struct sn_ctf_any *any, struct attributes *attributes,
			const bt_field *structure, const char *prefix, unsigned depth)
{
	if (!structure || bt_field_get_class_type(structure) != BT_FIELD_CLASS_TYPE_STRUCTURE)
		return;
	const bt_field_class *class = bt_field_borrow_class_const(structure);
	uint64_t count = bt_field_class_structure_get_member_count(class);
	for (uint64_t i = 0; i < count && attributes->count < ATTRIBUTES_MAX; i++) {
		const bt_field *field =
		    bt_field_structure_borrow_member_field_by_index_const(structure, i);
		bt_field_class_type type = bt_field_get_class_type(field);
		enum sonde_attribute_type scalar;
		uint64_t value;
		char name[128];
		snprintf(name, sizeof(name), "%s%s%s", prefix, *prefix ? "." : "",
			 bt_field_class_structure_member_get_name(
			     bt_field_class_structure_borrow_member_by_index_const(class, i)));
		if (sn_ctf_scalar(any->recording.builder, field, &scalar, &value))
			put_attribute(any, attributes, name, scalar, value);
		else if (type == BT_FIELD_CLASS_TYPE_STRUCTURE && depth < 3)
			put_members(any, attributes, field, name, depth + 1);
		else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_ARRAY))
			put_array(any, attributes, name, field);
	}
}

/* "syscall_entry_read", "irq_handler_entry", "lttng_ust_cyg_profile:func_entry", "frame_begin" in
 * the name that begin and end share, and which of both it is: 1, -1, 0 neither. */
static int part_of(const char *name, char *base, size_t size)
{
	static const struct {
		const char *text;
		int part;
	} ends[] = {{"_entry", 1}, {"_exit", -1},  {"_begin", 1}, {"_end", -1},
		    {"_enter", 1}, {"_leave", -1}, {"_start", 1}, {"_stop", -1}};
	size_t length = strlen(name);
	if (!strncmp(name, "syscall_entry_", 14) || !strncmp(name, "syscall_exit_", 13)) {
		bool is_entry = name[9] == 'n';
		snprintf(base, size, "syscall_%s", name + (is_entry ? 14 : 13));
		return is_entry ? 1 : -1;
	}
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t end = strlen(ends[i].text);
		if (length <= end || strcmp(name + length - end, ends[i].text) != 0)
			continue;
		snprintf(base, size, "%.*s", (int)(length - end), name);
		return ends[i].part;
	}
	snprintf(base, size, "%s", name);
	return 0;
}

static enum sn_activity_category category_of(const char *base)
{
	if (!strncmp(base, "syscall_", 8) || strstr(base, "irq") || strstr(base, "page_fault"))
		return SN_ACTIVITY_SYSTEM;
	return SN_ACTIVITY_OTHER;
}

/* What to call it: a function's events say which. */
static void name_event(const bt_field *payload, char *base, size_t size)
{
	size_t length = strlen(base);
	uint64_t address;
	if (length < 4 || strcmp(base + length - 4, "func") != 0)
		return;
	const char *name = sn_ctf_string(sn_ctf_member(payload, "name"));
	if (name && *name)
		snprintf(base, size, "%s", name);
	else if (sn_ctf_integer(sn_ctf_member(payload, "addr"), &address))
		snprintf(base, size, "0x%llx", (unsigned long long)address);
}

static int add(struct sn_ctf_any *any, uint32_t line, enum sn_activity_category category,
	       const char *name, struct sn_event *event)
{
	if (sn_recording_name_number(&any->recording, category, name, strlen(name),
				     &event->context))
		return SN_ERR_MEMORY;
	sn_recording_add(&any->recording, any->recording.lines + line, event);
	return 0;
}

static int end_interval(struct sn_ctf_any *any, uint32_t line, const void *key, size_t key_bytes,
			const char *name, struct sn_event *event)
{
	struct sn_begin begin;
	if (!sn_begins_end(&any->begins, key, key_bytes, &begin)) {
		any->unpaired++;
		return add(any, line, SN_ACTIVITY_INSTANT, name, event);
	}
	/* what came back belongs to the whole */
	struct sn_attribute all[2 * ATTRIBUTES_MAX];
	uint16_t count = begin.event.attribute_count;
	memcpy(all, begin.event.attributes, count * sizeof(*all));
	for (uint16_t i = 0; i < event->attribute_count; i++) {
		bool is_new = true;
		for (uint16_t k = 0; k < begin.event.attribute_count && is_new; k++)
			is_new = all[k].key != event->attributes[i].key;
		if (is_new)
			all[count++] = event->attributes[i];
	}
	free((void *)begin.event.attributes);
	begin.event.end_ns = event->end_ns;
	begin.event.attributes = all;
	begin.event.attribute_count = count;
	sn_recording_add(&any->recording, any->recording.lines + begin.line, &begin.event);
	return 0;
}

struct begin_key {
	uint32_t line, name;
};

static int take_named(struct sn_ctf_any *any, const char *name, const bt_field *payload,
		      struct sn_recording_line *line, struct sn_event *event)
{
	char base[256];
	int part = part_of(name, base, sizeof(base));
	enum sn_activity_category category = category_of(base);
	struct begin_key key = {(uint32_t)(line - any->recording.lines),
				sn_db_builder_string(any->recording.builder, base)};
	if (!part)
		return add(any, key.line, SN_ACTIVITY_INSTANT, name, event);
	if (part < 0)
		return end_interval(any, key.line, &key, sizeof(key), name, event);
	name_event(payload, base, sizeof(base));
	if (sn_recording_name_number(&any->recording, category, base, strlen(base),
				     &event->context))
		return SN_ERR_MEMORY;
	return sn_begins_begin(&any->begins, &key, sizeof(key), event, key.line);
}

int sn_ctf_any_take(void *context, const bt_event *event, uint64_t time_ns)
{
	struct sn_ctf_any *any = context;
	const char *name = bt_event_class_get_name(bt_event_borrow_class_const(event));
	const bt_field *payload = bt_event_borrow_payload_field_const(event);
	struct who who = who_of(any, event);
	struct sn_recording_line *line = line_of(any, &who);
	struct attributes attributes;
	attributes.count = 0;
	int result = line ? 0 : SN_ERR_MEMORY;
	if (!name)
		name = "[unnamed]";
	if (time_ns >= (uint64_t)SN_RECORDING_BIAS_NS) {
		any->recording.misplaced++;
		return result;
	}
	any->last_ns = time_ns;
	put_members(any, &attributes, payload, "", 0);
	put_members(any, &attributes, bt_event_borrow_specific_context_field_const(event),
		    "context", 0);
	if (who.has_cpu)
		put_attribute(any, &attributes, "cpu", SONDE_ATTRIBUTE_UNSIGNED, who.cpu);
	struct sn_event made = {
	    .start_ns = time_ns + SN_RECORDING_BIAS_NS,
	    .end_ns = time_ns + SN_RECORDING_BIAS_NS,
	    .metric = SONDE_NONE,
	    .kind = SONDE_TRACK_INTERVALS,
	    .attribute_count = attributes.count,
	    .attributes = attributes.items,
	};
	if (!result)
		result = take_named(any, name, payload, line, &made);
	if (!result && !strcmp(name, "sched_switch"))
		result = take_switch(any, payload, &who, time_ns);
	else if (!result && (!strcmp(name, "sched_wakeup") || !strcmp(name, "sched_waking") ||
			     !strcmp(name, "sched_wakeup_new")))
		result = take_wakeup(any, payload, &who, time_ns);
	return result;
}

/* ---- the whole ---- */

struct sn_ctf_any *sn_ctf_any_new(const struct sn_import_request *request,
				  struct sn_db_builder *builder)
{
	struct sn_ctf_any *any = calloc(1, sizeof(*any));
	if (!any)
		return NULL;
	sn_recording_begin(&any->recording, "ctf", builder, request->events);
	sn_begins_init(&any->begins);
	any->sched.take = take_state;
	any->sched.context = any;
	any->key_cpu =
	    sn_recording_attribute_key(&any->recording, "cpu", 3, SONDE_ATTRIBUTE_UNSIGNED);
	any->key_waker =
	    sn_recording_attribute_key(&any->recording, "waker", 5, SONDE_ATTRIBUTE_UNSIGNED);
	any->key_tid =
	    sn_recording_attribute_key(&any->recording, "tid", 3, SONDE_ATTRIBUTE_UNSIGNED);
	return any;
}

static void forget(struct sn_ctf_any *any)
{
	sn_sched_release(&any->sched);
	any->sched = (struct sn_sched){.take = take_state, .context = any};
	sn_intern_release(&any->tids);
	sn_intern_init(&any->tids);
	any->current_count = 0;
}

void sn_ctf_any_free(struct sn_ctf_any *any)
{
	if (!any)
		return;
	forget(any);
	sn_begins_release(&any->begins);
	sn_recording_release(&any->recording);
	free(any->current);
	free(any->pids);
	free(any->names);
	free(any);
}

int sn_ctf_any_begin(struct sn_ctf_any *any, const char *path, struct sn_error *error)
{
	forget(any);
	return sn_recording_open(&any->recording, path, error);
}

/* What has no end is taken to the end of the trace. */
static void end_begun(struct sn_ctf_any *any)
{
	struct sn_begin begin;
	while (sn_begins_left(&any->begins, &begin)) {
		any->unended++;
		begin.event.end_ns = any->last_ns + SN_RECORDING_BIAS_NS;
		sn_recording_add(&any->recording, any->recording.lines + begin.line, &begin.event);
		free((void *)begin.event.attributes);
	}
	sn_begins_release(&any->begins);
}

/* The program of a thread is what its process's first thread is called, that of the whole what most
 * events are of. */
static void name_programs(struct sn_ctf_any *any)
{
	struct sn_recording *recording = &any->recording;
	uint64_t most = 0;
	for (uint32_t i = 0; i < recording->places.count; i++) {
		struct sn_recording_line *line = recording->lines + i;
		const struct sn_recording_place *place = sn_intern_at(&recording->places, i, NULL);
		uint32_t first = (uint32_t)place->first;
		uint32_t number = sn_intern_find(&any->tids, &first, sizeof(first));
		if (line->is_processor)
			continue;
		line->program = number == SN_INTERN_NONE || any->names[number] == SONDE_NONE
				    ? line->name
				    : any->names[number];
		if (line->event_count > most && line->program != SONDE_NONE) {
			most = line->event_count;
			recording->program = line->program;
		}
	}
}

int sn_ctf_any_end(struct sn_ctf_any *any, size_t path_count, const struct sn_ctf_taker *taker,
		   struct sn_error *error)
{
	end_begun(any);
	if (sn_sched_finish(&any->sched))
		return sn_fail(error, SN_ERR_MEMORY, "out of memory");
	name_programs(any);
	any->recording.misplaced += taker->untimed;
	any->discarded += taker->discarded;
	return sn_recording_build(&any->recording, path_count, error);
}

void sn_ctf_any_finish(struct sn_ctf_any *any)
{
	struct sn_db_builder *builder = any->recording.builder;
	sn_recording_finish(&any->recording);
	if (any->discarded)
		sn_db_builder_drop(builder, "ctf-discarded",
				   "events that the tracer had no room for", any->discarded);
	if (any->unpaired)
		sn_db_builder_drop(builder, "import-unpaired", "ends of events without a begin",
				   any->unpaired);
	if (any->unended)
		sn_db_builder_drop(builder, "import-unended",
				   "events without an end, taken to the end of the recording",
				   any->unended);
}
