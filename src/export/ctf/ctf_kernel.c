/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What LTTng's kernel tracer would have recorded, which Trace Compass's kernel analyses read: a
 * stream for each processor, with sched_switch and sched_wakeup, system calls and interrupts.
 *
 * A thread runs from where it is switched in to where it is switched out; its next state is the
 * one in which it was left. Two of one processor that meet at one time are one switch, others are
 * from or to the idle thread. Priorities are not in a database: they are written as 120, the usual
 * one. A system call begins and ends on the processor on which its thread then runs.
 */
#include "ctf.h"

#include "base/escape.h"
#include "base/intern.h"
#include "base/text.h"
#include "base/vec.h"
#include "trace/sorter.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SORTER_BYTES (64u << 20)
#define COMM_BYTES   16
#define PRIORITY     120
#define CPUS_MAX     65536u

enum what { WAKE, OUT, IN, CALL, RETURN, INTERRUPT, INTERRUPT_END, SOFTIRQ, SOFTIRQ_END };
/* What the classes of events are called by; those of system calls come in pairs after them. */
enum { SWITCH_ID, WAKEUP_ID, INTERRUPT_ID, INTERRUPT_END_ID, SOFTIRQ_ID, SOFTIRQ_END_ID, CALL_ID };

struct kernel {
	struct sn_trace_export *export;
	const struct sonde_db *db;
	struct sn_sorter *sorter; /* by processor; context: what; link: tid; attribute: value */
	uint32_t cpu_key, result_key, ret_key; /* the last one is LTTng's */
	struct sn_intern calls;		       /* names of system calls */
	uint32_t cpu_count;
	/* of the thread being read */
	uint32_t profile, tid;
	enum what last; /* WAKE: ready, OUT: unknown or blocked, IN: running */
	bool is_blocked, is_processor;
	uint64_t last_end_ns, woken_ns;
	uint32_t last_cpu;
	uint64_t return_ns; /* of the call it is in; 0: in none */
	uint64_t result;    /* of that call */
	uint32_t call;
	uint32_t *names; /* by tid number: profile */
	struct sn_intern tids;
	size_t name_capacity;
};

/* `value`: of OUT the state it is left in, of WAKE the processor, of others the number of the call,
 * interrupt or softirq; RETURN takes kernel->result with it. */
static void add(struct kernel *kernel, uint32_t cpu, uint64_t time_ns, enum what what,
		uint64_t value)
{
	struct sn_attribute attributes[] = {{0, 0, value}, {1, 0, kernel->result}};
	struct sn_event event = {
	    .start_ns = time_ns,
	    .end_ns = time_ns,
	    .link = kernel->tid,
	    .profile = cpu,
	    .context = what,
	    .metric = SONDE_NONE,
	    .kind = SONDE_TRACK_INSTANTS,
	    .attribute_count = what == RETURN ? 2 : 1,
	    .attributes = attributes,
	};
	sn_sorter_add(kernel->sorter, &event);
	if (cpu >= kernel->cpu_count)
		kernel->cpu_count = cpu + 1;
}

static const char *name_of(const struct kernel *kernel, uint32_t context)
{
	return sonde_db_string(kernel->db, sn_trace_export_frame(kernel->export, context)->name);
}

/* The name of the context just below the root, and of the context itself. */
static const char *state_of(const struct kernel *kernel, uint32_t context, const char **reason)
{
	*reason = name_of(kernel, context);
	while (sonde_db_context(kernel->db, context)->depth > 1)
		context = sonde_db_context(kernel->db, context)->parent;
	return name_of(kernel, context);
}

static bool value_of(const struct sn_walk_event *event, uint32_t key, uint64_t *value)
{
	for (uint32_t i = 0; i < event->attribute_count; i++) {
		if (event->attributes[i].key != key)
			continue;
		*value = event->attributes[i].value;
		return true;
	}
	return false;
}

static bool cpu_of(const struct kernel *kernel, const struct sn_walk_event *event, uint32_t *cpu)
{
	uint64_t value;
	if (!value_of(event, kernel->cpu_key, &value))
		return false;
	*cpu = (uint32_t)value;
	return value < CPUS_MAX;
}

/* How the kernel writes what a thread that is switched out waits for. */
static uint64_t left_state(const char *state, const char *reason)
{
	if (strcmp(state, "blocked") != 0)
		return 0;
	return strstr(reason, "uninterruptible") || strstr(reason, "disk") ? 2 : 1;
}

