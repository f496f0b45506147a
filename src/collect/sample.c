/* SPDX-License-Identifier: Apache-2.0 */
/* Timers, perf events and the signal handler; see sample.h. */
#include "sample.h"
#include "altstack.h"
#include "checkpoint.h"
#include "event.h"
#include "go_program.h"
#include "adapters.h"
#include "intercept.h"
#include "line.h"
#include "own_fd.h"
#include "signal_check.h"
#include "trace.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The kernel's tick is 100 Hz to 1000 Hz; a CPU-time timer set faster than it gets the tick's rate.
 */
#define TIMER_HIGHEST_HZ 250u
/* How often a thread that a perf event drives is asked whether it is still there. */
#define WATCH_HZ	 4u

/* What a thread has used and no sample has charged yet. */
struct sn_amounts {
	uint64_t cpu_ns, wall_ns;
	uint64_t counts[SN_EVENT_MAX]; /* of each perf event */
};

struct sn_sampling {
	bool active;
	int timer; /* kernel timer id, -1 none */
	struct sn_own_event perf[SN_EVENT_MAX];
	uint64_t counts[SN_EVENT_MAX]; /* of each perf event, already charged */
	uint64_t charged_cpu_ns;       /* thread CPU time already charged */
	uint64_t charged_wall_ns;      /* monotonic time already charged */
	uint64_t charged_own_ns;       /* of the thread's own_ns */
	void *stack;		       /* of sn_altstack_install */
	struct sn_amounts carried;     /* from threads of this record that have ended */
	uint64_t ended_cpu_ns;	       /* that they have used in all */
	uint32_t driver_hz;	       /* of the perf event perf[driver]; 0: a timer drives */
	int driver;
	uint64_t watched_ns; /* thread CPU time when it was seen last */
};

static struct sn_event events[SN_EVENT_MAX];
static uint32_t event_metrics[SN_EVENT_MAX];
static int event_count;
static int cpu_event = -1, real_event = -1;
static char timer_cookie; /* its address marks our timers' signals */
static struct sigaction program_action;
int sn_sample_signal = SIGURG;
#define GO_SAMPLE_SIGNAL 34 /* SIGRTMIN of the C library */
static char status[160];

/* ---- perf events ---- */

static struct perf_event_attr attributes_of(const struct sn_event *event)
{
	struct perf_event_attr attributes = {
	    .type = event->type,
	    .size = sizeof(attributes),
	    .config = event->config,
	    .exclude_hv = 1,
	    .exclude_idle = 1,
	    .wakeup_events = 1,
	};
	if (event->source == SN_EVENT_CPU_TIME) {
		attributes.type = PERF_TYPE_SOFTWARE;
		attributes.config = PERF_COUNT_SW_TASK_CLOCK;
		attributes.sample_period = 1000000000u / event->rate;
	} else if (event->is_rate) {
		attributes.freq = 1;
		attributes.sample_freq = event->rate;
	} else {
		attributes.sample_period = event->rate;
	}
	return attributes;
}

/* 0, or negative errno: -EMFILE where the program's descriptors are spared. */
static int perf_start(const struct sn_event *event, int32_t tid, struct sn_own_event *perf)
{
	struct perf_event_attr attributes = attributes_of(event);
	/* a real-time signal would be queued, survive exec, and kill what is executed then */
	if (event->rate && sn_sample_signal != SIGURG)
		return -ENOTSUP;
	int error = sn_own_event_open(perf, &attributes);
	if (error || !event->rate)
		return error;
	error = sn_own_event_signal(perf, sn_sample_signal, tid);
	if (error)
		sn_own_event_close(perf);
	return error;
}

static void drop_event(struct sn_thread *thread, int error)
{
	sn_drop(thread, error == -EMFILE ? SN_DROP_DESCRIPTORS_SCARCE : SN_DROP_EVENT_UNAVAILABLE,
		1);
}

/* ---- the timer ---- */

static long timer_set(int timer, uint64_t hz, uint64_t used_ns)
{
	uint64_t period_ns = 1000000000u / hz;
	struct timespec period = {0, (long)period_ns};
	if (hz == 1)
		period = (struct timespec){1, 0};
	struct timespec first = {0, used_ns < period_ns ? (long)(period_ns - used_ns) : 1};
	struct itimerspec setting = {period, used_ns ? first : period};
	return syscall(SYS_timer_settime, timer, 0, &setting, NULL);
}

