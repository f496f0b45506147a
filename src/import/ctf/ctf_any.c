/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of a CTF trace from any tracer, as instants and intervals with all their fields as
 * attributes.
 *
 *   thread   the context's vtid or tid; in a kernel's trace the thread that the processor runs, by
 *            sched_switch; else the event is on the processor's track
 *   interval NAME_entry and NAME_exit, NAME_begin and NAME_end, syscall_entry_NAME and
 *            syscall_exit_NAME, if both are on one thread; all other events are instants
 *   states   from sched_switch, sched_wakeup, sched_waking: what threads did, and what processors ran
 */
#include "ctf.h"

#include "base/table.h"
#include "base/text.h"
#include "base/vec.h"
#include "import/core/track_sink.h"
#include "system/scheduler.h"

#include <stdio.h>
#include <string.h>

struct sn_ctf_any {
	struct sn_db_builder *builder;
	struct sn_track_sink *sink;
	uint32_t *current; /* by processor: the running thread, UINT32_MAX unknown */
	size_t current_count, current_capacity;
	struct sn_table tids;
	struct thread {
		uint32_t pid, name; /* name: builder's string, SONDE_NONE unknown */
	} * threads;		    /* by the tid's number in `tids` */
	size_t thread_capacity;
	uint64_t lost[SN_CTF_PACKETS + 1]; /* by enum sn_ctf_loss */
};

/* The thread and processor of an event, as far as its fields contain them. */
struct who {
	bool has_tid, has_cpu;
	uint32_t pid, tid, cpu;
	const char *name;
};

/* ---- threads ---- */

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

/* A thread's process and name; for an unknown thread itself as the process. */
static struct thread thread_of(const struct sn_ctf_any *any, uint32_t tid)
{
	uint32_t number = sn_table_find(&any->tids, tid);
	return number == SN_TABLE_NONE ? (struct thread){tid, SONDE_NONE} : any->threads[number];
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
		who.pid = thread_of(any, who.tid).pid;
	}
	return who;
}

static int note_thread(struct sn_ctf_any *any, uint32_t pid, uint32_t tid, const char *name)
{
	uint32_t before = any->tids.count;
	if (sn_vec_reserve(&any->threads, &any->thread_capacity, before + 1ull) < 0)
		return SN_ERR_MEMORY;
	uint32_t number = sn_table_add(&any->tids, tid);
	if (number == SN_TABLE_NONE)
		return SN_ERR_MEMORY;
	if (number == before)
		any->threads[number] = (struct thread){pid, SONDE_NONE};
	if (name && *name)
		any->threads[number].name = sn_db_builder_string(any->builder, name);
	return 0;
}

/* The sink's track of a thread; SONDE_NONE without memory. */
static uint32_t thread_track(void *context, uint32_t tid)
{
	struct sn_ctf_any *any = context;
	struct thread thread = thread_of(any, tid);
	struct sn_track_place place = {0, thread.pid, tid, 0, 0};
	uint32_t track = sn_track_sink_track(any->sink, &place);
	if (track != SONDE_NONE && thread.name != SONDE_NONE)
		sn_track_sink_name_track(any->sink, track, thread.name);
	return track;
}

static uint32_t track_of(struct sn_ctf_any *any, const struct who *who)
{
	if (!who->has_tid)
		return sn_track_sink_processor(any->sink, who->has_cpu ? who->cpu : 0);
	return note_thread(any, who->pid, who->tid, who->name) ? SONDE_NONE
							       : thread_track(any, who->tid);
}

/* ---- the scheduler ---- */

static struct sn_sched *scheduler(struct sn_ctf_any *any)
{
	return sn_track_sink_scheduler(any->sink, &(struct sn_track_threads){thread_track, any});
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

static int feed_switch(struct sn_ctf_any *any, const bt_field *payload, const struct who *who,
		       uint64_t time_ns)
{
	uint64_t from, to;
	bool could_go_on;
	if (!who->has_cpu || !sn_ctf_integer(sn_ctf_member(payload, "prev_tid"), &from) ||
	    !sn_ctf_integer(sn_ctf_member(payload, "next_tid"), &to))
		return 0;
	char why = sn_sched_letter(sn_ctf_integer_or(payload, "prev_state", 0), &could_go_on);
	const char *from_name = sn_ctf_string(sn_ctf_member(payload, "prev_comm"));
	const char *to_name = sn_ctf_string(sn_ctf_member(payload, "next_comm"));
	if ((from && note_thread(any, (uint32_t)from, (uint32_t)from, from_name)) ||
	    (to && note_thread(any, (uint32_t)to, (uint32_t)to, to_name)) ||
	    set_current(any, who->cpu, (uint32_t)to))
		return SN_ERR_MEMORY;
	struct sn_sched *sched = scheduler(any);
	return !sched ? SN_ERR_MEMORY
		      : sn_sched_switch(sched, time_ns, who->cpu, (uint32_t)from, could_go_on, why,
					(uint32_t)to);
}

static int feed_wakeup(struct sn_ctf_any *any, const bt_field *payload, const struct who *who,
		       uint64_t time_ns)
{
	uint64_t tid;
	if (!sn_ctf_integer(sn_ctf_member(payload, "tid"), &tid))
		return 0;
	struct sn_sched *sched = scheduler(any);
	return !sched ? SN_ERR_MEMORY
		      : sn_sched_wake(sched, time_ns, (uint32_t)tid, who->has_tid ? who->tid : 0);
}

/* ---- events ---- */

static void put_attribute(struct sn_ctf_any *any, struct sn_track_attributes *attributes,
			  const char *name, enum sonde_attribute_type type, uint64_t value)
{
	if (attributes->count < SN_TRACK_ATTRIBUTES_MAX)
		sn_track_attributes_put(
		    attributes, sn_track_sink_key(any->sink, name, strlen(name), type), value);
}

/* An array of numbers as a text, truncated to its first elements. */
static void put_array(struct sn_ctf_any *any, struct sn_track_attributes *attributes,
		      const char *name, const bt_field *field)
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
			      sn_db_builder_string(any->builder, text));
}