static void return_from_call(struct kernel *kernel)
{
	add(kernel, kernel->last_cpu, kernel->return_ns, RETURN, kernel->call);
	kernel->return_ns = 0;
}

static void read_state(struct kernel *kernel, const struct sn_walk_event *event)
{
	const char *reason, *state = state_of(kernel, event->context, &reason);
	uint32_t cpu = 0;
	bool follows = kernel->last_end_ns == event->start_ns;
	if (kernel->last == IN)
		add(kernel, kernel->last_cpu, kernel->last_end_ns, OUT,
		    follows ? left_state(state, reason) : 0);
	kernel->last = OUT;
	if (!strcmp(state, "running") && cpu_of(kernel, event, &cpu)) {
		if (kernel->woken_ns && follows)
			add(kernel, cpu, kernel->woken_ns, WAKE, cpu);
		add(kernel, cpu, event->start_ns, IN, 0);
		kernel->last = IN;
		kernel->last_cpu = cpu;
		if (kernel->return_ns && kernel->return_ns <= event->end_ns)
			return_from_call(kernel);
	}
	kernel->woken_ns =
	    !strcmp(state, "ready") && follows && kernel->is_blocked ? event->start_ns : 0;
	kernel->is_blocked = !strcmp(state, "blocked");
	kernel->last_end_ns = event->end_ns;
}

/* The number of a system call by its name: "read", LTTng's own "syscall_read". */
static uint32_t call_number(struct kernel *kernel, const char *name)
{
	char text[64];
	size_t length;
	if (sn_text_begins(name, "syscall_"))
		name += 8;
	for (length = 0; name[length] && length < sizeof(text); length++)
		text[length] = isalnum((unsigned char)name[length]) ? name[length] : '_';
	return sn_intern_add(&kernel->calls, text, length);
}

static int read_call(struct kernel *kernel, const struct sn_walk_event *event)
{
	const char *name, *group = state_of(kernel, event->context, &name);
	bool is_call = !strcmp(group, "system call") || sn_text_begins(name, "syscall_");
	if (!is_call || kernel->last != IN || event->start_ns > kernel->last_end_ns)
		return 0; /* on which processor is not known */
	uint32_t number = call_number(kernel, name);
	if (number == SN_INTERN_NONE)
		return SN_ERR_MEMORY;
	add(kernel, kernel->last_cpu, event->start_ns, CALL, number);
	kernel->call = number;
	bool has_result = value_of(event, kernel->result_key, &kernel->result) ||
			  value_of(event, kernel->ret_key, &kernel->result);
	kernel->return_ns = has_result ? event->end_ns : 0; /* some never return */
	if (has_result && event->end_ns <= kernel->last_end_ns)
		return_from_call(kernel);
	return 0;
}

