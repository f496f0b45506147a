/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts and stops the collector in a process image; reads its settings from the environment.
 *
 * `sonde run` sets the environment (libsonde(7) names it) and preloads the library; without
 * SONDE_OUTPUT and SONDE_TOOL the library does nothing. After any failure here the program
 * continues unmeasured.
 */
#include "adapters.h"
#include "collect/record/checkpoint.h"
#include "collect/sample/filters.h"
#include "collect/record/graph.h"
#include "collect/intercept/environment.h"
#include "collect/intercept/intercept.h"
#include "collect/intercept/served_start.h"
#include "kernel.h"
#include "line.h"
#include "lock.h"
#include "start_path.h"
#include "collect/record/losses.h"
#include "collect/interface/monitor.h"
#include "collect/record/own_fd.h"
#include "collect/record/own_file.h"
#include "collect/unwind/own_stack.h"
#include "collect/record/property.h"
#include "collect/sample/sample.h"
#include "collect/sample/sample_signal.h"
#include "collect/record/trace.h"
#include "collect/sample/event.h"
#include "collect/sample/go_program.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct sn_config sn_config;

#define GO_CHECKPOINT_NS 100000000u

/* LOST: a child of fork that could make no file and is counted where its parent is measured */
enum { IDLE, STARTING, MEASURING, STOPPING, STOPPED, CONFINED, UNWANTED, LOST };
static _Atomic int phase;
/* More than all that is waited for while it is STOPPING. */
#define STOPPING_NS 6000000000u
static __thread bool stops_here __attribute__((tls_model("initial-exec")));
static pid_t measured_pid;
static int filters_at_start; /* of system calls; negative: it is not known */

bool sn_measuring(void)
{
	return atomic_load_explicit(&phase, memory_order_relaxed) == MEASURING;
}

bool sn_confined(void)
{
	return atomic_load_explicit(&phase, memory_order_relaxed) == CONFINED;
}

bool sn_began_filtered(void)
{
	return filters_at_start != 0;
}

bool sn_is_measured_process(void)
{
	/* in a namespace of its own a child may have its parent's number */
	return !sn_confined() && !sn_losses_is_unseen() && syscall(SYS_getpid) == measured_pid;
}

static const char *setting(const char *name, const char *otherwise)
{
	const char *value = getenv(name);
	return value && *value ? value : otherwise;
}

static enum sn_graph_mode graph_mode(const char *text)
{
	return !strcmp(text, "all") ? SN_GRAPH_ALL : *text == '1' ? SN_GRAPH_SOME : SN_GRAPH_OFF;
}

/* MODE[@CYCLES], of which `sonde run` has checked that they are a power of two. */
static void read_gpu_samples(const char *text)
{
	uint64_t cycles = 0;
	if (!strncmp(text, "continuous", 10))
		sn_config.gpu_samples = SN_GPU_SAMPLES_CONTINUOUS;
	else if (!strncmp(text, "serialized", 10))
		sn_config.gpu_samples = SN_GPU_SAMPLES_SERIALIZED;
	else
		return;
	if (text[10] == '@')
		sn_parse_number(text + 11, 10, &cycles);
	if (cycles)
		sn_config.gpu_sample_period = 63u - (uint32_t)__builtin_clzll(cycles);
}

/* A program that sets its title (nginx, PostgreSQL) writes it over its environment. */
static const char *kept_setting(const char *name, const char *otherwise)
{
	const char *value = setting(name, NULL);
	return value ? strdup(value) : otherwise;
}

/* NAME[,NAME...], which `sonde run` has checked. How many there are. */
static uint32_t split_names(char *name, const char **names)
{
	uint32_t count = 0;
	while (name && count < SN_GPU_COUNTERS_MOST) {
		char *comma = strchr(name, ',');
		names[count++] = name;
		if (comma)
			*comma = '\0';
		name = comma ? comma + 1 : NULL;
	}
	return count;
}

static void read_gpu_counters(void)
{
	const char *text = setting("SONDE_GPU_COUNTERS", "");
	sn_config.gpu_counter_count =
	    split_names(*text ? strdup(text) : NULL, sn_config.gpu_counters);
}

/* NAME[,NAME...][@RATE], likewise. */
static void read_gpu_metrics(void)
{
	const char *text = setting("SONDE_GPU_METRICS", "");
	char *names = *text ? strdup(text) : NULL, *at = names ? strchr(names, '@') : NULL;
	uint64_t rate = 0;
	if (at) {
		*at = '\0';
		sn_parse_number(at + 1, 10, &rate);
	}
	sn_config.gpu_metric_count = split_names(names, sn_config.gpu_metrics);
	sn_config.gpu_metric_ns = 1000000000u / (rate ? rate : SN_GPU_METRIC_RATE);
}

