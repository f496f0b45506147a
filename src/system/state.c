/* SPDX-License-Identifier: Apache-2.0 */
/* Derives states of threads, system calls, interrupts and requests from the kernel's events. */
#include "state.h"

#include "base/vec.h"
#include "scheduler.h"
#include "syscall_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A wakeup this short before the switch-out belongs to it, because the kernel reports the wakeup
 * before it waits for the thread to leave its processor. */
#define EARLY_WAKEUP_NS 50000u

/* First arguments of system calls below this are reported: they are file descriptors,
 * not addresses. */
#define ARGUMENT_MAX 65536

enum { NAME_BYTES = 32, NEST_MAX = 8, REQUESTS_MAX = 4096, CPUS_MAX = 65536 };

/* The system call of a thread: none, or unknown because its begin was not recorded. */
enum { SYSCALL_NONE = -1, SYSCALL_UNKNOWN = -2 };

struct thread {
	struct sn_sched_thread sched; /* tid: in our pid namespace; cpu: where it ran last */
	uint32_t number;	      /* index in `threads` */
	int32_t kernel_tid;	      /* 0 unknown */
	int32_t pid;
	char reason[NAME_BYTES]; /* while blocked; "" unknown */
	char name[NAME_BYTES];
	int64_t syscall, argument;
	uint64_t syscall_ns;
	/* the last wakeup, which made the thread ready, or came while it still ran */
	uint64_t wakeup_ns;
	struct sn_os_item wakeup; /* the waker's instant; tid 0: an interrupt */
};

struct open_interrupt {
	uint32_t kind;
	int64_t number;
	uint64_t since_ns;
	char name[NAME_BYTES];
};

struct cpu {
	struct open_interrupt open[NEST_MAX];
	uint32_t depth;
};

struct request {
	uint64_t sector, start_ns, bytes;
	uint32_t device;
	int32_t pid, tid;
};

struct sn_os_states {
	struct sn_os_sink sink;
	struct sn_sched sched;
	/* the thread whose state is about to change, and attributes of the state that ends */
	const struct thread *changing;
	const struct sn_os_item *extra;
	bool is_wide;
	bool has_switches;  /* the tracepoint reports switches, and ends of threads */
	bool has_syscalls;  /* they are recorded: a thread in none blocks in a page fault */
	bool is_translated; /* the kernel's thread numbers differ from ours (pid namespace) */
	struct thread **threads;
	size_t thread_count, thread_capacity;
	struct sn_table by_tid, by_kernel_tid; /* indices of threads */
	struct cpu *cpus;
	size_t cpu_capacity, cpu_count;
	struct request requests[REQUESTS_MAX]; /* requests in progress */
	struct sn_table by_place;	       /* indices of requests */
	uint64_t last_link;
	uint64_t losses[SN_OS_LOSSES];
};

/* ---- threads ---- */

static struct thread *find(const struct sn_os_states *states, const struct sn_table *table,
			   int32_t tid)
{
	uint32_t number = sn_table_find(table, (uint32_t)tid);
	return number == SN_TABLE_NONE ? NULL : states->threads[number];
}

static void learn_kernel_tid(struct sn_os_states *states, struct thread *thread, int32_t kernel_tid)
{
	if (kernel_tid <= 0 || thread->kernel_tid ||
	    sn_table_put(&states->by_kernel_tid, (uint32_t)kernel_tid, thread->number))
		return;
	states->is_translated |= (uint32_t)kernel_tid != thread->sched.tid;
	thread->kernel_tid = kernel_tid;
}

static struct thread *add(struct sn_os_states *states, int32_t tid, int32_t kernel_tid)
{
	uint32_t number = (uint32_t)states->thread_count;
	struct thread *thread = number < SN_OS_THREADS_MAX ? calloc(1, sizeof(*thread)) : NULL;
	if (!thread ||
	    sn_vec_reserve(&states->threads, &states->thread_capacity, number + 1ull) < 0 ||
	    sn_table_put(&states->by_tid, (uint32_t)tid, number)) {
		free(thread);
		states->losses[SN_OS_LOSS_THREADS]++;
		return NULL;
	}
	*thread = (struct thread){
	    .sched.tid = (uint32_t)tid, .number = number, .syscall = SYSCALL_UNKNOWN};
	states->threads[states->thread_count++] = thread;
	learn_kernel_tid(states, thread, kernel_tid);
	return thread;
}