/* -1: there is none of that name. */
static int softirq_number(const char *name)
{
	static const char *const names[] = {
#define SN_SOFTIRQ(name) name,
#include "system/softirq.def"
#undef SN_SOFTIRQ
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return (int)i;
	return -1;
}

static void read_interrupt(struct kernel *kernel, const struct sn_walk_event *event)
{
	const char *name, *group = state_of(kernel, event->context, &name);
	bool is_soft = !strcmp(group, "softirq");
	int number = is_soft ? softirq_number(name) : atoi(name);
	if (number < 0 || kernel->tid >= CPUS_MAX || (!is_soft && strcmp(group, "interrupt") != 0))
		return;
	/* a name follows the number, where the kernel has one */
	uint64_t value = is_soft ? (uint64_t)number : event->context;
	add(kernel, kernel->tid, event->start_ns, is_soft ? SOFTIRQ : INTERRUPT, value);
	add(kernel, kernel->tid, event->end_ns, is_soft ? SOFTIRQ_END : INTERRUPT_END, value);
}

static int read_event(void *context, const struct sn_walk_event *event)
{
	struct kernel *kernel = context;
	bool is_system = event->kind == SONDE_TRACK_SYSTEM ||
			 event->kind == SONDE_TRACK_INTERVALS; /* imported */
	if (kernel->is_processor && is_system)
		read_interrupt(kernel, event);
	else if (event->kind == SONDE_TRACK_STATES && !kernel->is_processor)
		read_state(kernel, event);
	else if (is_system)
		return read_call(kernel, event);
	return 0;
}

static int note_name(struct kernel *kernel)
{
	uint32_t before = kernel->tids.count;
	uint32_t number = sn_intern_add(&kernel->tids, &kernel->tid, sizeof(kernel->tid));
	if (number == SN_INTERN_NONE ||
	    sn_vec_reserve(&kernel->names, &kernel->name_capacity, number + 1ull) < 0)
		return SN_ERR_MEMORY;
	if (number == before)
		kernel->names[number] = kernel->profile;
	return 0;
}

static int read_profile(struct kernel *kernel, struct sn_error *error)
{
	const struct sonde_db_profile *profile = sonde_db_profile(kernel->db, kernel->profile);
	kernel->tid = (uint32_t)profile->tid;
	kernel->is_processor = profile->kind == SONDE_PROFILE_PROCESSOR;
	if (!kernel->is_processor && note_name(kernel))
		return sn_fail_memory(error);
	kernel->last = OUT;
	kernel->is_blocked = false;
	kernel->last_end_ns = kernel->woken_ns = kernel->return_ns = 0;
	int result = sn_event_walk(kernel->export, kernel->profile, read_event, kernel, error);
	if (!result && kernel->last == IN)
		add(kernel, kernel->last_cpu, kernel->last_end_ns, OUT, 0);
	return result;
}

static bool is_of_kernel(const struct kernel *kernel, uint32_t profile)
{
	for (uint32_t i = sonde_trace_first_track(kernel->export->trace, profile);
	     i < sonde_trace_track_count(kernel->export->trace); i++) {
		const struct sonde_track *track = sonde_trace_track(kernel->export->trace, i);
		if (track->profile != profile)
			return false;
		/* what threads ran on a processor is in their own profiles */
		bool is_processor =
		    sonde_db_profile(kernel->db, profile)->kind == SONDE_PROFILE_PROCESSOR;
		if (track->kind == (is_processor ? SONDE_TRACK_SYSTEM : SONDE_TRACK_STATES))
			return true;
	}
	return false;
}

/* ---- writing ---- */

static void put_comm(const struct kernel *kernel, struct sn_buffer *event, uint32_t tid,
		     uint32_t cpu)
{
	char name[64] = "";
	uint32_t number = sn_intern_find(&kernel->tids, &tid, sizeof(tid));
	if (!tid) {
		snprintf(name, sizeof(name), "swapper/%u", cpu);
	} else if (number != SN_INTERN_NONE) {
		const struct sonde_db_profile *profile =
		    sonde_db_profile(kernel->db, kernel->names[number]);
		uint32_t text = profile->thread == SONDE_NONE ? profile->program : profile->thread;
		snprintf(name, sizeof(name), "%.15s", sonde_db_string(kernel->db, text));
	}
	memset(name + strnlen(name, COMM_BYTES - 1), 0, COMM_BYTES - strnlen(name, COMM_BYTES - 1));
	sn_buffer_put(event, name, COMM_BYTES);
}

static void put_thread(const struct kernel *kernel, struct sn_buffer *event, uint32_t tid,
		       uint32_t cpu)
{
	put_comm(kernel, event, tid, cpu);
	sn_buffer_number(event, tid, 4);
	sn_buffer_number(event, tid ? PRIORITY : 20, 4);
}

static void write_switch(const struct kernel *kernel, struct sn_ctf_stream *stream, uint32_t cpu,
			 uint64_t time_ns, uint32_t from, uint64_t state, uint32_t to)
{
	sn_ctf_begin(stream, SWITCH_ID, time_ns);
	put_thread(kernel, &stream->event, from, cpu);
	sn_buffer_number(&stream->event, state, 8);
	put_thread(kernel, &stream->event, to, cpu);
	sn_ctf_end(stream);
}

/* What happens on a processor at one time. */
struct moment {
	uint64_t time_ns, state;
	uint32_t from, to;
	bool is_switch;
};

static void end_moment(const struct kernel *kernel, struct sn_ctf_stream *stream, uint32_t cpu,
		       struct moment *moment)
{
	if (moment->is_switch)
		write_switch(kernel, stream, cpu, moment->time_ns, moment->from, moment->state,
			     moment->to);
	*moment = (struct moment){0};
}

static void write_interrupt(const struct kernel *kernel, struct sn_ctf_stream *stream,
			    const struct sn_event *event)
{
	const char *name;
	bool is_entry = event->context == INTERRUPT;
	state_of(kernel, (uint32_t)event->attributes->value, &name);
	char *rest;
	long number = strtol(name, &rest, 10);
	sn_ctf_begin(stream, is_entry ? INTERRUPT_ID : INTERRUPT_END_ID, event->start_ns);
	sn_buffer_number(&stream->event, (uint64_t)number, 4);
	if (is_entry)
		sn_ctf_text(&stream->event, rest + (*rest == ' '));
	else
		sn_buffer_number(&stream->event, 1, 4); /* it was handled */
	sn_ctf_end(stream);
}

static void write_softirq(struct sn_ctf_stream *stream, const struct sn_event *event)
{
	sn_ctf_begin(stream, event->context == SOFTIRQ ? SOFTIRQ_ID : SOFTIRQ_END_ID,
		     event->start_ns);
	sn_buffer_number(&stream->event, event->attributes->value, 4);
	sn_ctf_end(stream);
}

static void write_call(struct sn_ctf_stream *stream, const struct sn_event *event)
{
	uint32_t number = (uint32_t)event->attributes->value;
	bool is_return = event->context == RETURN;
	sn_ctf_begin(stream, CALL_ID + 2 * number + is_return, event->start_ns);
	if (is_return)
		sn_buffer_number(&stream->event, event->attributes[1].value, 8);
	sn_ctf_end(stream);
}

static void write_wakeup(const struct kernel *kernel, struct sn_ctf_stream *stream, uint32_t cpu,
			 const struct sn_event *event)
{
	sn_ctf_begin(stream, WAKEUP_ID, event->start_ns);
	put_thread(kernel, &stream->event, (uint32_t)event->link, cpu);
	sn_buffer_number(&stream->event, cpu, 4);
	sn_ctf_end(stream);
}

static void write_kernel_event(const struct kernel *kernel, struct sn_ctf_stream *stream,
			       uint32_t cpu, const struct sn_event *event, struct moment *moment)
{
	switch (event->context) {
	case WAKE:
		return write_wakeup(kernel, stream, cpu, event);
	case CALL:
	case RETURN:
		/* the thread is there first, and leaves last */
		end_moment(kernel, stream, cpu, moment);
		return write_call(stream, event);
	case INTERRUPT:
	case INTERRUPT_END:
		return write_interrupt(kernel, stream, event);
	case SOFTIRQ:
	case SOFTIRQ_END:
		return write_softirq(stream, event);
	case OUT:
		moment->from = (uint32_t)event->link;
		moment->state = event->attributes->value;
		break;
	case IN:
		moment->to = (uint32_t)event->link;
		break;
	}
	moment->is_switch = true;
	moment->time_ns = event->start_ns;
}

static int write_cpu(const struct kernel *kernel, const char *folder, const unsigned char *uuid,
		     uint32_t cpu, struct sn_error *error)
{
	char name[32];
	struct sn_ctf_stream stream;
	struct sn_event event;
	struct moment moment = {0};
	snprintf(name, sizeof(name), "channel_%u", cpu);
	int result = sn_sorter_begin(kernel->sorter, cpu, error);
	if (!result)
		result = sn_ctf_open(&stream, folder, name, uuid, 0, error);
	if (result)
		return result;
	sn_buffer_number(&stream.context, cpu, 4);
	while ((result = sn_sorter_next(kernel->sorter, &event, error)) > 0) {
		if (event.start_ns != moment.time_ns)
			end_moment(kernel, &stream, cpu, &moment);
		write_kernel_event(kernel, &stream, cpu, &event, &moment);
	}
	end_moment(kernel, &stream, cpu, &moment);
	if (!result)
		return sn_ctf_close(&stream, error);
	sn_ctf_abandon(&stream);
	return result;
}

static void declare_event(struct sn_buffer *text, unsigned id, const char *name, const char *fields)
{
	sn_buffer_print(text,
			"\nevent {\n\tid = %u;\n\tname = \"%s\";\n\tstream_id = 0;\n"
			"\tfields := struct {\n%s\t};\n};\n",
			id, name, fields);
}

static void declare_events(const struct kernel *kernel, struct sn_buffer *text)
{
	char name[96];
	declare_event(text, SWITCH_ID, "sched_switch",
		      "\t\tchar_t _prev_comm[16];\n\t\tint32_t _prev_tid;\n"
		      "\t\tint32_t _prev_prio;\n\t\tint64_t _prev_state;\n"
		      "\t\tchar_t _next_comm[16];\n\t\tint32_t _next_tid;\n"
		      "\t\tint32_t _next_prio;\n");
	declare_event(text, WAKEUP_ID, "sched_wakeup",
		      "\t\tchar_t _comm[16];\n\t\tint32_t _tid;\n"
		      "\t\tint32_t _prio;\n\t\tint32_t _target_cpu;\n");
	declare_event(text, INTERRUPT_ID, "irq_handler_entry",
		      "\t\tint32_t _irq;\n\t\tstring _name;\n");
	declare_event(text, INTERRUPT_END_ID, "irq_handler_exit",
		      "\t\tint32_t _irq;\n\t\tint32_t _ret;\n");
	declare_event(text, SOFTIRQ_ID, "irq_softirq_entry", "\t\tuint32_t _vec;\n");
	declare_event(text, SOFTIRQ_END_ID, "irq_softirq_exit", "\t\tuint32_t _vec;\n");
	for (uint32_t i = 0; i < kernel->calls.count; i++) {
		size_t length;
		const char *call = sn_intern_at(&kernel->calls, i, &length);
		snprintf(name, sizeof(name), "syscall_entry_%.*s", (int)length, call);
		declare_event(text, CALL_ID + 2 * i, name, "");
		snprintf(name, sizeof(name), "syscall_exit_%.*s", (int)length, call);
		declare_event(text, CALL_ID + 2 * i + 1, name, "\t\tint64_t _ret;\n");
	}
}

static int write_metadata(const struct kernel *kernel, const char *folder,
			  const unsigned char *uuid, struct sn_error *error)
{
	struct sn_buffer text = {0};
	const char *host = sonde_db_property(kernel->db, "host");
	sn_ctf_head(&text, uuid);
	sn_buffer_print(&text, "env {\n\tdomain = \"kernel\";\n\tsysname = \"Linux\";\n"
			       "\ttracer_name = \"lttng-modules\";\n\ttracer_major = 2;\n"
			       "\ttracer_minor = 13;\n\ttracer_patchlevel = 0;\n"
			       "\tmade_by = \"sonde\";\n\thostname = ");
	sn_quote_put(&text, SN_ESCAPE_QUOTED, host ? host : "");
	sn_buffer_print(&text, ";\n};\n\ntypealias integer { size = 8; align = 8; signed = true; "
			       "encoding = UTF8; } := char_t;\n\n");
	sn_ctf_declare_stream(&text, 0, "\t\tuint32_t cpu_id;\n", "");
	declare_events(kernel, &text);
	return sn_ctf_save(&text, folder, error);
}

static int write_all(struct kernel *kernel, const char *folder, struct sn_error *error)
{
	char path[PATH_MAX];
	unsigned char uuid[16];
	int result = sn_sorter_finish(kernel->sorter, error);
	if (result || !kernel->cpu_count)
		return result;
	snprintf(path, sizeof(path), "%s/kernel", folder);
	if (mkdir(path, 0777) < 0)
		return sn_fail(error, SN_ERR_IO, "cannot create '%s': %s", path, strerror(errno));
	sn_ctf_uuid(kernel->export, 1, uuid);
	for (uint32_t cpu = 0; cpu < kernel->cpu_count && !result; cpu++)
		result = write_cpu(kernel, path, uuid, cpu, error);
	return result ? result : write_metadata(kernel, path, uuid, error);
}

int sn_ctf_write_kernel(struct sn_trace_export *export, const char *folder, struct sn_error *error)
{
	struct kernel kernel = {
	    .export = export,
	    .db = export->db,
	    .sorter = sn_sorter_new(SORTER_BYTES, NULL),
	    .cpu_key = sonde_trace_key_by_name(export->trace, "cpu"),
	    .result_key = sonde_trace_key_by_name(export->trace, "result"),
	    .ret_key = sonde_trace_key_by_name(export->trace, "ret"),
	};
	int result = kernel.sorter ? 0 : sn_fail_memory(error);
	for (uint32_t i = 0; i < sonde_db_profile_count(export->db) && !result; i++) {
		kernel.profile = i;
		if (is_of_kernel(&kernel, i))
			result = read_profile(&kernel, error);
	}
	if (!result)
		result = write_all(&kernel, folder, error);
	sn_sorter_free(kernel.sorter);
	sn_intern_release(&kernel.tids);
	sn_intern_release(&kernel.calls);
	free(kernel.names);
	return result;
}
