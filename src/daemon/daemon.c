/* SPDX-License-Identifier: Apache-2.0 */
/* See daemon.h. The main thread: each second it takes what left the kernel's tables, at each flush all of them; stacks.h has another one. */
#include "daemon.h"

#include "control.h"
#include "flush.h"
#include "kernel/kernel.h"
#include "stacks.h"

#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
	PENDING_MOST = 16 << 20, /* bytes of flushes that could not be written yet */
	ADAPT_NS =
	    900000000, /* for each second between flushes: what is flushed before its time comes more often */
};

/* What had happened by some time. */
struct moment {
	struct sn_epoch_moment time;
	uint64_t own_cpu_ns;
	struct sn_kernel_sums sums;
};

/* Threads that were found waiting: a metric of its own, as a sample of it stands for something else. */
struct waits {
	struct sn_paths taken; /* to be flushed */
	uint64_t stored, not_written, told_lost;
};

struct daemon {
	const struct sn_daemon_options *options;
	struct sn_kernel *kernel;
	struct sn_ledger ledger;
	struct sn_stacks *stacks; /* NULL: no callers are wanted, and no waits */
	struct waits waits;
	struct sn_kernel_images images;
	struct sn_epoch_writer *writer;
	struct sn_pusher pusher;
	int timer, signals, socket;
	bool is_ending;
	unsigned rate; /* at present */
	struct moment start, flushed, adapted;
	unsigned seconds_since_flush;
	uint64_t pending; /* samples in the writer that are not committed */
	uint64_t stored, flushes;
	/* Samples that were given up, as the store could not be written for long or memory was short; and what flushes tell of that. */
	uint64_t not_written, told_not_written;
	double sample_ns; /* in the kernel; 0: not known */
	uint64_t told_stacks_lost;
	struct sn_error failure; /* of the last flush; "" none */
};

/* ---- moments ---- */

static struct moment now(const struct daemon *daemon)
{
	struct moment moment = {.own_cpu_ns = sn_clock_now_ns(CLOCK_PROCESS_CPUTIME_ID)};
	sn_epoch_now(&moment.time);
	sn_kernel_sum(daemon->kernel, &moment.sums);
	return moment;
}

/* Of samples, those of which the daemon knows or should know code. */
static uint64_t samples_between(const struct moment *begin, const struct moment *end)
{
	uint64_t samples = 0;
	for (int fate = 0; fate < SN_FATES; fate++)
		if (fate != SN_FATE_IDLE)
			samples += end->sums.fates[fate] - begin->sums.fates[fate];
	return samples;
}