/*
 * `used_ns` of the first period are over already, by what is carried or by chance: a thread that
 * lives for less than a period must be as likely to be met as any other part of the program.
 */
static int timer_start(uint64_t hz, int32_t tid, uint64_t used_ns)
{
	struct sigevent notify = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sn_sample_signal};
	notify.sigev_value.sival_ptr = &timer_cookie;
	notify._sigev_un._tid = tid;
	int timer;
	if (syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &notify, &timer))
		return -1;
	if (timer_set(timer, hz, used_ns)) {
		syscall(SYS_timer_delete, timer);
		return -1;
	}
	return timer;
}

/* ---- charging ---- */

static uint64_t thread_cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void add(struct sn_thread *thread, uint32_t node, uint32_t metric, uint64_t amount)
{
	if (!sn_cct_add(&thread->cct, node, metric, amount))
		sn_drop(thread, SN_DROP_SAMPLE_MEMORY, 1);
}

/* The program's CPU time from the last sample to `now`, without what the collector itself has used.
 */
static void charge_cpu(struct sn_thread *thread, struct sn_sampling *sampling, uint32_t node,
		       uint64_t now)
{
	uint64_t used = now - sampling->charged_cpu_ns;
	uint64_t own = thread->own_ns - sampling->charged_own_ns;
	sampling->charged_cpu_ns = now;
	sampling->charged_own_ns = thread->own_ns;
	thread->cpu_ns = sampling->ended_cpu_ns + now;
	if (cpu_event >= 0)
		add(thread, node, event_metrics[cpu_event], used > own ? used - own : 0);
}

/*
 * Real time is what the measured waits have not claimed already (see intercept_wait.c): running, or
 * waiting for a processor, or a wait nobody saw.
 */
static void charge_real(struct sn_thread *thread, struct sn_sampling *sampling, uint32_t node,
			uint64_t now_ns)
{
	uint64_t passed = now_ns - sampling->charged_wall_ns;
	uint64_t waited = thread->waited_ns;
	sampling->charged_wall_ns = now_ns;
	thread->waited_ns = 0;
	if (real_event >= 0)
		add(thread, node, event_metrics[real_event], passed > waited ? passed - waited : 0);
}

static void charge_perf(struct sn_thread *thread, struct sn_sampling *sampling, uint32_t node)
{
	for (int index = 0; index < event_count; index++) {
		uint64_t count;
		if (events[index].source != SN_EVENT_PERF ||
		    !sn_own_event_read(&sampling->perf[index], &count))
			continue;
		if ((int64_t)(count - sampling->counts[index]) <= 0)
			continue;
		add(thread, node, event_metrics[index], count - sampling->counts[index]);
		sampling->counts[index] = count;
	}
}

/* What no sample fell into belongs to the thread as a whole. */
static void charge_rest(struct sn_thread *thread, struct sn_sampling *sampling, uint64_t now_cpu_ns)
{
	charge_cpu(thread, sampling, SN_NODE_ROOT, now_cpu_ns);
	charge_real(thread, sampling, SN_NODE_ROOT, sn_now_ns());
	charge_perf(thread, sampling, SN_NODE_ROOT);
}

/*
 * What no sample fell into goes on to the record's next thread, so that the threads of a record are
 * sampled as if they were one: of thousands that live for less than a period few are met, and those
 * stand for the others.
 */
static void carry_rest(struct sn_thread *thread, struct sn_sampling *sampling)
{
	struct sn_amounts *carried = &sampling->carried;
	uint64_t now_cpu_ns = thread_cpu_ns();
	uint64_t used = now_cpu_ns - sampling->charged_cpu_ns;
	uint64_t own = thread->own_ns - sampling->charged_own_ns;
	uint64_t passed = sn_now_ns() - sampling->charged_wall_ns;
	carried->cpu_ns = used > own ? used - own : 0;
	carried->wall_ns = passed > thread->waited_ns ? passed - thread->waited_ns : 0;
	for (int index = 0; index < event_count; index++) {
		uint64_t count;
		if (events[index].source != SN_EVENT_PERF ||
		    !sn_own_event_read(&sampling->perf[index], &count))
			continue;
		count -= sampling->counts[index];
		carried->counts[index] = (int64_t)count > 0 ? count : 0;
	}
	thread->cpu_ns = sampling->ended_cpu_ns + now_cpu_ns;
}

