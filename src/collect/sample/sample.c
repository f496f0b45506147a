/* SPDX-License-Identifier: Apache-2.0 */
/* Timers, perf events and the signal handler; see sample.h. What a sample charges is in charge.c.
 */
#include "sample.h"
#include "collect/record/checkpoint.h"
#include "go_program.h"
#include "collect/adapters/jit/jit.h"
#include "collect/core/adapters.h"
#include "interrupted_call.h"
#include "collect/intercept/intercept.h"
#include "collect/core/line.h"
#include "unwind/machine.h"
#include "collect/record/own_fd.h"
#include "collect/unwind/own_stack.h"
#include "sample_signal.h"
#include "sampling.h"
#include "signal_check.h"
#include "collect/record/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The kernel's tick is 100 Hz to 1000 Hz; a CPU-time timer set faster than it gets the tick's rate.
 */
#define TIMER_HIGHEST_HZ 250u
/* How often a thread that a perf event drives is asked whether it is still there. */
#define WATCH_HZ	 4u
/* A period is at most 1 << SLOWEST times as long as was asked for. */
#define SLOWEST		 10u
#define CALM_SAMPLES	 4u
/* A timer is judged after so many periods, and starves if a quarter of them or more had no sample. */
#define JUDGED_PERIODS	 32u
/* Of these one sample may stand for 8: a long system call says little about the kernel's tick. */
#define MOST_MISSED	 7

struct sn_events sn_events = {.cpu = -1, .real = -1};
static char timer_cookie;	     /* its address marks our timers' signals */
static char status[2][160];	     /* how samples are taken; from when timers starve */
static _Atomic bool has_events;	     /* perf's, some of which send signals */
static _Atomic bool queue_is_spared; /* and none does any more */
static _Atomic bool timers_starve;   /* a thread's did: threads that start have an event at once */

/* ---- perf events ---- */

