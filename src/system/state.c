/* SPDX-License-Identifier: Apache-2.0 */
/* Threads' states out of what the kernel told; see state.h. */
#include "state.h"

#include "base/vec.h"
#include "syscall_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A wakeup that precedes the switch by less belongs to it: the kernel tells of waking before it
 * waits for the thread to be off its processor. */
#define EARLY_WAKEUP_NS 50000u

/* First arguments that are no more than that are told: file descriptors, and not addresses. */
#define ARGUMENT_MAX 65536

enum { NAME_BYTES = 32, NEST_MAX = 8, REQUEST_SLOTS = 4096, REQUEST_PROBES = 16, CPUS_MAX = 65536 };

enum thread_state { UNKNOWN, RUNNING, READY, BLOCKED };

/* Of what system call: none, or not known because its begin was not seen. */
enum { SYSCALL_NONE = -1, SYSCALL_UNKNOWN = -2 };

enum key_kind { BY_TID, BY_KERNEL_TID, KEY_KINDS };

struct thread {
	struct thread *next[KEY_KINDS];
	int32_t keys[KEY_KINDS]; /* kernel's: 0 not known */
	int32_t pid;
	enum thread_state state;
	uint64_t since_ns;
	uint32_t cpu;		 /* where it ran last */
	char reason[NAME_BYTES]; /* while BLOCKED; "" not known */
	char name[NAME_BYTES];
	int64_t syscall, argument;
	uint64_t syscall_ns;
	/* who woke it, while READY, or too early to be sure */
	uint64_t wakeup_ns;
	struct sn_os_item wakeup; /* of whom to say so */
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
	bool is_used;
};

struct sn_os_states {
	struct sn_os_sink sink;
	bool is_wide;
	bool has_switches;  /* the tracepoint tells of them, and of threads' ends */
	bool has_syscalls;  /* they are told of: a thread that is in none blocks in a fault */
	bool is_translated; /* threads have other numbers for us than for the kernel */
	struct thread **buckets[KEY_KINDS];
	size_t bucket_count; /* a power of two */
	size_t thread_count;
	struct cpu *cpus;
	size_t cpu_capacity, cpu_count;
	struct request requests[REQUEST_SLOTS];
	uint64_t last_link;
	uint64_t losses[SN_OS_LOSSES];
};

/* ---- threads ---- */

static struct thread **bucket(const struct sn_os_states *states, enum key_kind kind, int32_t key)
{
	uint32_t hash = (uint32_t)key * 2654435761u;
	return states->buckets[kind] + (hash >> 8 & (states->bucket_count - 1));
}

static struct thread *find(const struct sn_os_states *states, enum key_kind kind, int32_t key)
{
	struct thread *thread = *bucket(states, kind, key);
	while (thread && thread->keys[kind] != key)
		thread = thread->next[kind];
	return thread;
}

static void link_thread(struct sn_os_states *states, enum key_kind kind, struct thread *thread)
{
	struct thread **place = bucket(states, kind, thread->keys[kind]);
	thread->next[kind] = *place;
	*place = thread;
}

static void unlink_thread(struct sn_os_states *states, enum key_kind kind, struct thread *thread)
{
	struct thread **place = bucket(states, kind, thread->keys[kind]);
	while (*place && *place != thread)
		place = &(*place)->next[kind];
	if (*place)
		*place = thread->next[kind];
}

/* Twice as many buckets; without memory for them chains grow longer. */
static void grow(struct sn_os_states *states)
{
	struct thread **grown[KEY_KINDS], **old[KEY_KINDS];
	size_t count = states->bucket_count;
	for (int kind = 0; kind < KEY_KINDS; kind++)
		grown[kind] = calloc(count * 2, sizeof(**grown));
	if (!grown[BY_TID] || !grown[BY_KERNEL_TID]) {
		free(grown[BY_TID]);
		free(grown[BY_KERNEL_TID]);
		return;
	}
	states->bucket_count = count * 2;
	for (int kind = 0; kind < KEY_KINDS; kind++) {
		old[kind] = states->buckets[kind];
		states->buckets[kind] = grown[kind];
		for (size_t i = 0; i < count; i++)
			for (struct thread *thread = old[kind][i], *next; thread; thread = next) {
				next = thread->next[kind];
				link_thread(states, (enum key_kind)kind, thread);
			}
		free(old[kind]);
	}
}