/* Makes a key that leads to thread `from` lead to `to`; SN_TABLE_NONE removes the key. */
static void redirect(struct sn_table *table, uint32_t tid, uint32_t from, uint32_t to)
{
	if (sn_table_find(table, tid) != from)
		return; /* another thread has the number by now */
	if (to == SN_TABLE_NONE)
		sn_table_remove(table, tid);
	else
		sn_table_probe(table, tid)->number = to + 1;
}

static void redirect_thread(struct sn_os_states *states, const struct thread *thread, uint32_t to)
{
	redirect(&states->by_tid, thread->sched.tid, thread->number, to);
	if (thread->kernel_tid)
		redirect(&states->by_kernel_tid, (uint32_t)thread->kernel_tid, thread->number, to);
}

/* Removes a thread; the last one moves to its place. */
static void drop(struct sn_os_states *states, struct thread *thread)
{
	struct thread *last = states->threads[--states->thread_count];
	redirect_thread(states, thread, SN_TABLE_NONE);
	if (last != thread) {
		redirect_thread(states, last, thread->number);
		last->number = thread->number;
		states->threads[last->number] = last;
	}
	free(thread);
}

/* The thread with a number of the kernel; created if it is unknown and all threads are recorded. */
static struct thread *find_kernel(struct sn_os_states *states, int32_t kernel_tid)
{
	if (kernel_tid <= 0)
		return NULL;
	struct thread *thread = find(states, &states->by_kernel_tid, kernel_tid);
	if (!thread && !states->is_translated)
		thread = find(states, &states->by_tid, kernel_tid);
	if (!thread && states->is_wide)
		thread = add(states, kernel_tid, kernel_tid);
	return thread;
}

static void set_name(struct sn_os_states *states, struct thread *thread, const char *text,
		     size_t length)
{
	if (length >= NAME_BYTES)
		length = NAME_BYTES - 1;
	if (!length || (!strncmp(thread->name, text, length) && !thread->name[length]))
		return;
	memcpy(thread->name, text, length);
	thread->name[length] = 0;
	if (states->sink.thread)
		states->sink.thread(states->sink.context, thread->pid, (int32_t)thread->sched.tid,
				    thread->name);
}

/* ---- output ---- */

static struct sn_os_item item_of(const struct thread *thread, enum sn_os_layer layer,
				 uint64_t start_ns, uint64_t end_ns)
{
	return (struct sn_os_item){.layer = layer,
				   .pid = thread->pid,
				   .tid = (int32_t)thread->sched.tid,
				   .start_ns = start_ns,
				   .end_ns = end_ns};
}

static void put_value(struct sn_os_item *item, enum sn_os_key key, int64_t value)
{
	item->present |= 1u << key;
	item->values[key] = value;
}

static void send(struct sn_os_states *states, const struct sn_os_item *item)
{
	states->sink.item(states->sink.context, item);
}

/* Sends the interval of a state that has ended, and, if the thread ran, that of its processor. */
static int send_interval(void *context, const struct sn_sched_interval *interval)
{
	struct sn_os_states *states = context;
	const struct thread *thread = states->changing;
	const struct sn_sched_thread *was = &interval->thread;
	struct sn_os_item item =
	    item_of(thread, SN_OS_LAYER_STATE, interval->start_ns, interval->end_ns);
	item.name = sn_sched_state_name(was->state);
	if (was->state == SN_SCHED_BLOCKED && *thread->reason) {
		item.group = item.name;
		item.name = thread->reason;
	}
	if (states->extra) {
		item.link = states->extra->link;
		item.present = states->extra->present;
		memcpy(item.values, states->extra->values, sizeof(item.values));
	}
	if (was->state == SN_SCHED_RUNNING)
		put_value(&item, SN_OS_KEY_CPU, was->cpu);
	send(states, &item);
	if (was->state != SN_SCHED_RUNNING)
		return 0;
	item = (struct sn_os_item){.layer = SN_OS_LAYER_OCCUPANCY,
				   .tid = (int32_t)was->cpu,
				   .start_ns = interval->start_ns,
				   .end_ns = interval->end_ns,
				   .name = thread->name,
				   .named_pid = thread->pid,
				   .named_tid = (int32_t)thread->sched.tid};
	send(states, &item);
	return 0;
}

/* Notes the thread whose state changes. `extra`: further attributes of the state that
 * ends, or NULL. */