static struct perf_event_attr attributes_of(const struct sn_sample_event *event)
{
	struct perf_event_attr attributes = {
	    .type = event->type,
	    .size = sizeof(attributes),
	    .config = event->config,
	    .exclude_hv = 1,
	    .exclude_idle = 1,
	    .wakeup_events = 1,
	    .disabled = event->rate != 0,
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

static bool queue_has_room(void)
{
	struct rlimit limit;
	return !queue_is_spared && !getrlimit(RLIMIT_SIGPENDING, &limit) &&
	       limit.rlim_cur >= SN_LEAST_SIGPENDING;
}

/* 0, or negative errno: -EMFILE where the program's descriptors are spared. */
static int perf_start(const struct sn_sample_event *event, const struct sn_thread *thread,
		      struct sn_own_event *perf)
{
	struct perf_event_attr attributes = attributes_of(event);
	int signal = ((struct sn_sampling *)thread->sampling)->signal;
	/* Go executes programs by system calls that cannot be intercepted: a pending signal would
	 * kill those
	 */
	if (event->rate && (!signal || sn_go_program() == SN_GO_CGO || !queue_has_room()))
		return -ENOTSUP;
	int error = sn_own_event_open(perf, &attributes);
	if (error || !event->rate)
		return error;
	error = sn_own_event_signal(perf, signal, thread->tid);
	if (error) {
		sn_own_event_close(perf);
		return error;
	}
	has_events = true;
	sn_own_event_enable(perf);
	return 0;
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
static int timer_start(uint64_t hz, int32_t tid, int signal, uint64_t used_ns)
{
	if (!signal)
		return -1;
	struct sigevent notify = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = signal};
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

/* ---- samples that wait as signals ---- */

static struct sn_sampling *own_sampling(void)
{
	struct sn_thread *thread = sn_thread_self();
	return thread && sn_sampling_is_active(thread) && sn_measuring() ? thread->sampling : NULL;
}

/* As perf's events send them: POLL_HUP where one has stopped. */
static bool is_of_perf(const siginfo_t *info)
{
	return info->si_code == POLL_IN || info->si_code == POLL_HUP;
}

bool sn_sampling_is_sample(const siginfo_t *info)
{
	if (info->si_code == SI_TIMER)
		return info->si_value.sival_ptr == &timer_cookie;
	return is_of_perf(info) && sn_own_fd_is_noted(info->si_fd);
}

/* A sample of perf's may arrive when its descriptor is not ours any more; but a descriptor of the
 * program's may send that signal as well. */
static bool is_late_sample(int signal, const siginfo_t *info)
{
	return is_of_perf(info) && has_events &&
	       syscall(SYS_fcntl, info->si_fd, F_GETSIG, 0) != signal;
}

/* An event of the calling thread that has sent a sample may send another one. */
static void sample_came(const siginfo_t *info)
{
	struct sn_sampling *sampling = own_sampling();
	for (int index = 0; sampling && is_of_perf(info) && index < sn_events.count; index++) {
		struct sn_own_event *perf = &sampling->perf[index];
		if (perf->fd != info->si_fd || !perf->sends)
			continue;
		sn_own_event_came(perf, info->si_code == POLL_HUP);
		sampling->driver_is_seen |= index == sampling->driver;
	}
}

/* What one of our timers sends. */
static siginfo_t timers_sample(void)
{
	siginfo_t info = {.si_code = SI_TIMER};
	info.si_value.sival_ptr = &timer_cookie;
	return info;
}

/* False where the limit of pending signals is reached. */
static bool send_to_self(int signal, siginfo_t *info)
{
	return !syscall(SYS_rt_tgsigqueueinfo, syscall(SYS_getpid), syscall(SYS_gettid), signal,
			info);
}

static bool dequeue_signal(uint64_t bit, siginfo_t *info)
{
	struct timespec none = {0};
	return syscall(SYS_rt_sigtimedwait, &bit, info, &none, sizeof(bit)) > 0;
}

/*
 * Samples that wait go, while their signal is blocked; true if there were any. What others sent to
 * this thread stays, in its order: its queue is turned over once, until what is put at its end
 * comes. The queue of the process is behind that, and is not touched.
 */
static bool drop_waiting_samples(const struct sn_sampling *sampling)
{
	static const char end;
	uint64_t bit = SN_SIGNAL_BIT(sampling->signal), pending = 0;
	bool found = false;
	siginfo_t info, last = {.si_code = SI_QUEUE};
	last.si_value.sival_ptr = (void *)&end;
	if (syscall(SYS_rt_sigpending, &pending, sizeof(pending)) || !(pending & bit) ||
	    !send_to_self(sampling->signal, &last))
		return false;
	while (dequeue_signal(bit, &info) && info.si_value.sival_ptr != &end) {
		bool is_sample =
		    sn_sampling_is_sample(&info) || is_late_sample(sampling->signal, &info);
		if (is_sample)
			sample_came(&info);
		else
			send_to_self(sampling->signal, &info);
		found |= is_sample;
	}
	return found;
}

static void drop_waiting(void *sampling)
{
	drop_waiting_samples(sampling);
}

/* The next sample of each of perf's events comes a whole period later. */
static void begin_periods(const struct sn_sampling *sampling)
{
	for (int index = 0; index < sn_events.count; index++)
		if (sampling->perf[index].sends)
			sn_own_event_begin_period(&sampling->perf[index], sampling->slowness);
}

/*
 * At the end of a sample of perf's. Where more have come meanwhile, a sample takes longer than the
 * period (under strace, say), and the program would get no time at all: they go, and periods are
 * longer until none comes.
 */
static void keep_pace(struct sn_sampling *sampling)
{
	unsigned before = sampling->slowness;
	if (drop_waiting_samples(sampling)) {
		sampling->slowness = before + 2 < SLOWEST ? before + 2 : SLOWEST;
		sampling->calm = 0;
	} else if (before && ++sampling->calm == CALM_SAMPLES) {
		sampling->slowness = before - 1;
		sampling->calm = 0;
	}
	if (sampling->slowness != before)
		begin_periods(sampling);
}

/* ---- samples ---- */

static void drive_by_timer(struct sn_sampling *sampling)
{
	timer_set(sampling->timer, sampling->driver_hz, 0);
	sampling->driver_hz = 0;
	sampling->timer_stays = true;
}

/* A program may close the descriptor of the perf event that drives samples, or use its number: then
 * the timer, which was only there to find that out, drives them. */
static void watch_driver(struct sn_sampling *sampling, uint64_t now_cpu_ns)
{
	if (now_cpu_ns - sampling->watched_ns < 1000000000u / WATCH_HZ)
		return;
	sampling->watched_ns = now_cpu_ns;
	struct sn_own_event *driver = &sampling->perf[sampling->driver];
	if (!sn_own_event_is_open(driver))
		drive_by_timer(sampling);
	else if (!sampling->driver_is_seen)
		sn_own_event_revive(driver);
	sampling->driver_is_seen = false;
}

/*
 * The kernel looks at CPU-time timers at its tick only. On a loaded machine a thread may seldom run
 * at one, and four samples in five are missed: then a perf event drives them.
 */
static void drive_by_event(struct sn_thread *thread)
{
	struct sn_sampling *sampling = thread->sampling;
	int index = sn_events.cpu >= 0 ? sn_events.cpu : sn_events.real;
	struct sn_sample_event driver = sn_events.list[index];
	driver.source = SN_EVENT_CPU_TIME;
	sampling->timer_stays = perf_start(&driver, thread, &sampling->perf[index]) != 0;
	if (sampling->timer_stays)
		return;
	timer_set(sampling->timer, WATCH_HZ, 0);
	sampling->driver = index;
	sampling->driver_hz = driver.rate;
	sampling->driver_is_seen = true;
	timers_starve = true;
}

static void judge_timer(struct sn_thread *thread, const siginfo_t *info)
{
	struct sn_sampling *sampling = thread->sampling;
	if (info->si_code != SI_TIMER || sampling->driver_hz || sampling->timer_stays)
		return;
	int missed = info->si_overrun < MOST_MISSED ? info->si_overrun : MOST_MISSED;
	sampling->timer_samples++;
	sampling->timer_periods += 1 + (unsigned)missed;
	if (sampling->timer_periods < JUDGED_PERIODS)
		return;
	/* a filter that was there before us may end who asks for an event */
	sampling->timer_stays = sn_began_filtered();
	if (sampling->timer_samples < JUDGED_PERIODS * 3 / 4 && !sampling->timer_stays)
		drive_by_event(thread);
	sampling->timer_samples = sampling->timer_periods = 0;
}

static void record_sample(struct sn_thread *thread, const ucontext_t *context)
{
	struct sn_sampling *sampling = thread->sampling;
	uint64_t start_ns = sn_now_ns(), start_cpu_ns = sn_thread_cpu_ns();
	/* samples that take longer than the period would leave the program no time at all */
	if (start_cpu_ns - sampling->done_ns < sampling->cost_ns) {
		sn_drop(thread, SN_DROP_SAMPLE_BUSY, 1);
		return;
	}
	uint32_t node = sn_callpath(thread, context, 0);
	if (node == SN_NODE_NONE) {
		sn_drop(thread, SN_DROP_SAMPLE_MEMORY, 1);
		node = SN_NODE_ROOT;
	}
	if (thread->met_made_code) {
		thread->met_made_code = false;
		sn_jit_note_all();
	}
	sn_charge(thread, node, start_cpu_ns, start_ns);
	if (sn_trace_wants(SN_TRACE_SOURCE_SAMPLES))
		SN_TRACE_ADD(thread, .kind = SN_TRACE_SAMPLE, .context = node,
			     .start_ns = start_ns);
	if (sampling->driver_hz)
		watch_driver(sampling, start_cpu_ns);
	thread->samples++;
	sn_checkpoint_if_due(start_ns);
	/* CPU time: a thread that waits for a processor here costs nothing */
	sampling->done_ns = sn_thread_cpu_ns();
	sampling->cost_ns = sampling->done_ns - start_cpu_ns;
	thread->own_ns += sampling->cost_ns;
}

/* The mask that will be in force: in a handler it is the kernel's when it returns. */
static uint64_t mask_of(const ucontext_t *context)
{
	uint64_t mask = 0;
	if (context)
		return sn_signal_bits(&context->uc_sigmask);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof(mask));
	return mask;
}

static void set_mask(ucontext_t *context, uint64_t mask)
{
	if (context)
		sn_signal_set_bits(&context->uc_sigmask, mask);
	else
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
}

/*
 * The signal `after` is ours in this thread from now on, and `before` the program's, 0 for none:
 * one is open though the program believes it blocked, the other blocked where it was believed so.
 */
static void change_signal(ucontext_t *context, int before, int after)
{
	uint64_t mask = mask_of(context), believed = sn_believed_blocked(mask);
	uint64_t theirs = before ? SN_SIGNAL_BIT(before) : 0,
		 ours = after ? SN_SIGNAL_BIT(after) : 0;
	uint64_t changed = (mask | (believed & theirs)) & ~ours;
	if (changed == mask)
		return;
	/* first the belief: a signal may arrive as soon as it is open */
	sn_believed_set_with((believed & ~theirs) | (mask & ours), changed & mask);
	set_mask(context, changed);
}

/* ---- the handler ---- */

struct arrival {
	const siginfo_t *info;
	const ucontext_t *context;
};

static void handle_sample(void *arrived)
{
	const struct arrival *sample = arrived;
	struct sn_thread *thread = sn_enter();
	sn_signal_check_enter();
	if (thread && sn_sampling_is_active(thread) && sn_measuring()) {
		record_sample(thread, sample->context);
		judge_timer(thread, sample->info);
	} else if (!thread && sn_thread_self())
		sn_drop(sn_thread_self(), SN_DROP_SAMPLE_BUSY, 1);
	sn_signal_check_leave();
	if (thread)
		sn_leave(thread);
}

/* The same signal once more, as it was sent. Only the main thread may send the process what kill(2)
 * sent; from another, a signal of another sender comes as by sigqueue(3). */
static void send_again(int signal, siginfo_t *info)
{
	pid_t process = (pid_t)syscall(SYS_getpid);
	if (info->si_code == SI_TKILL) {
		send_to_self(signal, info);
		return;
	}
	if (!syscall(SYS_rt_sigqueueinfo, process, signal, info))
		return;
	if (info->si_pid == process) {
		syscall(SYS_kill, process, signal);
		return;
	}
	info->si_code = SI_QUEUE;
	info->si_value.sival_ptr = NULL;
	syscall(SYS_rt_sigqueueinfo, process, signal, info);
}

/* Where the program has a signal blocked that the kernel has open. */
enum blocked_by { BY_NOTHING, BY_THREAD, BY_CALL };

/* An unknown thread may have what any other one has. */
static enum blocked_by blocked_by(int signal, const ucontext_t *context)
{
	uint64_t bit = SN_SIGNAL_BIT(signal);
	if (!sn_thread_self())
		return sn_believed_anywhere() & bit ? BY_THREAD : BY_NOTHING;
	if (sn_believed_blocked(sn_signal_bits(&context->uc_sigmask)) & bit)
		return BY_THREAD;
	return sn_mask_of_call_blocks(signal, context) ? BY_CALL : BY_NOTHING;
}

/* It is blocked from now on, for the rest of a call or until the thread lets it in, and stays pending. */
static void keep_blocked(int signal, siginfo_t *info, ucontext_t *context, enum blocked_by by)
{
	uint64_t bit = SN_SIGNAL_BIT(signal), mask = mask_of(context);
	/* the kernel has it now: where a call of the thread's lets it in, it comes */
	sn_believed_set_with(sn_believed_blocked(mask) & ~bit, mask);
	set_mask(context, mask | bit);
	sn_signal_wait_complete(bit);
	if (by == BY_CALL)
		sn_mask_of_call_keep(signal);
	send_again(signal, info);
	sn_interrupted_call_mend(context); /* what is blocked interrupts nothing */
}

bool sn_sampling_keep_blocked(int signal, siginfo_t *info, ucontext_t *context)
{
	enum blocked_by by =
	    sn_thread_self() && !sn_confined() ? blocked_by(signal, context) : BY_NOTHING;
	if (by == BY_NOTHING)
		return false;
	sn_sampling_renew(context);
	keep_blocked(signal, info, context, by);
	return true;
}

/*
 * Another sender uses the sample signal: it is the program's from now on. Where the program does not believe it blocked, its default action
 * ends that.
 */
static void handle_foreign(int signal, siginfo_t *info, ucontext_t *context)
{
	enum blocked_by by = blocked_by(signal, context);
	if (sn_is_measured_process())
		sn_sample_signal_yield(SN_SIGNAL_BIT(signal));
	sn_in_handler_on_own_stack(sn_signalfds_complete, &signal);
	sn_sampling_renew(context);
	if (by == BY_NOTHING)
		sn_signal_end_program(signal, context);
	else
		keep_blocked(signal, info, context, by);
}

static void handle(int signal, siginfo_t *info, ucontext_t *context)
{
	if (!sn_sampling_is_sample(info) && !is_late_sample(signal, info)) {
		handle_foreign(signal, info, context);
		return;
	}
	struct arrival sample = {info, context};
	sample_came(info);
	sn_in_handler_on_own_stack(handle_sample, &sample);
	sn_interrupted_call_mend(context);
	if (signal != sn_sample_signal())
		sn_sampling_renew(context);
	else if (is_of_perf(info) && own_sampling())
		keep_pace(own_sampling());
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
	int saved_errno = errno;
	sn_machine_flags_tame(); /* the kernel restores them */
	sn_signal_stack_learn((uintptr_t)__builtin_frame_address(0));
	handle(signal, info, context);
	errno = saved_errno;
}

/* ---- start and stop ---- */

static uint64_t period_of(const struct sn_sample_event *event)
{
	if (!event->is_rate)
		return event->rate;
	return event->source == SN_EVENT_PERF ? 0 : 1000000000u / event->rate;
}

static void register_metric(int index)
{
	struct sn_sample_event *event = &sn_events.list[index];
	bool is_time = event->source != SN_EVENT_PERF;
	sn_events.metrics[index] =
	    sn_metric(event->name, is_time ? "ns" : "1", is_time ? "timer" : "perf",
		      is_time ? SN_METRIC_TIME : SN_METRIC_COUNT, period_of(event));
	if (event->source == SN_EVENT_CPU_TIME)
		sn_events.cpu = index;
	if (event->source == SN_EVENT_REAL_TIME)
		sn_events.real = index;
}

int sn_sampling_init(void)
{
	const char *wrong;
	sn_events.count = sn_events_parse(sn_config.events, sn_events.list, &wrong);
	if (sn_events.count < 0) {
		sn_events.count = 0;
		return -EINVAL;
	}
	for (int index = 0; index < sn_events.count; index++)
		register_metric(index);
	sn_config.real_time = sn_events.real >= 0;
	return sn_sample_signal_init(on_signal);
}

static void describe(char text[static 160], const struct sn_sample_event *driver, const char *by)
{
	struct sn_line line = {text, sizeof(status[0]), 0};
	SN_LINE_ADD(&line, driver->name, by);
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
	int index = sn_events.cpu >= 0 ? sn_events.cpu : sn_events.real;
	if (index < 0)
		return;
	struct sn_sample_event driver = sn_events.list[index];
	driver.source = SN_EVENT_CPU_TIME;
	uint64_t used_ns = carried_ns ? carried_ns : chance(thread, driver.rate);
	int error = -ENOTSUP;
	/* only a timer's first period can be shorter than the others */
	if ((driver.rate > TIMER_HIGHEST_HZ || timers_starve) && !carried_ns)
		error = perf_start(&driver, thread, &sampling->perf[index]);
	if (error == -EMFILE)
		drop_event(thread, error);
	sampling->timer = timer_start(error ? driver.rate : WATCH_HZ, thread->tid, sampling->signal,
				      error ? used_ns : 0);
	if (!error && sampling->timer >= 0) {
		sampling->driver = index;
		sampling->driver_hz = driver.rate;
	}
	sampling->timer_stays = error && driver.rate > TIMER_HIGHEST_HZ && !carried_ns;
	if (!sampling->signal)
		sn_drop(thread, sn_sample_signal() ? SN_DROP_THREAD_MEMORY : SN_DROP_NO_SIGNAL, 1);
	else if (error && sampling->timer < 0)
		sn_drop(thread, SN_DROP_THREAD_UNMEASURED, 1);
	if (!status[0][0]) {
		describe(status[1], &driver,
			 ", perf task-clock, as POSIX CPU-time timers came late, at ");
		describe(status[0], &driver,
			 error ? ", POSIX CPU-time timer at " : ", perf task-clock at ");
	}
}

const char *sn_sampling_status(void)
{
	return status[timers_starve];
}

void sn_sampling_start(struct sn_thread *thread)
{
	struct sn_sampling *sampling = thread->sampling;
	if (!sampling)
		sampling = sn_bump_alloc(&thread->cct.text, sizeof(*sampling));
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
	sampling->charged_cpu_ns = sn_thread_cpu_ns() - carried.cpu_ns;
	sampling->charged_wall_ns = sn_now_ns() - carried.wall_ns;
	sampling->charged_own_ns = thread->own_ns;
	thread->waited_ns = 0;
	thread->sampling = sampling;
	/* before the first signal */
	sampling->signal = sn_signal_stack_install() ? sn_sample_signal() : 0;
	for (int index = 0; index < sn_events.count; index++)
		if (sn_events.list[index].source == SN_EVENT_PERF) {
			int error =
			    perf_start(&sn_events.list[index], thread, &sampling->perf[index]);
			if (error)
				drop_event(thread, error);
			sampling->counts[index] = -carried.counts[index];
		}
	/* in the child of a fork all is as it was, and this runs with all signals blocked */
	if (!sn_own_stack_has((uintptr_t)__builtin_frame_address(0)))
		change_signal(NULL, 0, sampling->signal);
	start_time(thread, sampling, sn_events.cpu >= 0 ? carried.cpu_ns : carried.wall_ns);
	atomic_signal_fence(memory_order_seq_cst);
	sampling->active = true;
}

static void disarm(struct sn_sampling *sampling)
{
	if (sampling->timer >= 0)
		syscall(SYS_timer_delete, sampling->timer);
	sampling->timer = -1;
	for (int index = 0; index < sn_events.count; index++)
		sn_own_event_disable(&sampling->perf[index]);
}

static void close_events(struct sn_thread *thread, struct sn_sampling *sampling)
{
	for (int index = 0; index < sn_events.count; index++)
		if (sampling->perf[index].fd >= 0 && !sn_own_event_close(&sampling->perf[index]))
			sn_drop(thread, SN_DROP_EVENT_TAKEN, 1);
}

static void end_sampling(struct sn_thread *thread, struct sn_sampling *sampling)
{
	disarm(sampling);
	struct sn_thread *entered = sn_enter();
	if (thread->flags & SN_THREAD_SEVERAL)
		sn_carry_rest(thread);
	else
		sn_charge(thread, thread->start_node, sn_thread_cpu_ns(), sn_now_ns());
	sampling->active = false;
	if (entered)
		sn_leave(entered);
}

void sn_sampling_stop(struct sn_thread *thread)
{
	struct sn_sampling *sampling = thread->sampling;
	if (!sampling)
		return;
	if (sampling->active)
		end_sampling(thread, sampling);
	/* these a thread still has where another one has ended measuring */
	close_events(thread, sampling);
	sn_own_stack_remove();
}

void sn_sampling_release(void)
{
	uint32_t count = sn_thread_count();
	for (uint32_t index = 0; index < count; index++) {
		struct sn_thread *thread = sn_thread_at(index);
		struct sn_sampling *sampling = thread->sampling;
		if (atomic_load(&thread->ended) || !sn_sampling_is_active(thread))
			continue;
		disarm(sampling);
		sampling->active = false;
	}
	/* the handler stays: without it a sample that is still pending would end the program */
}

/* ---- another signal, or none ---- */

static void arm(struct sn_thread *thread, struct sn_sampling *sampling)
{
	int index = sn_events.cpu >= 0 ? sn_events.cpu : sn_events.real;
	for (int event = 0; event < sn_events.count; event++) {
		if (sampling->perf[event].fd < 0)
			continue;
		if (sn_events.list[event].rate && !queue_is_spared)
			sn_own_event_signal(&sampling->perf[event], sampling->signal, thread->tid);
		sn_own_event_enable(&sampling->perf[event]);
	}
	if (index >= 0)
		sampling->timer =
		    timer_start(sampling->driver_hz ? WATCH_HZ : sn_events.list[index].rate,
				thread->tid, sampling->signal, 0);
}

void sn_sampling_renew(ucontext_t *context)
{
	struct sn_sampling *sampling = own_sampling();
	sn_signal_wait_complete(0);
	if (!sampling || sampling->signal == sn_sample_signal() || !sampling->signal ||
	    !sn_is_measured_process())
		return; /* in a child whose begin was not seen, timers and events are its parent's */
	int saved_errno = errno;
	disarm(sampling);
	int before = sampling->signal;
	if (mask_of(NULL) & SN_SIGNAL_BIT(before)) /* they would be taken for the program's */
		sn_on_own_stack(drop_waiting, sampling);
	sampling->signal = sn_sample_signal();
	change_signal(context, before, sampling->signal);
	if (!sampling->signal)
		sn_drop(sn_thread_self(), SN_DROP_NO_SIGNAL, 1);
	else if (!sampling->suspended)
		arm(sn_thread_self(), sampling);
	errno = saved_errno;
}

void sn_sampling_suspend(bool suspended)
{
	struct sn_sampling *sampling = own_sampling();
	if (!sampling || sampling->suspended == suspended || !sampling->signal)
		return;
	sampling->suspended = suspended;
	if (suspended) {
		disarm(sampling);
		drop_waiting_samples(sampling); /* the caller has them blocked */
		sn_drop(sn_thread_self(), SN_DROP_SMALL_STACK, 1);
	} else {
		arm(sn_thread_self(), sampling);
	}
}

void sn_sampling_provoke(void)
{
	struct sn_sampling *sampling = own_sampling();
	siginfo_t info = timers_sample();
	if (sampling && sampling->signal)
		send_to_self(sampling->signal, &info);
}

void sn_sampling_drain(void)
{
	struct sn_sampling *sampling = own_sampling();
	uint64_t mask = 0;
	if (!sampling || !sampling->signal || sampling->suspended)
		return;
	uint64_t bit = SN_SIGNAL_BIT(sampling->signal);
	if (syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof(mask)) || !(mask & bit))
		return;
	int saved_errno = errno;
	disarm(sampling);
	drop_waiting_samples(sampling);
	begin_periods(sampling);
	arm(sn_thread_self(), sampling);
	errno = saved_errno;
}

struct sn_sampling_pause sn_sampling_pause_for_exec(void)
{
	struct sn_sampling *sampling = own_sampling();
	struct sn_sampling_pause pause = {0};
	if (!sampling || !sampling->signal)
		return pause;
	/* no event takes over now, as its signal would end the new image */
	pause.keeps_timer = sn_is_measured_process() && !sampling->timer_stays;
	sampling->timer_stays |= pause.keeps_timer;
	atomic_signal_fence(memory_order_seq_cst);
	pause.spared = sn_samples_spared();
	if (!has_events && !pause.spared)
		return pause;
	uint64_t bit = SN_SIGNAL_BIT(sampling->signal), before = 0;
	pause.is_paused = sn_is_measured_process() && !sampling->suspended;
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &bit, &before, sizeof(bit));
	if (pause.is_paused) {
		disarm(sampling);
		drop_waiting_samples(sampling);
	}
	set_mask(NULL, before & ~pause.spared);
	return pause;
}