static void read_config(void)
{
	sn_config.output = kept_setting("SONDE_OUTPUT", NULL);
	sn_config.file_mode = (unsigned)strtoull(setting("SONDE_SHARE", "0"), NULL, 8) & 0666;
	sn_config.no_command = *setting("SONDE_COMMAND", "1") == '0';
	sn_config.events = kept_setting("SONDE_EVENTS", SN_EVENT_LIST_DEFAULT);
	sn_config.sources =
	    SN_SOURCE_REGION | sn_parse_names(setting("SONDE_CALL_PATH", "python,operator,native"),
					      sn_source_names, SN_SOURCE_COUNT);
	sn_config.operators = kept_setting("SONDE_OPERATORS", "sampled");
	sn_config.graph = graph_mode(setting("SONDE_GRAPH", "0"));
	sn_config.gpu_graph_nodes = !strcmp(setting("SONDE_GPU_GRAPHS", "whole"), "nodes");
	sn_config.gpu_migrations = *setting("SONDE_GPU_MIGRATIONS", "0") == '1';
	sn_config.gpu_hardware_times = *setting("SONDE_GPU_HARDWARE_TIMES", "0") == '1';
	read_gpu_samples(setting("SONDE_GPU_SAMPLES", "off"));
	sn_config.gpu_samples_in = kept_setting("SONDE_GPU_SAMPLES_IN", NULL);
	read_gpu_counters();
	read_gpu_metrics();
	sn_config.tensor_memory = *setting("SONDE_MEMORY", "0") == '1';
	sn_config.checkpoint_ns =
	    strtoull(setting("SONDE_CHECKPOINT_MS", "2000"), NULL, 10) * 1000000u;
	sn_config.memory_limit_bytes = strtoull(setting("SONDE_MEMORY_LIMIT_MB", "512"), NULL, 10)
				       << 20;
	/* Go ends a process without the C library, so the last snapshot is the latest checkpoint */
	if (sn_go_program() == SN_GO_CGO && sn_config.checkpoint_ns > GO_CHECKPOINT_NS)
		sn_config.checkpoint_ns = GO_CHECKPOINT_NS;
	sn_unwind_set_other_stacks(sn_go_program() == SN_GO_CGO);
	sn_pages_set_limit(sn_config.memory_limit_bytes);
	sn_trace_init();
	/* what is sampled has no beginning and no end */
	if ((sn_trace_sources() & SN_TRACE_SOURCE_OPERATORS) &&
	    !strcmp(sn_config.operators, "sampled"))
		sn_config.operators = "exact";
	if (sn_trace_sources() & SN_TRACE_SOURCE_MEMORY)
		sn_config.tensor_memory = true;
	sn_unwind_set_shadow(*setting("SONDE_SHADOW", "0") == '1');
}

/* Nowhere to write: the process is counted, and measuring ends in it. */
static void lose(void)
{
	sn_losses_add(SN_LOSS_UNWRITABLE, 1);
	sn_sampling_release();
	sn_fatal_release();
	atomic_store(&phase, LOST);
}

/* Forks of this thread, which a handler may interrupt to fork. */
static __thread unsigned forks __attribute__((tls_model("initial-exec")));

/* What the child does first would end it, where a filter forbids it. */
static void before_fork(void)
{
	if (!sn_measuring() || sn_confined_unasked())
		return;
	sn_losses_note_unseen();
	sn_own_fds_before_fork();
	forks++;
}

static void after_fork_in_parent(void)
{
	if (!forks)
		return;
	forks--;
	sn_own_fds_after_fork_in_parent();
}

static void begin_child(void *unused)
{
	int now = atomic_load_explicit(&phase, memory_order_relaxed);
	pid_t parent = measured_pid;
	forks = 0;
	stops_here = false;
	if (now == STOPPING) /* the thread that did is the parent's */
		atomic_store(&phase, STOPPED);
	if (now == CONFINED)
		return;
	sn_losses_after_fork();
	sn_environment_after_fork();
	measured_pid = getpid();
	sn_locks_after_fork();
	sn_modules_after_fork();
	if (now == LOST)
		sn_losses_add(SN_LOSS_UNWRITABLE, 1);
	if (now != MEASURING)
		return;
	sn_own_fds_after_fork();
	sn_properties_init();
	sn_property_set("began", "fork");
	/* it may be over already, and another process the parent */
	sn_property_set_number("ppid", (uint64_t)parent);
	if (sn_config.output && sn_checkpoint_open()) {
		lose();
		return;
	}
	sn_graph_after_fork();
	sn_adapters_after_fork();
	sn_threads_after_fork();
	sn_served_start_begin(sn_thread_self());
}