static struct sn_sched_thread *changing(struct sn_os_states *states, struct thread *thread,
					const struct sn_os_item *extra)
{
	states->changing = thread;
	states->extra = extra;
	return &thread->sched;
}

static void run(struct sn_os_states *states, struct thread *thread, const struct sn_os_event *event)
{
	if (thread->sched.state != SN_SCHED_RUNNING)
		sn_sched_run(&states->sched, changing(states, thread, NULL), event->time_ns,
			     event->cpu);
	thread->sched.cpu = event->cpu;
	thread->wakeup_ns = 0;
}

/* ---- threads of records ---- */

static int32_t tid_of(const struct sn_os_event *event)
{
	return event->tid > 0 ? event->tid : event->kernel_tid;
}

/* The thread that ran when a record was made; NULL if it is not recorded. */
static struct thread *runner(struct sn_os_states *states, const struct sn_os_event *event,
			     bool is_ours)
{
	int32_t tid = tid_of(event);
	if (tid <= 0)
		return NULL;
	struct thread *thread = find(states, &states->by_tid, tid);
	if (!thread && (is_ours || states->is_wide))
		thread = add(states, tid, event->kernel_tid);
	if (!thread)
		return NULL;
	if (event->pid > 0)
		thread->pid = event->pid;
	learn_kernel_tid(states, thread, event->kernel_tid);
	return thread;
}

/* The same, for a record that implies that the thread is running. */
static struct thread *running(struct sn_os_states *states, const struct sn_os_event *event)
{
	struct thread *thread = runner(states, event, true);
	if (thread)
		run(states, thread, event);
	return thread;
}

/* ---- the scheduler ---- */

static const char *waits_for(const struct thread *thread, char text[NAME_BYTES])
{
	const char *name = sn_os_syscall_name(thread->syscall);
	if (thread->syscall == SYSCALL_UNKNOWN)
		return "";
	if (thread->syscall == SYSCALL_NONE)
		return "page fault";
	if (name)
		return name;
	snprintf(text, NAME_BYTES, "system call %lld", (long long)thread->syscall);
	return text;
}

static void wake(struct sn_os_states *states, struct thread *thread, uint64_t time_ns)
{
	struct sn_os_item *wakeup = &thread->wakeup, extra = {0};
	extra.link = wakeup->tid > 0 ? ++states->last_link : 0;
	put_value(&extra, SN_OS_KEY_WAKER, wakeup->tid);
	sn_sched_ready(&states->sched, changing(states, thread, &extra), time_ns,
		       (uint32_t)wakeup->tid);
	if (wakeup->tid <= 0)
		return;
	wakeup->link = extra.link;
	put_value(wakeup, SN_OS_KEY_WOKEN, (int32_t)thread->sched.tid);
	send(states, wakeup);
}

/* `state`: the kernel's bits; 0: preempted. */
static void leave(struct sn_os_states *states, struct thread *thread,
		  const struct sn_os_event *event, int64_t state, const struct sn_os_item *extra)
{
	char text[NAME_BYTES];
	uint64_t wakeup_ns = thread->wakeup_ns;
	bool could_go_on;
	char why = sn_sched_letter((uint64_t)state, &could_go_on);
	thread->sched.cpu = event->cpu;
	thread->wakeup_ns = 0;
	sn_sched_leave(&states->sched, changing(states, thread, extra), event->time_ns, could_go_on,
		       why);
	if (could_go_on)
		return;
	snprintf(thread->reason, NAME_BYTES, "%s",
		 state & 0xc ? "stopped" : waits_for(thread, text));
	if (wakeup_ns && event->time_ns - wakeup_ns < EARLY_WAKEUP_NS)
		wake(states, thread, event->time_ns);
}

static void end_thread(struct sn_os_states *states, struct thread *thread, uint64_t end_ns);

static void on_switch(struct sn_os_states *states, const struct sn_os_event *event)
{
	/* the last switch of a dead thread comes after the record of its end */
	bool is_dead = event->number & 0x30;
	struct sn_os_item extra = {0};
	states->has_switches = true;
	struct thread *from =
	    is_dead ? find(states, &states->by_tid, tid_of(event)) : runner(states, event, true);
	if (from && is_dead) {
		end_thread(states, from, event->time_ns);
	} else if (from) {
		put_value(&extra, SN_OS_KEY_NEXT, event->other);
		if (from->sched.state == SN_SCHED_READY || from->sched.state == SN_SCHED_BLOCKED)
			run(states, from, event);
		leave(states, from, event, event->number & 0xff, &extra);
	}
	struct thread *to = find_kernel(states, event->other);
	if (!to)
		return;
	if (!*to->name)
		set_name(states, to, event->text, event->text_length);
	run(states, to, event);
}