/* A program may close the descriptor of the perf event that drives samples, or use its number: then
 * the timer, which was only there to find that out, drives them. */
static void watch_driver(struct sn_sampling *sampling, uint64_t now_cpu_ns)
{
	if (now_cpu_ns - sampling->watched_ns < 1000000000u / WATCH_HZ)
		return;
	sampling->watched_ns = now_cpu_ns;
	if (sn_own_event_is_open(&sampling->perf[sampling->driver]))
		return;
	timer_set(sampling->timer, sampling->driver_hz, 0);
	sampling->driver_hz = 0;
}

static void take_sample(struct sn_thread *thread, const ucontext_t *context)
{
	struct sn_sampling *sampling = thread->sampling;
	uint64_t start_ns = sn_now_ns(), start_cpu_ns = thread_cpu_ns();
	uint32_t node = sn_callpath(thread, context, 0);
	if (node == SN_NODE_NONE) {
		sn_drop(thread, SN_DROP_SAMPLE_MEMORY, 1);
		node = SN_NODE_ROOT;
	}
	charge_cpu(thread, sampling, node, start_cpu_ns);
	charge_real(thread, sampling, node, start_ns);
	charge_perf(thread, sampling, node);
	if (sn_trace_wants(SN_TRACE_SOURCE_SAMPLES))
		sn_trace_sample(thread, node, start_ns);
	if (sampling->driver_hz)
		watch_driver(sampling, start_cpu_ns);
	thread->samples++;
	sn_adapters_fold(thread);
	sn_checkpoint_if_due(start_ns);
	/* CPU time: a thread that waits for a processor here costs nobody anything */
	thread->own_ns += thread_cpu_ns() - start_cpu_ns;
}

void sn_sampling_charge_wait(struct sn_thread *thread, const char *call, uint64_t waited_ns)
{
	uint64_t start_cpu_ns = thread_cpu_ns();
	uint32_t node = sn_callpath(thread, NULL, 0);
	struct sn_frame frame = {.kind = SN_FRAME_OS,
				 .id = sn_cct_string(&thread->cct, call, strlen(call))};
	if (node != SN_NODE_NONE && frame.id != SN_ID_NONE)
		node = sn_cct_child(&thread->cct, node, &frame);
	add(thread, node == SN_NODE_NONE ? SN_NODE_ROOT : node, event_metrics[real_event],
	    waited_ns);
	thread->waited_ns += waited_ns;
	thread->own_ns += thread_cpu_ns() - start_cpu_ns;
}

/* ---- the handler ---- */

static bool is_ours(const siginfo_t *info)
{
	if (info->si_code == SI_TIMER)
		return info->si_value.sival_ptr == &timer_cookie;
	return info->si_code == POLL_IN && sn_own_fd_is_noted(info->si_fd);
}

static void pass_to_program(int signal, siginfo_t *info, void *context)
{
	if (program_action.sa_flags & SA_SIGINFO)
		program_action.sa_sigaction(signal, info, context);
	else if (program_action.sa_handler != SIG_DFL && program_action.sa_handler != SIG_IGN)
		program_action.sa_handler(signal);
}

static bool is_active(const struct sn_thread *thread)
{
	const struct sn_sampling *sampling = thread->sampling;
	return sampling && sampling->active;
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
	if (!is_ours(info)) {
		pass_to_program(signal, info, context);
		return;
	}
	int saved_errno = errno;
	struct sn_thread *thread = sn_enter();
	sn_signal_check_enter();
	if (thread && is_active(thread) && sn_measuring())
		take_sample(thread, context);
	else if (!thread && sn_thread_self())
		sn_drop(sn_thread_self(), SN_DROP_SAMPLE_BUSY, 1);
	sn_signal_check_leave();
	if (thread)
		sn_leave(thread);
	errno = saved_errno;
}

int sn_sampling_sigaction(const struct sigaction *new_action, struct sigaction *old_action)
{
	/* the flags of the real handler stay ours; SA_RESTART keeps samples from breaking calls */
	if (old_action)
		*old_action = program_action;
	if (new_action)
		program_action = *new_action;
	return 0;
}

/* ---- start and stop ---- */