void sn_sampling_resume_after_exec(struct sn_sampling_pause pause)
{
	struct sn_sampling *sampling = pause.is_paused ? own_sampling() : NULL;
	int saved_errno = errno;
	if (pause.spared)
		syscall(SYS_rt_sigprocmask, SIG_BLOCK, &pause.spared, NULL, sizeof(pause.spared));
	if (sampling)
		arm(sn_thread_self(), sampling);
	if (pause.keeps_timer && own_sampling())
		own_sampling()->timer_stays = false;
	errno = saved_errno;
}

/* A thread that ends at this moment finds its events closed or closes them itself. */
static void silence(struct sn_thread *thread, struct sn_sampling *sampling)
{
	for (int index = 0; index < sn_events.count; index++) {
		if (sampling->perf[index].fd < 0 || !sn_events.list[index].rate)
			continue;
		sn_own_event_silence(&sampling->perf[index]);
		drop_event(thread, -EAGAIN);
	}
	if (sampling->driver_hz)
		drive_by_timer(sampling);
}

void sn_sampling_spare_queue(void)
{
	uint32_t count = sn_thread_count();
	if (atomic_exchange(&queue_is_spared, true) || !has_events)
		return;
	for (uint32_t index = 0; index < count; index++) {
		struct sn_thread *thread = sn_thread_at(index);
		if (!atomic_load(&thread->ended) && sn_sampling_is_active(thread))
			silence(thread, thread->sampling);
	}
}

bool sn_sampling_is_overflow(const siginfo_t *info)
{
	struct sn_sampling *sampling = own_sampling();
	siginfo_t sample = timers_sample();
	/* one sample more does no harm where there is room */
	return info->si_code == SI_KERNEL && has_events && sampling && sampling->signal &&
	       !send_to_self(sampling->signal, &sample);
}