/* A switch without the tracepoint. It follows the tracepoint's record and then adds nothing; if the
 * thread is unknown, it has ended with that record. */
static void on_switch_out(struct sn_os_states *states, const struct sn_os_event *event)
{
	struct thread *thread = states->has_switches ? find(states, &states->by_tid, event->tid)
						     : runner(states, event, true);
	if (thread &&
	    (thread->sched.state == SN_SCHED_RUNNING || thread->sched.state == SN_SCHED_UNKNOWN))
		leave(states, thread, event, !event->number, NULL);
}

static void on_running(struct sn_os_states *states, const struct sn_os_event *event)
{
	running(states, event);
}

static void on_waking(struct sn_os_states *states, const struct sn_os_event *event)
{
	struct thread *woken = find_kernel(states, event->other);
	if (!woken || woken->sched.state == SN_SCHED_READY)
		return;
	woken->wakeup = (struct sn_os_item){.layer = SN_OS_LAYER_EVENT,
					    .start_ns = event->time_ns,
					    .end_ns = event->time_ns,
					    .name = "wakeup"};
	if (!event->in_interrupt && event->tid > 0) {
		woken->wakeup.tid = event->tid;
		woken->wakeup.pid = event->pid;
	}
	if (woken->sched.state == SN_SCHED_BLOCKED)
		wake(states, woken, event->time_ns);
	else if (woken->sched.state == SN_SCHED_RUNNING)
		woken->wakeup_ns = event->time_ns;
}

static void on_begin(struct sn_os_states *states, const struct sn_os_event *event)
{
	struct thread *thread = find(states, &states->by_tid, event->other);
	/* a thread whose end was lost had that number; in damaged data its parent may have it */
	if (thread)
		drop(states, thread);
	const struct thread *parent = find(states, &states->by_tid, event->tid);
	thread = add(states, event->other, 0);
	if (!thread)
		return;
	thread->pid = (int32_t)event->number;
	thread->syscall = states->has_syscalls ? SYSCALL_NONE : SYSCALL_UNKNOWN;
	if (parent)
		set_name(states, thread, parent->name, strlen(parent->name));
	sn_sched_ready(&states->sched, changing(states, thread, NULL), event->time_ns, 0);
}

static void on_name(struct sn_os_states *states, const struct sn_os_event *event)
{
	struct thread *thread = find(states, &states->by_tid, event->other);
	if (!thread)
		thread = running(states, event);
	if (thread)
		set_name(states, thread, event->text, event->text_length);
}

/* ---- system calls ---- */

static void on_syscall_enter(struct sn_os_states *states, const struct sn_os_event *event)
{
	struct thread *thread = running(states, event);
	states->has_syscalls = true;
	if (!thread)
		return;
	thread->syscall = event->number >= 0 ? event->number : SYSCALL_NONE;
	thread->argument = event->value;
	thread->syscall_ns = event->time_ns;
}

static void end_syscall(struct sn_os_states *states, struct thread *thread, uint64_t end_ns,
			const int64_t *result)
{
	char text[NAME_BYTES];
	if (thread->syscall >= 0 && end_ns >= thread->syscall_ns) {
		struct sn_os_item item =
		    item_of(thread, SN_OS_LAYER_SYSCALL, thread->syscall_ns, end_ns);
		item.group = "system call";
		item.name = waits_for(thread, text);
		if (thread->argument >= 0 && thread->argument < ARGUMENT_MAX)
			put_value(&item, SN_OS_KEY_ARGUMENT, thread->argument);
		if (result)
			put_value(&item, SN_OS_KEY_RESULT, *result);
		send(states, &item);
	}
	thread->syscall = SYSCALL_NONE;
}

static void on_syscall_exit(struct sn_os_states *states, const struct sn_os_event *event)
{
	struct thread *thread = running(states, event);
	if (!thread)
		return;
	if (thread->syscall != event->number)
		thread->syscall = SYSCALL_NONE; /* its begin was not recorded */
	end_syscall(states, thread, event->time_ns, &event->value);
}