static void put_members(struct sn_ctf_any *any, struct sn_track_attributes *attributes,
			const bt_field *structure, const char *prefix, unsigned depth)
{
	if (!structure || bt_field_get_class_type(structure) != BT_FIELD_CLASS_TYPE_STRUCTURE)
		return;
	const bt_field_class *class = bt_field_borrow_class_const(structure);
	uint64_t count = bt_field_class_structure_get_member_count(class);
	for (uint64_t i = 0; i < count && attributes->count < SN_TRACK_ATTRIBUTES_MAX; i++) {
		const bt_field *field =
		    bt_field_structure_borrow_member_field_by_index_const(structure, i);
		bt_field_class_type type = bt_field_get_class_type(field);
		enum sonde_attribute_type scalar;
		uint64_t value;
		char name[128];
		snprintf(name, sizeof(name), "%s%s%s", prefix, *prefix ? "." : "",
			 bt_field_class_structure_member_get_name(
			     bt_field_class_structure_borrow_member_by_index_const(class, i)));
		if (sn_ctf_scalar(any->builder, field, &scalar, &value))
			put_attribute(any, attributes, name, scalar, value);
		else if (type == BT_FIELD_CLASS_TYPE_STRUCTURE && depth < 3)
			put_members(any, attributes, field, name, depth + 1);
		else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_ARRAY))
			put_array(any, attributes, name, field);
	}
}

/* Whether an event is the begin (1) or the end (-1) of an interval, or neither (0); `base` becomes
 * the name that begin and end share: of "syscall_entry_read", "irq_handler_entry",
 * "lttng_ust_cyg_profile:func_entry", "frame_begin". */