static uint64_t resident_bytes(void)
{
	unsigned long long pages = 0, resident = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	if (file && fscanf(file, "%llu %llu", &pages, &resident) != 2)
		resident = 0;
	if (file)
		fclose(file);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- taking and flushing ---- */

static int take(struct daemon *daemon, bool whole, int *begun)
{
	const struct sn_kernel_taker taker = {&daemon->ledger, sn_ledger_add, sn_ledger_tell};
	int result = sn_kernel_take(daemon->kernel, whole, &taker, begun);
	daemon->not_written += daemon->ledger.lost;
	daemon->ledger.lost = 0;
	return result;
}

/* What the thread that finds callers could not keep is lost as what the ledger cannot. */
static struct sn_stacks_state look_at_stacks(struct daemon *daemon)
{
	struct sn_stacks_state state = {0};
	if (daemon->stacks)
		sn_stacks_look(daemon->stacks, &state);
	daemon->not_written += state.lost - daemon->told_stacks_lost;
	daemon->told_stacks_lost = state.lost;
	return state;
}

static void give_up_pending(struct daemon *daemon)
{
	sn_epoch_writer_discard(daemon->writer);
	daemon->not_written += daemon->pending;
	daemon->pending = 0;
}

static void give_up_ledger(struct daemon *daemon)
{
	daemon->not_written += daemon->ledger.samples;
	sn_ledger_clear(&daemon->ledger);
}

/* From the kernel to the writer's next flush. What does not fit into memory is given up. */
static void collect(struct daemon *daemon)
{
	struct sn_paths paths = {{0}};
	if (daemon->stacks) /* before the kernel tells of their pairs */
		sn_stacks_take(daemon->stacks, &paths, &daemon->waits.taken);
	int begun, taken = take(daemon, true, &begun);
	uint64_t samples = daemon->ledger.samples + paths.samples;
	const struct sn_flush_source source = {&daemon->ledger, &paths, &daemon->images,
					       daemon->options->by_process};
	look_at_stacks(daemon);
	int added = sn_flush_add(&source, daemon->writer);
	if (added) {
		give_up_pending(daemon);
		give_up_ledger(daemon);
		daemon->not_written += paths.samples;
	} else {
		daemon->pending += samples;
	}
	sn_paths_release(&paths);
	if (taken)
		snprintf(daemon->failure.text, sizeof(daemon->failure.text), "out of memory");
	if (begun >= 0)
		sn_ledger_forget(&daemon->ledger, (unsigned)begun);
}

/* Of the time since the last flush. */
static struct sn_epoch_flush flush_until(const struct daemon *daemon, const struct moment *end)
{
	const struct moment *begin = &daemon->flushed;
	struct sn_epoch_flush flush = {
	    .begin_ns = begin->time.real_ns,
	    .end_ns = end->time.real_ns,
	    .begin_boot_ns = begin->time.boot_ns,
	    .end_boot_ns = end->time.boot_ns,
	};
	memcpy(flush.boot_id, end->time.boot_id, sizeof(flush.boot_id));
	return flush;
}

static void describe_flush(struct sn_epoch_flush *flush, struct sn_epoch_loss losses[SN_FATES + 1],
			   const struct daemon *daemon, const struct moment *end)
{
	static const char *const causes[] = {
#define SN_FATE(name, word, text) [name] = word,
#include "kernel/fates.def"
#undef SN_FATE
	};
	const struct moment *begin = &daemon->flushed;
	*flush = flush_until(daemon, end);
	flush->event = sn_kernel_event(daemon->kernel);
	flush->period = sn_kernel_period(daemon->kernel);
	flush->is_time = strcmp(flush->event, "cpu-clock") == 0;
	flush->samples = daemon->pending;
	flush->losses = losses;
	flush->own_cpu_ns = end->own_cpu_ns - begin->own_cpu_ns;
	flush->own_bytes = resident_bytes();
	for (int fate = SN_FATE_COUNTED + 1; fate < SN_FATES; fate++)
		if (end->sums.fates[fate] != begin->sums.fates[fate])
			losses[flush->loss_count++] = (struct sn_epoch_loss){
			    causes[fate], end->sums.fates[fate] - begin->sums.fates[fate]};
	if (daemon->not_written != daemon->told_not_written)
		losses[flush->loss_count++] = (struct sn_epoch_loss){
		    "not-written", daemon->not_written - daemon->told_not_written};
	for (uint32_t i = 0; i < flush->loss_count; i++)
		flush->samples += losses[i].count;
}

/* Part of the machine's time that the daemon and its program in the kernel took. */
static double cost_between(const struct daemon *daemon, const struct moment *begin,
			   const struct moment *end)
{
	double machine_ns = (double)(end->time.boot_ns - begin->time.boot_ns) *
			    sn_kernel_processors(daemon->kernel);
	double own_ns = (double)(end->own_cpu_ns - begin->own_cpu_ns) +
			daemon->sample_ns * (double)samples_between(begin, end);
	return machine_ns > 0 ? own_ns / machine_ns : 0;
}

/* Samples less often while it costs too much, and as often as was asked again once that is cheap. A flush has one period, so this is between two of them. */
static void adapt(struct daemon *daemon)
{
	double cost = cost_between(daemon, &daemon->adapted, &daemon->flushed);
	unsigned rate = daemon->rate;
	if (cost > daemon->options->cost_most && rate > 1)
		rate /= 2;
	else if (cost < daemon->options->cost_most / 4 && rate < daemon->options->rate)
		rate = rate * 2 < daemon->options->rate ? rate * 2 : daemon->options->rate;
	daemon->rate = rate;
	daemon->adapted = daemon->flushed;
	sn_kernel_set_rate(daemon->kernel, rate);
	if (daemon->stacks)
		sn_stacks_slow_down(daemon->stacks, daemon->options->rate / rate);
}

/* ---- waits ---- */

static void give_up_waits(struct daemon *daemon)
{
	daemon->waits.not_written += daemon->waits.taken.samples;
	sn_paths_release(&daemon->waits.taken);
}

static void describe_waits(struct sn_epoch_flush *flush, struct sn_epoch_loss *loss,
			   struct daemon *daemon, const struct moment *end)
{
	uint64_t lost = look_at_stacks(daemon).waits_lost + daemon->waits.not_written;
	*loss = (struct sn_epoch_loss){"waits-not-told", lost - daemon->waits.told_lost};
	*flush = flush_until(daemon, end);
	flush->event = SN_EPOCH_WAITING;
	flush->period = 1000000000 / daemon->options->wait_rate;
	flush->is_time = true;
	flush->samples = daemon->waits.taken.samples + loss->count;
	flush->losses = loss;
	flush->loss_count = loss->count > 0;
}

/* A part of its own behind that of the samples, which covers the same time. */
static int flush_waits(struct daemon *daemon, const struct moment *end)
{
	struct sn_epoch_flush flush;
	struct sn_epoch_loss loss;
	const struct sn_flush_source source = {&daemon->ledger, &daemon->waits.taken,
					       &daemon->images, daemon->options->by_process};
	describe_waits(&flush, &loss, daemon, end);
	int result = sn_flush_add(&source, daemon->writer);
	if (!result)
		result = sn_epoch_writer_commit(daemon->writer, &flush, &daemon->failure);
	if (result) {
		sn_epoch_writer_discard(daemon->writer);
		give_up_waits(daemon);
		return result;
	}
	daemon->waits.told_lost += loss.count;
	daemon->waits.stored += daemon->waits.taken.samples;
	sn_paths_release(&daemon->waits.taken);
	return 0;
}

static int flush(struct daemon *daemon)
{
	struct sn_epoch_flush made;
	struct sn_epoch_loss losses[SN_FATES + 1];
	daemon->seconds_since_flush = 0;
	daemon->failure.text[0] = 0;
	collect(daemon);
	struct moment end = now(daemon);
	describe_flush(&made, losses, daemon, &end);
	int result = sn_epoch_writer_commit(daemon->writer, &made, &daemon->failure);
	if (result) { /* what there is waits for the next flush, but not without end */
		if (sn_epoch_writer_pending_bytes(daemon->writer) > PENDING_MOST)
			give_up_pending(daemon);
		give_up_waits(daemon);
		return result;
	}
	if (daemon->options->wait_rate)
		result = flush_waits(daemon, &end);
	daemon->stored += daemon->pending;
	daemon->pending = 0;
	daemon->told_not_written = daemon->not_written;
	daemon->flushed = end;
	daemon->flushes++;
	if (end.time.boot_ns - daemon->adapted.time.boot_ns >=
	    (uint64_t)daemon->options->flush_seconds * ADAPT_NS)
		adapt(daemon);
	if (result)
		return result;
	struct sn_epoch_policy policy = daemon->options->policy;
	sn_pusher_hold(&daemon->pusher, &policy);
	return sn_epoch_writer_tend(daemon->writer, &policy, NULL, &daemon->failure);
}

/* One second of each interval is timed. */
static void time_samples(struct daemon *daemon)
{
	double ns = sn_kernel_end_timing(daemon->kernel);
	if (ns > 0)
		daemon->sample_ns = ns;
	if (daemon->seconds_since_flush == 0)
		sn_kernel_begin_timing(daemon->kernel);
}

static void on_second(struct daemon *daemon)
{
	int begun;
	sn_pusher_tend(&daemon->pusher);
	time_samples(daemon);
	sn_kernel_vary_period(daemon->kernel);
	if (take(daemon, false, &begun) != 0)
		give_up_ledger(daemon);
	if (sn_ledger_is_full(&daemon->ledger) || look_at_stacks(daemon).is_full)
		flush(daemon);
	if (++daemon->seconds_since_flush >= daemon->options->flush_seconds)
		flush(daemon);
}

/* ---- requests ---- */

static void put_number(struct sn_buffer *answer, const char *name, uint64_t value)
{
	sn_buffer_print(answer, "%s %" PRIu64 "\n", name, value);
}

static void put_samples(struct sn_buffer *answer, const struct daemon *daemon,
			const struct moment *end)
{
	uint64_t idle = end->sums.fates[SN_FATE_IDLE] - daemon->start.sums.fates[SN_FATE_IDLE],
		 taken = samples_between(&daemon->start, end);
	uint64_t counted =
	    end->sums.fates[SN_FATE_COUNTED] - daemon->start.sums.fates[SN_FATE_COUNTED];
	put_number(answer, "samples.taken", taken);
	put_number(answer, "samples.stored", daemon->stored);
	put_number(answer, "samples.waiting", counted - daemon->stored - daemon->not_written);
	put_number(answer, "samples.idle", idle);
#define SN_FATE(name, word, text)                                                                  \
	if (name > SN_FATE_COUNTED)                                                                \
		put_number(answer, "lost." word,                                                   \
			   end->sums.fates[name] - daemon->start.sums.fates[name]);
#include "kernel/fates.def"
#undef SN_FATE
	put_number(answer, "lost.not-written", daemon->not_written);
}

static void put_cost(struct sn_buffer *answer, const struct daemon *daemon,
		     const struct moment *end)
{
	uint64_t counted =
	    end->sums.fates[SN_FATE_COUNTED] - daemon->start.sums.fates[SN_FATE_COUNTED];
	put_number(answer, "own.cpu_ns", end->own_cpu_ns - daemon->start.own_cpu_ns);
	put_number(answer, "own.watched_ns", end->time.boot_ns - daemon->start.time.boot_ns);
	put_number(answer, "own.resident_bytes", resident_bytes());
	sn_buffer_print(answer, "own.ns_per_sample %.0f\n", daemon->sample_ns);
	sn_buffer_print(answer, "own.share %.6f\n", cost_between(daemon, &daemon->start, end));
	sn_buffer_print(answer, "own.table_hit_share %.4f\n",
			counted ? (double)end->sums.hits / (double)counted : 0);
	sn_buffer_print(answer, "own.walk_share %.4f\n",
			counted ? (double)end->sums.walks / (double)counted : 0);
}

static void put_stacks(struct sn_buffer *answer, struct daemon *daemon)
{
	struct sn_stacks_state state = look_at_stacks(daemon);
	put_number(answer, "callers.samples", state.with_callers);
	put_number(answer, "callers.cut", state.cut);
	put_number(answer, "callers.unknown", state.without_callers);
	if (!daemon->options->wait_rate)
		return;
	uint64_t lost = state.waits_lost + daemon->waits.not_written;
	put_number(answer, "waits.rate", daemon->options->wait_rate);
	put_number(answer, "waits.found", state.waits);
	put_number(answer, "waits.stored", daemon->waits.stored);
	put_number(answer, "waits.waiting", state.waits - daemon->waits.stored - lost);
	put_number(answer, "waits.lost", lost);
}

static void put_status(struct sn_buffer *answer, struct daemon *daemon)
{
	struct moment end = now(daemon);
	put_number(answer, "pid", (uint64_t)getpid());
	sn_buffer_print(answer, "event %s\n", sn_kernel_event(daemon->kernel));
	put_number(answer, "rate", daemon->rate);
	put_number(answer, "asked_rate", daemon->options->rate);
	put_number(answer, "processors", sn_kernel_processors(daemon->kernel));
	put_samples(answer, daemon, &end);
	if (daemon->stacks)
		put_stacks(answer, daemon);
	put_cost(answer, daemon, &end);
	put_number(answer, "flushes", daemon->flushes);
	sn_pusher_tell(&daemon->pusher, answer);
	if (daemon->failure.text[0])
		sn_buffer_print(answer, "failure %s\n", daemon->failure.text);
}

static void answer(void *context, const char *request, struct sn_buffer *buffer)
{
	struct daemon *daemon = context;
	bool is_flush = strcmp(request, "flush") == 0, is_epoch = strcmp(request, "epoch") == 0,
	     is_stop = strcmp(request, "stop") == 0;
	if (is_flush || is_epoch || is_stop)
		flush(daemon);
	if (is_epoch && !daemon->failure.text[0])
		sn_epoch_writer_seal(daemon->writer, &daemon->failure);
	if (is_epoch)
		sn_kernel_images_release(&daemon->images); /* modules may have come and gone */
	daemon->is_ending |= is_stop;
	put_status(buffer, daemon);
}

/* ---- running ---- */

static int open_waits(struct daemon *daemon, struct sn_error *error)
{
	const struct itimerspec each_second = {.it_interval = {.tv_sec = 1},
					       .it_value = {.tv_sec = 1}};
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	daemon->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	daemon->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (daemon->signals < 0 || daemon->timer < 0 ||
	    timerfd_settime(daemon->timer, 0, &each_second, NULL) != 0)
		return sn_fail(error, SN_ERR_IO, "waiting for time and signals: %s",
			       strerror(errno));
	daemon->socket = sn_control_listen(daemon->options->store, error);
	return daemon->socket < 0 ? daemon->socket : 0;
}

static int start(struct daemon *daemon, struct sn_error *error)
{
	const struct sn_daemon_options *options = daemon->options;
	const struct sn_kernel_options sampled = {.rate = options->rate,
						  .stack_rate = options->stack_rate,
						  .sees_waits = options->wait_rate > 0,
						  .by_process = options->by_process};
	int result = sn_ledger_init(&daemon->ledger);
	if (result)
		return sn_fail_memory(error);
	result = sn_epoch_writer_open(&daemon->writer, options->store, &options->writer, error);
	if (!result)
		result = sn_pusher_open(&daemon->pusher, &options->push, options->store, error);
	if (!result)
		result = open_waits(daemon, error);
	if (!result)
		result = sn_kernel_open(&sampled, &daemon->kernel, error);
	if (!result && (options->stack_rate || options->wait_rate))
		result =
		    sn_stacks_start(daemon->kernel, options->wait_rate, &daemon->stacks, error);
	if (!result)
		daemon->start = daemon->flushed = daemon->adapted = now(daemon);
	return result;
}

static void run(struct daemon *daemon)
{
	struct pollfd waits[] = {
	    {daemon->timer, POLLIN, 0}, {daemon->signals, POLLIN, 0}, {daemon->socket, POLLIN, 0}};
	struct signalfd_siginfo signal;
	uint64_t seconds;
	while (!daemon->is_ending) {
		if (poll(waits, 3, -1) < 0 && errno != EINTR)
			break;
		if (read(daemon->timer, &seconds, sizeof(seconds)) > 0)
			on_second(daemon);
		if (waits[2].revents)
			sn_control_serve(daemon->socket, answer, daemon);
		if (read(daemon->signals, &signal, sizeof(signal)) > 0) {
			flush(daemon);
			daemon->is_ending = true;
		}
	}
}

static void end(struct daemon *daemon)
{
	if (sn_stacks_end(daemon->stacks))
		sn_kernel_close(daemon->kernel);
	if (daemon->socket >= 0)
		sn_control_end(daemon->options->store, daemon->socket);
	if (daemon->timer >= 0)
		close(daemon->timer);
	if (daemon->signals >= 0)
		close(daemon->signals);
	sn_epoch_writer_close(daemon->writer);
	sn_pusher_close(&daemon->pusher);
	sn_kernel_images_release(&daemon->images);
	sn_ledger_release(&daemon->ledger);
	sn_paths_release(&daemon->waits.taken);
}

int sn_daemon_run(const struct sn_daemon_options *options,
		  void (*ready)(void *context, const struct sn_daemon_running *running),
		  void *context, struct sn_error *error)
{
	struct daemon daemon = {
	    .options = options, .rate = options->rate, .timer = -1, .signals = -1, .socket = -1};
	int result = start(&daemon, error);
	if (!result && ready)
		ready(context,
		      &(struct sn_daemon_running){sn_kernel_event(daemon.kernel), daemon.rate,
						  sn_kernel_processors(daemon.kernel)});
	if (!result)
		run(&daemon);
	if (!result && daemon.failure.text[0])
		result = sn_fail(error, SN_ERR_IO, "%s", daemon.failure.text);
	end(&daemon);
	return result;
}

int sn_daemon_ask(const char *store, const char *request, struct sn_buffer *answer,
		  struct sn_error *error)
{
	return sn_control_ask(store, request, answer, error);
}