static uint64_t period_of(const struct sn_event *event)
{
	if (!event->is_rate)
		return event->rate;
	return event->source == SN_EVENT_PERF ? 0 : 1000000000u / event->rate;
}

static void register_metric(int index)
{
	struct sn_event *event = &events[index];
	bool is_time = event->source != SN_EVENT_PERF;
	event_metrics[index] =
	    sn_metric(event->name, is_time ? "ns" : "1", is_time ? "timer" : "perf",
		      is_time ? SN_METRIC_TIME : SN_METRIC_COUNT, period_of(event));
	if (event->source == SN_EVENT_CPU_TIME)
		cpu_event = index;
	if (event->source == SN_EVENT_REAL_TIME)
		real_event = index;
}

int sn_sampling_init(void)
{
	const char *wrong;
	if (sn_go_program() == SN_GO_CGO)
		sn_sample_signal = GO_SAMPLE_SIGNAL;
	event_count = sn_events_parse(sn_config.events, events, &wrong);
	if (event_count < 0) {
		event_count = 0;
		return -EINVAL;
	}
	for (int index = 0; index < event_count; index++)
		register_metric(index);
	sn_config.real_time = real_event >= 0;
	struct sigaction action = {.sa_sigaction = on_signal,
				   .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	sigfillset(&action.sa_mask);
	/* errors in the handler must surface as they would in the program */
	static const int synchronous[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
	for (size_t index = 0; index < sizeof(synchronous) / sizeof(*synchronous); index++)
		sigdelset(&action.sa_mask, synchronous[index]);
	return sn_real_sigaction(sn_sample_signal, &action, &program_action) ? -errno : 0;
}

static void describe(const struct sn_event *driver, bool by_timer)
{
	struct sn_line line = SN_LINE(status);
	sn_line_add(&line, driver->name);
	sn_line_add(&line, by_timer ? ", POSIX CPU-time timer at " : ", perf task-clock at ");
	sn_line_add_number(&line, driver->rate);
	sn_line_add(&line, " Hz");
}

/* A part of the period of `hz`, any with the same probability (a step of splitmix64). */
static uint64_t chance(const struct sn_thread *thread, uint64_t hz)
{
	uint64_t bits = (sn_now_ns() ^ (uint64_t)thread->tid << 32) * 0x9e3779b97f4a7c15u;
	bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
	bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
	return (bits ^ bits >> 31) % (1000000000u / hz);
}

/* The event that drives samples of time: a CPU-time timer, or a perf event beyond its rate. */
static void start_time(struct sn_thread *thread, struct sn_sampling *sampling, uint64_t carried_ns)
{
	int index = cpu_event >= 0 ? cpu_event : real_event;
	if (index < 0)
		return;
	struct sn_event driver = events[index];
	driver.source = SN_EVENT_CPU_TIME;
	uint64_t used_ns = carried_ns ? carried_ns : chance(thread, driver.rate);
	int error = -ENOTSUP;
	/* only a timer's first period can be shorter than the others */
	if (driver.rate > TIMER_HIGHEST_HZ && sn_sample_signal == SIGURG && !carried_ns)
		error = perf_start(&driver, thread->tid, &sampling->perf[index]);
	if (error == -EMFILE)
		drop_event(thread, error);
	sampling->timer =
	    timer_start(error ? driver.rate : WATCH_HZ, thread->tid, error ? used_ns : 0);
	if (!error && sampling->timer >= 0) {
		sampling->driver = index;
		sampling->driver_hz = driver.rate;
	}
	if (error && sampling->timer < 0)
		sn_drop(thread, SN_DROP_THREAD_UNMEASURED, 1);
	if (!status[0])
		describe(&driver, error);
}

const char *sn_sampling_status(void)
{
	return status;
}

void sn_sampling_start(struct sn_thread *thread)
{
	struct sn_sampling *sampling = thread->sampling;
	if (!sampling)
		sampling = sn_bump_take(&thread->cct.text, sizeof(*sampling));
	if (!sampling) {
		sn_drop(thread, SN_DROP_THREAD_MEMORY, 1);
		return;
	}
	struct sn_amounts carried = {0};
	bool continues = thread->flags & SN_THREAD_SEVERAL;
	if (continues)
		carried = sampling->carried;
	memset(sampling, 0, sizeof(*sampling));
	sampling->ended_cpu_ns = continues ? thread->cpu_ns : 0;
	sampling->timer = -1;
	for (int index = 0; index < SN_EVENT_MAX; index++)
		sampling->perf[index].fd = -1;
	/* what is carried has been used, as it were, before the thread began */
	sampling->charged_cpu_ns = thread_cpu_ns() - carried.cpu_ns;
	sampling->charged_wall_ns = sn_now_ns() - carried.wall_ns;
	sampling->charged_own_ns = thread->own_ns;
	thread->waited_ns = 0;
	thread->sampling = sampling;
	sampling->stack = sn_altstack_install(); /* before the first signal */
	for (int index = 0; index < event_count; index++)
		if (events[index].source == SN_EVENT_PERF) {
			int error = perf_start(&events[index], thread->tid, &sampling->perf[index]);
			if (error)
				drop_event(thread, error);
			sampling->counts[index] = -carried.counts[index];
		}
	start_time(thread, sampling, cpu_event >= 0 ? carried.cpu_ns : carried.wall_ns);
	atomic_signal_fence(memory_order_seq_cst);
	sampling->active = true;
}

static void disarm(struct sn_sampling *sampling)
{
	if (sampling->timer >= 0)
		syscall(SYS_timer_delete, sampling->timer);
	sampling->timer = -1;
	for (int index = 0; index < event_count; index++)
		sn_own_event_disable(&sampling->perf[index]);
}

static void close_events(struct sn_thread *thread, struct sn_sampling *sampling)
{
	for (int index = 0; index < event_count; index++)
		if (sampling->perf[index].fd >= 0 && !sn_own_event_close(&sampling->perf[index]))
			sn_drop(thread, SN_DROP_EVENT_TAKEN, 1);
}

void sn_sampling_stop(struct sn_thread *thread)
{
	struct sn_sampling *sampling = thread->sampling;
	if (!is_active(thread))
		return;
	disarm(sampling);
	struct sn_thread *entered = sn_enter();
	if (thread->flags & SN_THREAD_SEVERAL)
		carry_rest(thread, sampling);
	else
		charge_rest(thread, sampling, thread_cpu_ns());
	sampling->active = false;
	if (entered)
		sn_leave(entered);
	close_events(thread, sampling);
	sn_altstack_remove(sampling->stack);
	sampling->stack = NULL;
}

void sn_sampling_release(void)
{
	uint32_t count = sn_thread_count();
	for (uint32_t index = 0; index < count; index++) {
		struct sn_thread *thread = sn_thread_at(index);
		struct sn_sampling *sampling = thread->sampling;
		if (atomic_load(&thread->ended) || !is_active(thread))
			continue;
		disarm(sampling);
		sampling->active = false;
	}
	/* a real-time signal that is pending somewhere would end the program */
	if (sn_sample_signal == SIGURG)
		sn_real_sigaction(sn_sample_signal, &program_action, NULL);
}

void sn_sampling_stop_self(void)
{
	if (sn_thread_self())
		sn_sampling_stop(sn_thread_self());
}

void sn_sampling_settle(struct sn_thread *thread)
{
	struct sn_sampling *sampling = thread->sampling;
	if (!is_active(thread))
		return;
	/* the kernel's clock of another thread: its number, shifted, marked per-thread and
	 * scheduled time */
	clockid_t clock = (clockid_t)((~(unsigned)thread->tid) << 3 | 6);
	struct timespec now;
	if (clock_gettime(clock, &now))
		return;
	uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	charge_rest(thread, sampling, now_ns);
}

void sn_sampling_settle_ended(struct sn_thread *thread)
{
	struct sn_sampling *sampling = thread->sampling;
	if (!sampling)
		return;
	struct sn_amounts *carried = &sampling->carried;
	if (cpu_event >= 0 && carried->cpu_ns)
		add(thread, SN_NODE_ROOT, event_metrics[cpu_event], carried->cpu_ns);
	if (real_event >= 0 && carried->wall_ns)
		add(thread, SN_NODE_ROOT, event_metrics[real_event], carried->wall_ns);
	for (int index = 0; index < event_count; index++)
		if (carried->counts[index])
			add(thread, SN_NODE_ROOT, event_metrics[index], carried->counts[index]);
	*carried = (struct sn_amounts){0};
}