/* Makes the state unknown from a time on, or from its last known time if that is later. */
static void forget(struct sn_os_states *states, struct thread *thread, uint64_t time_ns)
{
	uint64_t since_ns = thread->sched.since_ns;
	sn_sched_forget(&states->sched, changing(states, thread, NULL),
			time_ns > since_ns ? time_ns : since_ns);
}

static void end_thread(struct sn_os_states *states, struct thread *thread, uint64_t end_ns)
{
	end_syscall(states, thread, end_ns, NULL);
	forget(states, thread, end_ns);
	drop(states, thread);
}

static void on_end(struct sn_os_states *states, const struct sn_os_event *event)
{
	struct thread *thread = find(states, &states->by_tid, event->other);
	if (thread)
		end_thread(states, thread, event->time_ns);
}

/* ---- interrupts ---- */

static struct cpu *cpu_of(struct sn_os_states *states, uint32_t number)
{
	if (number >= CPUS_MAX)
		return NULL;
	if (number >= states->cpu_count) {
		if (sn_vec_reserve(&states->cpus, &states->cpu_capacity, number + 1))
			return NULL;
		memset(states->cpus + states->cpu_count, 0,
		       (number + 1 - states->cpu_count) * sizeof(*states->cpus));
		states->cpu_count = number + 1;
	}
	return states->cpus + number;
}

static void on_interrupt_enter(struct sn_os_states *states, const struct sn_os_event *event)
{
	static const char *const softirqs[] = {
#define SN_SOFTIRQ(name) name,
#include "softirq.def"
#undef SN_SOFTIRQ
	};
	struct cpu *cpu = cpu_of(states, event->cpu);
	if (!cpu || cpu->depth == NEST_MAX)
		return;
	struct open_interrupt *open = cpu->open + cpu->depth++;
	*open = (struct open_interrupt){event->kind, event->number, event->time_ns, ""};
	uint64_t number = (uint64_t)event->number;
	if (event->kind == SN_OS_SOFTIRQ_ENTER && number < sizeof(softirqs) / sizeof(*softirqs))
		snprintf(open->name, NAME_BYTES, "%s", softirqs[number]);
	else if (event->text_length)
		snprintf(open->name, NAME_BYTES, "%lld %.*s", (long long)event->number,
			 (int)event->text_length, event->text);
	else
		snprintf(open->name, NAME_BYTES, "%lld", (long long)event->number);
}

/* Ends the innermost interrupt of that kind and number; the ends of those nested in
 * it were lost. */
static void on_interrupt_exit(struct sn_os_states *states, const struct sn_os_event *event)
{
	struct cpu *cpu = cpu_of(states, event->cpu);
	bool is_soft = event->kind == SN_OS_SOFTIRQ_EXIT;
	uint32_t begin = is_soft ? SN_OS_SOFTIRQ_ENTER : SN_OS_IRQ_ENTER;
	for (uint32_t depth = cpu ? cpu->depth : 0; depth; depth--) {
		const struct open_interrupt *open = cpu->open + depth - 1;
		if (open->kind != begin || open->number != event->number)
			continue;
		struct sn_os_item item = {.layer = SN_OS_LAYER_INTERRUPT,
					  .tid = (int32_t)event->cpu,
					  .start_ns = open->since_ns,
					  .end_ns = event->time_ns,
					  .group = is_soft ? "softirq" : "interrupt",
					  .name = open->name};
		if (item.end_ns >= item.start_ns)
			send(states, &item);
		cpu->depth = depth - 1;
		return;
	}
}

/* ---- block devices and networks ---- */

/* A hash of the sector and the device, which have 96 bits; others may have the same. */
static uint64_t place_of(const struct request *request)
{
	return request->sector + request->device * UINT64_C(0x9e3779b97f4a7c15);
}

/* The request in progress with that hash; NULL: none. */
static struct request *find_request(struct sn_os_states *states, const struct request *wanted)
{
	uint32_t number = sn_table_find(&states->by_place, place_of(wanted));
	return number == SN_TABLE_NONE ? NULL : states->requests + number;
}

static bool is_same_place(const struct request *a, const struct request *b)
{
	return a->sector == b->sector && a->device == b->device;
}