static int part_of(const char *name, char *base, size_t size)
{
	static const struct {
		const char *text;
		int part;
	} ends[] = {{"_entry", 1}, {"_exit", -1},  {"_begin", 1}, {"_end", -1},
		    {"_enter", 1}, {"_leave", -1}, {"_start", 1}, {"_stop", -1}};
	size_t length = strlen(name);
	if (sn_text_begins(name, "syscall_entry_") || sn_text_begins(name, "syscall_exit_")) {
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
	if (sn_text_begins(base, "syscall_") || strstr(base, "irq") || strstr(base, "page_fault"))
		return SN_ACTIVITY_SYSTEM;
	return SN_ACTIVITY_OTHER;
}

/* Names the entry to a function by the function, whose name or address is a field. */
static void name_event(const bt_field *payload, char *base, size_t size)
{
	uint64_t address;
	if (!sn_text_ends(base, "func"))
		return;
	const char *name = sn_ctf_string(sn_ctf_member(payload, "name"));
	if (name && *name)
		snprintf(base, size, "%s", name);
	else if (sn_ctf_integer(sn_ctf_member(payload, "addr"), &address))
		snprintf(base, size, "0x%llx", (unsigned long long)address);
}

static int add_instant(struct sn_ctf_any *any, const char *name, struct sn_track_event *event)
{
	if (sn_track_sink_name(any->sink, SN_ACTIVITY_INSTANT, name, strlen(name), &event->name))
		return SN_ERR_MEMORY;
	sn_track_sink_event(any->sink, event);
	return 0;
}

struct begin_key {
	uint32_t track, name;
};

static int end_interval(struct sn_ctf_any *any, const struct begin_key *key, const char *name,
			struct sn_track_event *event)
{
	/* the end's fields (a return value) become attributes of the interval */
	struct sn_track_end end = {
	    .key = key,
	    .key_bytes = sizeof(*key),
	    .time_ns = event->end_ns,
	    .attributes = event->attributes,
	    .attribute_count = event->attribute_count,
	    .begin_prevails = true,
	};
	int found = sn_track_sink_end(any->sink, &end);
	return found ? (found < 0 ? found : 0) : add_instant(any, name, event);
}

static int add_named(struct sn_ctf_any *any, const char *name, const bt_field *payload,
		     struct sn_track_event *event)
{
	char base[256];
	int part = part_of(name, base, sizeof(base));
	enum sn_activity_category category = category_of(base);
	struct begin_key key = {event->track, sn_db_builder_string(any->builder, base)};
	if (!part)
		return add_instant(any, name, event);
	if (part < 0)
		return end_interval(any, &key, name, event);
	name_event(payload, base, sizeof(base));
	if (sn_track_sink_name(any->sink, category, base, strlen(base), &event->name))
		return SN_ERR_MEMORY;
	return sn_track_sink_begin(any->sink, &key, sizeof(key), event);
}

int sn_ctf_any_add(struct sn_ctf_any *any, const bt_event *event, uint64_t time_ns)
{
	const char *name = bt_event_class_get_name(bt_event_borrow_class_const(event));
	const bt_field *payload = bt_event_borrow_payload_field_const(event);
	struct who who = who_of(any, event);
	struct sn_track_attributes attributes;
	attributes.count = 0;
	struct sn_track_event added = {.track = track_of(any, &who)};
	int result = added.track == SONDE_NONE ? SN_ERR_MEMORY : 0;
	if (!name)
		name = "[unnamed]";
	if (time_ns >= (uint64_t)SN_TRACK_TIME_MAX) {
		sn_track_sink_untimed(any->sink, 1);
		return result;
	}
	sn_track_sink_lasts(any->sink, (int64_t)time_ns);
	put_members(any, &attributes, payload, "", 0);
	put_members(any, &attributes, bt_event_borrow_specific_context_field_const(event),
		    "context", 0);
	if (who.has_cpu)
		put_attribute(any, &attributes, "cpu", SONDE_ATTRIBUTE_UNSIGNED, who.cpu);
	added.start_ns = added.end_ns = (int64_t)time_ns;
	added.attributes = attributes.items;
	added.attribute_count = attributes.count;
	if (!result)
		result = add_named(any, name, payload, &added);
	if (!result && !strcmp(name, "sched_switch"))
		result = feed_switch(any, payload, &who, time_ns);
	else if (!result && (!strcmp(name, "sched_wakeup") || !strcmp(name, "sched_waking") ||
			     !strcmp(name, "sched_wakeup_new")))
		result = feed_wakeup(any, payload, &who, time_ns);
	return result;
}

/* ---- the importer ---- */

struct sn_ctf_any *sn_ctf_any_new(const struct sn_import_request *request,
				  struct sn_db_builder *builder)
{
	struct sn_ctf_any *any = calloc(1, sizeof(*any));
	if (!any)
		return NULL;
	any->builder = builder;
	any->sink = sn_track_sink_new("ctf", builder, request);
	if (any->sink)
		return any;
	free(any);
	return NULL;
}

void sn_ctf_any_free(struct sn_ctf_any *any)
{
	if (!any)
		return;
	sn_table_release(&any->tids);
	sn_track_sink_free(any->sink);
	free(any->current);
	free(any->threads);
	free(any);
}

int sn_ctf_any_begin(struct sn_ctf_any *any, const char *path, struct sn_error *error)
{
	sn_table_clear(&any->tids);
	any->current_count = 0;
	return sn_track_sink_open(any->sink, path, error);
}

/* The program of a thread is the name of its process's first thread; the program of the trace is
 * that of the thread with most events. */
static void name_programs(struct sn_ctf_any *any)
{
	for (uint32_t i = 0; i < sn_track_sink_count(any->sink); i++) {
		const struct sn_track *track = sn_track_sink_at(any->sink, i);
		uint32_t pid = (uint32_t)sn_track_sink_place(any->sink, i)->first;
		uint32_t first = thread_of(any, pid).name;
		if (!track->is_processor)
			sn_track_sink_set_track_program(any->sink, i,
							first == SONDE_NONE ? track->name : first);
	}
	sn_track_sink_set_busiest_program(any->sink);
}

void sn_ctf_any_lose(struct sn_ctf_any *any, enum sn_ctf_loss what, uint64_t count)
{
	if (what == SN_CTF_UNTIMED)
		sn_track_sink_untimed(any->sink, count);
	any->lost[what] += count;
}

int sn_ctf_any_end(struct sn_ctf_any *any, size_t path_count, struct sn_error *error)
{
	if (sn_track_sink_close(any->sink))
		return sn_fail_memory(error);
	name_programs(any);
	return sn_track_sink_build(any->sink, path_count, error);
}

void sn_ctf_any_finish(struct sn_ctf_any *any)
{
	sn_track_sink_finish(any->sink);
	sn_track_sink_lost(any->sink, "ctf-discarded", "events that the tracer had no room for",
			   any->lost[SN_CTF_EVENTS]);
	sn_track_sink_lost(any->sink, "ctf-packets",
			   "packets of events that the tracer had no room for",
			   any->lost[SN_CTF_PACKETS]);
}