static void after_fork_in_child(void)
{
	sn_on_own_stack(begin_child, NULL);
}

static void on_program_exit(int status, void *unused)
{
	if (sn_measuring() && sn_is_measured_process())
		sn_monitor_tool_stop();
	sn_end_with_status(status);
}

/* For a tool alone (monitor.c) no samples are taken and no file is written. */
static int prepare(void)
{
	if (!sn_config.output)
		sn_config.events = "";
	/* first: where nothing may be written nothing is changed in the program */
	int status = sn_config.output ? sn_own_folder_init() : 0;
	if (!status)
		status = sn_modules_init();
	if (status)
		return status;
	sn_properties_init();
	sn_property_set("began", "exec");
	sn_losses_init();
	status = sn_sampling_init();
	return status || !sn_config.output ? status : sn_checkpoint_open();
}

/* Whatever happens from now on, it is known that the program ran. */
static void write_first(struct sn_thread *thread)
{
	uint64_t before_ns = sn_thread_cpu_ns();
	sn_checkpoint_now("");
	if (thread)
		thread->own_ns += sn_thread_cpu_ns() - before_ns;
}

static void begin(void)
{
	measured_pid = getpid();
	sn_clock_init();
	read_config();
	if (prepare()) {
		atomic_store(&phase, STOPPED);
		return;
	}
	atomic_store(&phase, MEASURING);
	sn_environment_keep();
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
	on_exit(on_program_exit, NULL);
	at_quick_exit(sn_end_quickly);
	sn_fatal_init();
	sn_adapters_attach();
	struct sn_thread *thread = sn_thread_begin(0);
	if (thread)
		sn_start_path_begin(thread, sn_environment_start_path());
	write_first(thread);
}

/* Valgrind runs a program on a processor of its own, many times slower, and reports our probes of
 * unmapped memory as the program's errors. */
static bool is_emulated(void)
{
	const char *preloaded = getenv("LD_PRELOAD");
	return preloaded && strstr(preloaded, "vgpreload_");
}

static bool is_wanted(void)
{
	return setting("SONDE_OUTPUT", NULL) || setting("SONDE_TOOL", NULL);
}

/*
 * Whether a filter of system calls was installed between `sonde run` and this program. Which calls
 * it allows cannot be determined here, and trying would end the program: so until this is known
 * only those calls may be made that the loader has just made. The filters of `sonde run` itself (a
 * container's) allow measuring, else it would not have begun.
 */
static bool is_filtered(void)
{
	const char *then = setting("SONDE_FILTERS", NULL);
	filters_at_start = sn_filters_in_force();
	return then && (filters_at_start < 0 || filters_at_start > (int)strtoull(then, NULL, 10));
}

bool sn_confined_unasked(void)
{
	if (sn_confined())
		return true;
	int now = filters_at_start < 0 ? -1 : sn_filters_in_force();
	if (now <= filters_at_start)
		return false;
	/* no call may be made any more, not even one to end the timers: their signals do nothing */
	sn_environment_leave();
	atomic_store(&phase, CONFINED);
	return true;
}

void sn_start(void)
{
	int expected = IDLE;
	if (!atomic_compare_exchange_strong(&phase, &expected, STARTING))
		return;
	int saved_errno = errno;
	if (!is_wanted()) {
		atomic_store(&phase, UNWANTED);
	} else if (is_filtered()) {
		atomic_store(&phase, CONFINED);
		sn_environment_strip();
	} else if (is_emulated() || sn_go_program() == SN_GO_ALONE) {
		atomic_store(&phase, UNWANTED);
	} else {
		begin();
	}
	errno = saved_errno;
}

void sn_start_monitoring(void)
{
	sn_start();
	int expected = UNWANTED;
	if (atomic_compare_exchange_strong(&phase, &expected, STARTING))
		begin();
}

__attribute__((constructor)) static void construct(void)
{
	sn_real_find_all();
	sn_start();
	if (sn_measuring())
		sn_monitor_tool_start();
}

/* CPU time that threads still running have used since their last sample belongs to them as a whole.
 */