static void on_request(struct sn_os_states *states, const struct sn_os_event *event)
{
	struct thread *thread = event->in_interrupt ? NULL : runner(states, event, false);
	if (!thread)
		return;
	struct request request = {.sector = (uint64_t)event->number,
				  .start_ns = event->time_ns,
				  .bytes = (uint64_t)event->value,
				  .device = (uint32_t)event->other,
				  .pid = thread->pid,
				  .tid = (int32_t)thread->sched.tid};
	const struct request *known = find_request(states, &request);
	if (known && is_same_place(known, &request)) /* it was queued before it was issued */
		return;
	uint32_t number = states->by_place.count;
	if (known || number == REQUESTS_MAX ||
	    sn_table_put(&states->by_place, place_of(&request), number))
		states->losses[SN_OS_LOSS_REQUESTS]++;
	else
		states->requests[number] = request;
}

/* Removes a request; the last one moves to its place. */
static void drop_request(struct sn_os_states *states, struct request *request)
{
	sn_table_remove(&states->by_place, place_of(request));
	const struct request *last = states->requests + states->by_place.count;
	if (last != request) {
		sn_table_probe(&states->by_place, place_of(last))->number =
		    (uint32_t)(request - states->requests) + 1;
		*request = *last;
	}
}

static const char *request_name(const struct sn_os_event *event)
{
	static const struct {
		char letter;
		const char *name;
	} names[] = {{'R', "read"}, {'W', "write"}, {'D', "discard"}, {'F', "flush"}};
	for (size_t i = 0; event->text_length && i < sizeof(names) / sizeof(*names); i++)
		if (event->text[0] == names[i].letter)
			return names[i].name;
	return "other";
}

static void on_request_done(struct sn_os_states *states, const struct sn_os_event *event)
{
	struct request place = {.sector = (uint64_t)event->number,
				.device = (uint32_t)event->other};
	struct request *request = find_request(states, &place);
	if (!request || !is_same_place(request, &place))
		return;
	struct sn_os_item item = {.layer = SN_OS_LAYER_BLOCK,
				  .pid = request->pid,
				  .tid = request->tid,
				  .start_ns = request->start_ns,
				  .end_ns = event->time_ns,
				  .group = "disk",
				  .name = request_name(event)};
	put_value(&item, SN_OS_KEY_BYTES, (int64_t)request->bytes);
	put_value(&item, SN_OS_KEY_DEVICE, request->device);
	put_value(&item, SN_OS_KEY_SECTOR, (int64_t)request->sector);
	drop_request(states, request);
	if (event->value)
		put_value(&item, SN_OS_KEY_ERROR, event->value);
	if (item.end_ns >= item.start_ns)
		send(states, &item);
}

/* An instant of the running thread, or in an interrupt of the processor. */
static void on_instant(struct sn_os_states *states, const struct sn_os_event *event)
{
	static const struct {
		const char *group, *name;
		enum sn_os_key key;
	} instants[SN_OS_EVENT_KINDS] = {
	    [SN_OS_FAULT_MINOR] = {"page fault", "minor", SN_OS_KEY_ADDRESS},
	    [SN_OS_FAULT_MAJOR] = {"page fault", "major", SN_OS_KEY_ADDRESS},
	    [SN_OS_SOCKET_SEND] = {"socket", "send", SN_OS_KEY_BYTES},
	    [SN_OS_SOCKET_RECEIVE] = {"socket", "receive", SN_OS_KEY_BYTES},
	    [SN_OS_PACKET_SEND] = {"packet", "send", SN_OS_KEY_BYTES},
	    [SN_OS_PACKET_RECEIVE] = {"packet", "receive", SN_OS_KEY_BYTES},
	};
	enum sn_os_key key = instants[event->kind].key;
	bool is_of_cpu = event->in_interrupt || event->kind == SN_OS_PACKET_RECEIVE;
	struct thread *thread = is_of_cpu ? NULL : running(states, event);
	struct sn_os_item item = {.layer = SN_OS_LAYER_PACKET, .tid = (int32_t)event->cpu};
	if ((!thread && !is_of_cpu) || (key == SN_OS_KEY_BYTES && event->value <= 0))
		return;
	if (thread)
		item = item_of(thread, SN_OS_LAYER_EVENT, 0, 0);
	item.start_ns = item.end_ns = event->time_ns;
	item.group = instants[event->kind].group;
	item.name = instants[event->kind].name;
	put_value(&item, key, key == SN_OS_KEY_ADDRESS ? event->number : event->value);
	send(states, &item);
}