static struct thread *add(struct sn_os_states *states, int32_t tid, int32_t kernel_tid)
{
	if (states->thread_count >= states->bucket_count)
		grow(states);
	struct thread *thread =
	    states->thread_count < SN_OS_THREADS_MAX ? calloc(1, sizeof(*thread)) : NULL;
	if (!thread) {
		states->losses[SN_OS_LOSS_THREADS]++;
		return NULL;
	}
	states->thread_count++;
	thread->keys[BY_TID] = tid;
	thread->keys[BY_KERNEL_TID] = kernel_tid > 0 ? kernel_tid : 0;
	states->is_translated |= kernel_tid > 0 && kernel_tid != tid;
	thread->syscall = SYSCALL_UNKNOWN;
	link_thread(states, BY_TID, thread);
	if (thread->keys[BY_KERNEL_TID])
		link_thread(states, BY_KERNEL_TID, thread);
	return thread;
}

static void drop(struct sn_os_states *states, struct thread *thread)
{
	unlink_thread(states, BY_TID, thread);
	if (thread->keys[BY_KERNEL_TID])
		unlink_thread(states, BY_KERNEL_TID, thread);
	states->thread_count--;
	free(thread);
}

/* The thread of a number that the kernel gave it; new where every thread is wanted. */
static struct thread *find_kernel(struct sn_os_states *states, int32_t kernel_tid)
{
	if (kernel_tid <= 0)
		return NULL;
	struct thread *thread = find(states, BY_KERNEL_TID, kernel_tid);
	if (!thread && !states->is_translated)
		thread = find(states, BY_TID, kernel_tid);
	if (!thread && states->is_wide)
		thread = add(states, kernel_tid, kernel_tid);
	return thread;
}

static void learn_kernel_tid(struct sn_os_states *states, struct thread *thread, int32_t kernel_tid)
{
	if (kernel_tid <= 0 || thread->keys[BY_KERNEL_TID])
		return;
	states->is_translated |= kernel_tid != thread->keys[BY_TID];
	thread->keys[BY_KERNEL_TID] = kernel_tid;
	link_thread(states, BY_KERNEL_TID, thread);
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
		states->sink.thread(states->sink.context, thread->pid, thread->keys[BY_TID],
				    thread->name);
}

/* ---- what goes out ---- */