static void settle_running_threads(void)
{
	uint32_t count = sn_thread_count();
	for (uint32_t index = 0; index < count; index++) {
		struct sn_thread *thread = sn_thread_at(index);
		for (int patience = 0; patience < 100 && atomic_load(&thread->inside); patience++) {
			struct timespec pause = {0, 100000};
			syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
		}
		if (!atomic_load(&thread->ended) && !atomic_load(&thread->inside))
			sn_sampling_settle(thread);
	}
}

/* Who ends the process while another thread writes the last snapshot would take that away. */
static void await_stop(void)
{
	if (atomic_load(&phase) != STOPPING || stops_here || !sn_is_measured_process())
		return;
	uint64_t until_ns = sn_now_ns() + STOPPING_NS;
	while (atomic_load(&phase) == STOPPING && sn_now_ns() < until_ns)
		sn_lock_pause();
}

/* False where measuring is over, or is not this process's; after another thread's stop. */
static bool begin_stop(void)
{
	int expected = MEASURING;
	sn_losses_note_unseen();
	if (sn_measuring() && !sn_confined_unasked() && sn_is_measured_process() &&
	    atomic_compare_exchange_strong(&phase, &expected, STOPPING)) {
		stops_here = true;
		return true;
	}
	await_stop();
	return false;
}

static void end_stop(void)
{
	int expected = STOPPING;
	stops_here = false;
	atomic_compare_exchange_strong(&phase, &expected, STOPPED);
}

static void end_measuring(const char *exit_text)
{
	struct sn_thread *thread = sn_enter();
	if (thread) {
		sn_adapters_detach();
		sn_leave(thread);
	}
	sn_trace_end();
	if (sn_thread_self())
		sn_sampling_stop(sn_thread_self());
	settle_running_threads();
	sn_threads_ended(sn_sampling_settle_ended);
	sn_checkpoint_now(exit_text);
}

void sn_stop(const char *exit_text)
{
	if (!begin_stop())
		return;
	end_measuring(exit_text);
	end_stop();
}

void sn_stop_asked(void)
{
	if (!begin_stop())
		return;
	sn_monitor_tool_stop();
	sn_drop(NULL, SN_DROP_STOPPED, 1);
	end_measuring("stopped");
	if (!sn_confined()) {
		sn_sampling_release();
		sn_fatal_release();
		sn_environment_replace();
	}
	end_stop();
}

/* Whether a thread makes calls of ours: in a hook; or in a handler of a sample, or soon in one. Only
 * our handlers block their signal. */
static bool is_at_work(struct sn_thread *thread)
{
	char path[48];
	struct sn_line line = SN_LINE(path);
	struct sn_status_line signals[] = {{"\nSigPnd:\t", 16}, {"\nSigBlk:\t", 16}};
	sn_line_add(&line, "/proc/self/task/");
	sn_line_add_number(&line, (uint64_t)thread->tid);
	sn_line_add(&line, "/status");
	if (sn_status_read(path, signals, 2))
		return false; /* it has ended, or is the parent's */
	return atomic_load(&thread->inside) ||
	       (signals[0].number | signals[1].number) & sn_sample_signal_bit();
}

/*
 * A filter may hold for all threads at once, and then end the process at the next call of a handler
 * that is under way, of which the last is rt_sigreturn. On a busy machine a thread may lose its
 * processor there for long.
 */
static void await_handlers(void)
{
	const struct timespec pause = {0, 1000000};
	int patience = 2000;
	while (sn_threads_at_edge() && patience-- > 0)
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
	sn_sampling_release(); /* those that began meanwhile */
	for (uint32_t index = 0; index < sn_thread_count(); index++) {
		struct sn_thread *thread = sn_thread_at(index);
		while (thread != sn_thread_self() && patience-- > 0 && is_at_work(thread))
			syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
	}
}

void sn_confine(void)
{
	if (!sn_measuring()) {
		await_stop();
		return;
	}
	sn_losses_note_unseen();
	bool has_threads = sn_is_measured_process();
	if (has_threads) {
		sn_drop(NULL, SN_DROP_CONFINED, 1);
		sn_stop("confined");
	} else if (!sn_losses_is_unseen()) {
		return; /* in its parent's memory: what it executes finds out by itself */
	}
	sn_sampling_release();
	sn_fatal_release();
	atomic_store(&phase, CONFINED);
	if (has_threads)
		await_handlers();
	sn_own_stacks_retire();
	sn_environment_strip();
}