static void on_frequency(struct sn_os_states *states, const struct sn_os_event *event)
{
	struct sn_os_item item = {.layer = SN_OS_LAYER_FREQUENCY,
				  .tid = (int32_t)event->number,
				  .start_ns = event->time_ns,
				  .end_ns = event->time_ns,
				  .value = (int64_t)((uint64_t)event->value * 1000)};
	send(states, &item);
}

/* ---- losses ---- */

static void on_loss(struct sn_os_states *states, const struct sn_os_event *event)
{
	states->losses[SN_OS_LOSS_RECORDS] += (uint64_t)event->number;
	for (size_t i = 0; i < states->thread_count; i++) {
		struct thread *thread = states->threads[i];
		if (thread->sched.state != SN_SCHED_UNKNOWN)
			forget(states, thread, (uint64_t)event->value);
		thread->syscall = SYSCALL_UNKNOWN;
		thread->wakeup_ns = 0;
	}
	for (size_t i = 0; i < states->cpu_count; i++)
		states->cpus[i].depth = 0;
}

/* ---- all ---- */

struct sn_os_states *sn_os_states_new(const struct sn_os_sink *sink, bool is_wide)
{
	struct sn_os_states *states = calloc(1, sizeof(*states));
	if (!states)
		return NULL;
	states->sink = *sink;
	states->sched =
	    (struct sn_sched){.interval = send_interval, .context = states, .has_unknown = true};
	states->is_wide = is_wide;
	return states;
}

void sn_os_states_free(struct sn_os_states *states)
{
	if (!states)
		return;
	for (size_t i = 0; i < states->thread_count; i++)
		free(states->threads[i]);
	free(states->threads);
	sn_table_release(&states->by_tid);
	sn_table_release(&states->by_kernel_tid);
	sn_table_release(&states->by_place);
	free(states->cpus);
	free(states);
}

void sn_os_states_add(struct sn_os_states *states, const struct sn_os_event *event)
{
	static void (*const handlers[SN_OS_EVENT_KINDS])(struct sn_os_states *,
							 const struct sn_os_event *) = {
	    [SN_OS_SWITCH] = on_switch,
	    [SN_OS_SWITCH_OUT] = on_switch_out,
	    [SN_OS_SWITCH_IN] = on_running,
	    [SN_OS_WAKING] = on_waking,
	    [SN_OS_WAKING_NEW] = on_waking,
	    [SN_OS_THREAD_BEGIN] = on_begin,
	    [SN_OS_THREAD_END] = on_end,
	    [SN_OS_NAMED] = on_name,
	    [SN_OS_SYSCALL_ENTER] = on_syscall_enter,
	    [SN_OS_SYSCALL_EXIT] = on_syscall_exit,
	    [SN_OS_FAULT_MINOR] = on_instant,
	    [SN_OS_FAULT_MAJOR] = on_instant,
	    [SN_OS_IRQ_ENTER] = on_interrupt_enter,
	    [SN_OS_IRQ_EXIT] = on_interrupt_exit,
	    [SN_OS_SOFTIRQ_ENTER] = on_interrupt_enter,
	    [SN_OS_SOFTIRQ_EXIT] = on_interrupt_exit,
	    [SN_OS_BLOCK_QUEUE] = on_request,
	    [SN_OS_BLOCK_ISSUE] = on_request,
	    [SN_OS_BLOCK_COMPLETE] = on_request_done,
	    [SN_OS_SOCKET_SEND] = on_instant,
	    [SN_OS_SOCKET_RECEIVE] = on_instant,
	    [SN_OS_PACKET_SEND] = on_instant,
	    [SN_OS_PACKET_RECEIVE] = on_instant,
	    [SN_OS_FREQUENCY] = on_frequency,
	    [SN_OS_LOST] = on_loss,
	};
	if (event->kind < SN_OS_EVENT_KINDS && handlers[event->kind])
		handlers[event->kind](states, event);
}

void sn_os_states_finish(struct sn_os_states *states, uint64_t end_ns)
{
	while (states->thread_count)
		end_thread(states, states->threads[states->thread_count - 1], end_ns);
}

uint64_t *sn_os_states_losses(struct sn_os_states *states)
{
	states->losses[SN_OS_LOSS_DISORDER] += states->sched.disorder;
	states->sched.disorder = 0;
	return states->losses;
}