static struct sn_os_item item_of(const struct thread *thread, enum sn_os_layer layer,
				 uint64_t start_ns, uint64_t end_ns)
{
	return (struct sn_os_item){.layer = layer,
				   .pid = thread->pid,
				   .tid = thread->keys[BY_TID],
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

static void send_occupancy(struct sn_os_states *states, const struct thread *thread,
			   uint64_t end_ns)
{
	struct sn_os_item item = item_of(thread, SN_OS_LAYER_OCCUPANCY, thread->since_ns, end_ns);
	item.named_pid = item.pid;
	item.named_tid = item.tid;
	item.name = thread->name;
	item.pid = 0;
	item.tid = (int32_t)thread->cpu;
	send(states, &item);
}

/* Ends the state that the thread was in, and tells of it. `extra` has what is known besides. */
static void enter(struct sn_os_states *states, struct thread *thread, enum thread_state state,
		  uint64_t time_ns, const struct sn_os_item *extra)
{
	static const char *const names[] = {"unknown", "running", "ready", "blocked"};
	enum thread_state was = thread->state;
	if (time_ns < thread->since_ns) {
		states->losses[SN_OS_LOSS_DISORDER]++;
		time_ns = thread->since_ns;
	}
	if (thread->since_ns && time_ns > thread->since_ns) {
		struct sn_os_item item =
		    item_of(thread, SN_OS_LAYER_STATE, thread->since_ns, time_ns);
		item.name = names[was];
		if (was == BLOCKED && *thread->reason) {
			item.group = names[was];
			item.name = thread->reason;
		}
		if (extra) {
			item.link = extra->link;
			item.present = extra->present;
			memcpy(item.values, extra->values, sizeof(item.values));
		}
		if (was == RUNNING)
			put_value(&item, SN_OS_KEY_CPU, thread->cpu);
		send(states, &item);
		if (was == RUNNING)
			send_occupancy(states, thread, time_ns);
	}
	thread->state = state;
	thread->since_ns = time_ns;
}

/* ---- who ran ---- */

/* The thread that a record is of: it ran at that moment. NULL: not one of ours, or nobody. */
static struct thread *runner(struct sn_os_states *states, const struct sn_os_event *event,
			     bool is_ours)
{
	int32_t tid = event->tid > 0 ? event->tid : event->kernel_tid;
	if (tid <= 0)
		return NULL;
	struct thread *thread = find(states, BY_TID, tid);
	if (!thread && (is_ours || states->is_wide))
		thread = add(states, tid, event->kernel_tid);
	if (!thread)
		return NULL;
	if (event->pid > 0)
		thread->pid = event->pid;
	learn_kernel_tid(states, thread, event->kernel_tid);
	return thread;
}

/* As above, of a record that tells by being there that the thread runs. */
static struct thread *running(struct sn_os_states *states, const struct sn_os_event *event)
{
	struct thread *thread = runner(states, event, true);
	if (!thread)
		return NULL;
	if (thread->state != RUNNING)
		enter(states, thread, RUNNING, event->time_ns, NULL);
	thread->cpu = event->cpu;
	thread->wakeup_ns = 0;
	return thread;
}

static struct thread *find_dead(const struct sn_os_states *states, const struct sn_os_event *event)
{
	int32_t tid = event->tid > 0 ? event->tid : event->kernel_tid;
	return find(states, BY_TID, tid);
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
	enter(states, thread, READY, time_ns, &extra);
	if (wakeup->tid <= 0)
		return;
	wakeup->link = extra.link;
	put_value(wakeup, SN_OS_KEY_WOKEN, thread->keys[BY_TID]);
	send(states, wakeup);
}

/* `state`: the kernel's bits; 0 it could have gone on. */
static void leave(struct sn_os_states *states, struct thread *thread,
		  const struct sn_os_event *event, int64_t state, const struct sn_os_item *extra)
{
	char text[NAME_BYTES];
	uint64_t wakeup_ns = thread->wakeup_ns;
	thread->cpu = event->cpu;
	thread->wakeup_ns = 0;
	enter(states, thread, state ? BLOCKED : READY, event->time_ns, extra);
	if (!state)
		return;
	snprintf(thread->reason, NAME_BYTES, "%s",
		 state & 0xc ? "stopped" : waits_for(thread, text));
	if (wakeup_ns && event->time_ns - wakeup_ns < EARLY_WAKEUP_NS)
		wake(states, thread, event->time_ns);
}

static void end_thread(struct sn_os_states *states, struct thread *thread, uint64_t end_ns);

static void take_switch(struct sn_os_states *states, const struct sn_os_event *event)
{
	/* dead: of a thread whose end has been told already, this comes late */
	bool is_dead = event->number & 0x30;
	states->has_switches = true;
	struct thread *from = is_dead ? find_dead(states, event) : runner(states, event, true);
	if (from && is_dead) {
		end_thread(states, from, event->time_ns);
		from = NULL;
	}
	if (from) {
		struct sn_os_item extra = {0};
		put_value(&extra, SN_OS_KEY_NEXT, event->other);
		if (from->state != RUNNING && from->state != UNKNOWN)
			enter(states, from, RUNNING, event->time_ns, NULL);
		leave(states, from, event, event->number & 0xff, &extra);
	}
	struct thread *to = find_kernel(states, event->other);
	if (!to)
		return;
	if (!*to->name)
		set_name(states, to, event->text, event->text_length);
	if (to->state != RUNNING)
		enter(states, to, RUNNING, event->time_ns, NULL);
	to->cpu = event->cpu;
	to->wakeup_ns = 0;
}

/* The same without a tracepoint. It comes after the tracepoint's record, and says nothing new then;
 * a thread that is not known has ended with that record. */
static void take_switch_out(struct sn_os_states *states, const struct sn_os_event *event)
{
	struct thread *thread =
	    states->has_switches ? find(states, BY_TID, event->tid) : runner(states, event, true);
	if (thread && (thread->state == RUNNING || thread->state == UNKNOWN))
		leave(states, thread, event, !event->number, NULL);
}

static void take_waking(struct sn_os_states *states, const struct sn_os_event *event)
{
	struct thread *woken = find_kernel(states, event->other);
	if (!woken || woken->state == READY)
		return;
	woken->wakeup = (struct sn_os_item){.layer = SN_OS_LAYER_EVENT,
					    .start_ns = event->time_ns,
					    .end_ns = event->time_ns,
					    .name = "wakeup"};
	if (!event->in_interrupt && event->tid > 0) {
		woken->wakeup.tid = event->tid;
		woken->wakeup.pid = event->pid;
	}
	if (woken->state == BLOCKED)
		wake(states, woken, event->time_ns);
	else if (woken->state == RUNNING)
		woken->wakeup_ns = event->time_ns;
}

static void take_begin(struct sn_os_states *states, const struct sn_os_event *event)
{
	struct thread *thread = find(states, BY_TID, event->other);
	if (thread) /* its number was another's, whose end was lost; damaged: its own parent's */
		drop(states, thread);
	const struct thread *parent = find(states, BY_TID, event->tid);
	thread = add(states, event->other, 0);
	if (!thread)
		return;
	thread->pid = (int32_t)event->number;
	thread->syscall = states->has_syscalls ? SYSCALL_NONE : SYSCALL_UNKNOWN;
	if (parent)
		set_name(states, thread, parent->name, strlen(parent->name));
	enter(states, thread, READY, event->time_ns, NULL);
}

/* ---- system calls ---- */

static void take_syscall_enter(struct sn_os_states *states, const struct sn_os_event *event)
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

static void take_syscall_exit(struct sn_os_states *states, const struct sn_os_event *event)
{
	struct thread *thread = running(states, event);
	if (!thread)
		return;
	if (thread->syscall != event->number)
		thread->syscall = SYSCALL_NONE; /* its begin was not seen */
	end_syscall(states, thread, event->time_ns, &event->value);
}

static void end_thread(struct sn_os_states *states, struct thread *thread, uint64_t end_ns)
{
	end_syscall(states, thread, end_ns, NULL);
	enter(states, thread, UNKNOWN, end_ns > thread->since_ns ? end_ns : thread->since_ns, NULL);
	drop(states, thread);
}

static void take_end(struct sn_os_states *states, const struct sn_os_event *event)
{
	struct thread *thread = find(states, BY_TID, event->other);
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

static void take_interrupt_enter(struct sn_os_states *states, const struct sn_os_event *event)
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

/* Ends the innermost of that kind and number; what is nested in it and still open was lost. */
static void take_interrupt_exit(struct sn_os_states *states, const struct sn_os_event *event)
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

/* ---- disks and networks ---- */

/* The request's slot, or with `is_new` one to put it into; NULL: there is none. */
static struct request *request_of(struct sn_os_states *states, const struct sn_os_event *event,
				  bool is_new)
{
	uint64_t sector = (uint64_t)event->number;
	uint32_t device = (uint32_t)event->other;
	uint64_t hash = (sector ^ (uint64_t)device << 40) * 0x9e3779b97f4a7c15u;
	struct request *vacant = NULL;
	for (unsigned i = 0; i < REQUEST_PROBES; i++) {
		struct request *slot = states->requests + ((hash >> 32) + i) % REQUEST_SLOTS;
		if (slot->is_used && slot->sector == sector && slot->device == device)
			return slot;
		if (!slot->is_used && !vacant)
			vacant = slot;
	}
	return is_new ? vacant : NULL;
}

static void take_request(struct sn_os_states *states, const struct sn_os_event *event)
{
	struct thread *thread = event->in_interrupt ? NULL : runner(states, event, false);
	struct request *request = thread ? request_of(states, event, true) : NULL;
	if (!thread)
		return;
	if (!request) {
		states->losses[SN_OS_LOSS_REQUESTS]++;
		return;
	}
	if (request->is_used) /* queued before it was issued */
		return;
	*request = (struct request){.sector = (uint64_t)event->number,
				    .start_ns = event->time_ns,
				    .bytes = (uint64_t)event->value,
				    .device = (uint32_t)event->other,
				    .pid = thread->pid,
				    .tid = thread->keys[BY_TID],
				    .is_used = true};
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

static void take_request_done(struct sn_os_states *states, const struct sn_os_event *event)
{
	struct request *request = request_of(states, event, false);
	if (!request)
		return;
	struct sn_os_item item = {.layer = SN_OS_LAYER_BLOCK,
				  .pid = request->pid,
				  .tid = request->tid,
				  .start_ns = request->start_ns,
				  .end_ns = event->time_ns,
				  .group = "disk",
				  .name = request_name(event)};
	request->is_used = false;
	put_value(&item, SN_OS_KEY_BYTES, (int64_t)request->bytes);
	put_value(&item, SN_OS_KEY_DEVICE, request->device);
	put_value(&item, SN_OS_KEY_SECTOR, (int64_t)request->sector);
	if (event->value)
		put_value(&item, SN_OS_KEY_ERROR, event->value);
	if (item.end_ns >= item.start_ns)
		send(states, &item);
}

/* An instant of the thread that ran, or, in an interrupt, of the processor. */
static void take_instant(struct sn_os_states *states, const struct sn_os_event *event,
			 const char *group, const char *name, enum sn_os_key key)
{
	bool is_of_cpu = event->in_interrupt || event->kind == SN_OS_PACKET_RECEIVE;
	struct thread *thread = is_of_cpu ? NULL : running(states, event);
	struct sn_os_item item = {.layer = SN_OS_LAYER_PACKET, .tid = (int32_t)event->cpu};
	if ((!thread && !is_of_cpu) || (key == SN_OS_KEY_BYTES && event->value <= 0))
		return;
	if (thread)
		item = item_of(thread, SN_OS_LAYER_EVENT, 0, 0);
	item.start_ns = item.end_ns = event->time_ns;
	item.group = group;
	item.name = name;
	put_value(&item, key, key == SN_OS_KEY_ADDRESS ? event->number : event->value);
	send(states, &item);
}

static void take_frequency(struct sn_os_states *states, const struct sn_os_event *event)
{
	struct sn_os_item item = {.layer = SN_OS_LAYER_FREQUENCY,
				  .tid = (int32_t)event->number,
				  .start_ns = event->time_ns,
				  .end_ns = event->time_ns,
				  .value = (int64_t)((uint64_t)event->value * 1000)};
	send(states, &item);
}

/* ---- what was lost ---- */

/* From `since_ns` on nobody knows what became of whom. */
static void take_loss(struct sn_os_states *states, const struct sn_os_event *event)
{
	uint64_t since_ns = (uint64_t)event->value;
	states->losses[SN_OS_LOSS_RECORDS] += (uint64_t)event->number;
	for (size_t i = 0; i < states->bucket_count; i++)
		for (struct thread *thread = states->buckets[BY_TID][i]; thread;
		     thread = thread->next[BY_TID]) {
			if (thread->state != UNKNOWN)
				enter(states, thread, UNKNOWN,
				      since_ns > thread->since_ns ? since_ns : thread->since_ns,
				      NULL);
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
	states->is_wide = is_wide;
	states->bucket_count = 64;
	for (int kind = 0; kind < KEY_KINDS; kind++)
		states->buckets[kind] = calloc(states->bucket_count, sizeof(**states->buckets));
	if (states->buckets[BY_TID] && states->buckets[BY_KERNEL_TID])
		return states;
	sn_os_states_free(states);
	return NULL;
}

void sn_os_states_free(struct sn_os_states *states)
{
	if (!states)
		return;
	for (size_t i = 0; states->buckets[BY_TID] && i < states->bucket_count; i++)
		for (struct thread *thread = states->buckets[BY_TID][i], *next; thread;
		     thread = next) {
			next = thread->next[BY_TID];
			free(thread);
		}
	free(states->buckets[BY_TID]);
	free(states->buckets[BY_KERNEL_TID]);
	free(states->cpus);
	free(states);
}

static void take_scheduler(struct sn_os_states *states, const struct sn_os_event *event)
{
	struct thread *thread;
	switch (event->kind) {
	case SN_OS_SWITCH:
		take_switch(states, event);
		break;
	case SN_OS_SWITCH_OUT:
		take_switch_out(states, event);
		break;
	case SN_OS_SWITCH_IN:
		running(states, event);
		break;
	case SN_OS_WAKING:
	case SN_OS_WAKING_NEW:
		take_waking(states, event);
		break;
	case SN_OS_THREAD_BEGIN:
		take_begin(states, event);
		break;
	case SN_OS_THREAD_END:
		take_end(states, event);
		break;
	case SN_OS_NAMED:
		thread = find(states, BY_TID, event->other);
		if (!thread)
			thread = running(states, event);
		if (thread)
			set_name(states, thread, event->text, event->text_length);
		break;
	default:
		break;
	}
}

void sn_os_states_take(struct sn_os_states *states, const struct sn_os_event *event)
{
	switch (event->kind) {
	case SN_OS_SYSCALL_ENTER:
		take_syscall_enter(states, event);
		break;
	case SN_OS_SYSCALL_EXIT:
		take_syscall_exit(states, event);
		break;
	case SN_OS_FAULT_MINOR:
	case SN_OS_FAULT_MAJOR:
		take_instant(states, event, "page fault",
			     event->kind == SN_OS_FAULT_MAJOR ? "major" : "minor",
			     SN_OS_KEY_ADDRESS);
		break;
	case SN_OS_IRQ_ENTER:
	case SN_OS_SOFTIRQ_ENTER:
		take_interrupt_enter(states, event);
		break;
	case SN_OS_IRQ_EXIT:
	case SN_OS_SOFTIRQ_EXIT:
		take_interrupt_exit(states, event);
		break;
	case SN_OS_BLOCK_QUEUE:
	case SN_OS_BLOCK_ISSUE:
		take_request(states, event);
		break;
	case SN_OS_BLOCK_COMPLETE:
		take_request_done(states, event);
		break;
	case SN_OS_SOCKET_SEND:
	case SN_OS_PACKET_SEND:
		take_instant(states, event, event->kind == SN_OS_PACKET_SEND ? "packet" : "socket",
			     "send", SN_OS_KEY_BYTES);
		break;
	case SN_OS_SOCKET_RECEIVE:
	case SN_OS_PACKET_RECEIVE:
		take_instant(states, event,
			     event->kind == SN_OS_PACKET_RECEIVE ? "packet" : "socket", "receive",
			     SN_OS_KEY_BYTES);
		break;
	case SN_OS_FREQUENCY:
		take_frequency(states, event);
		break;
	case SN_OS_LOST:
		take_loss(states, event);
		break;
	default:
		take_scheduler(states, event);
		break;
	}
}

void sn_os_states_finish(struct sn_os_states *states, uint64_t end_ns)
{
	for (size_t i = 0; i < states->bucket_count; i++)
		while (states->buckets[BY_TID][i])
			end_thread(states, states->buckets[BY_TID][i], end_ns);
}

uint64_t *sn_os_states_losses(struct sn_os_states *states)
{
	return states->losses;
}
