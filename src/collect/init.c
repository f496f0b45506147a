/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collector's life in a process image: reads what it is told from the environment, starts,
 * stops.
 *
 * `sonde run` sets the environment (libsonde(7) names it) and preloads the library; without
 * SONDE_OUTPUT and SONDE_TOOL the library does nothing at all. Whatever goes wrong here, the
 * program runs on unmeasured.
 */
#include "adapters.h"
#include "checkpoint.h"
#include "graph.h"
#include "intercept.h"
#include "line.h"
#include "monitor.h"
#include "own_file.h"
#include "property.h"
#include "sample.h"
#include "trace.h"
#include "event.h"
#include "go_program.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct sn_config sn_config;

#define GO_CHECKPOINT_NS 100000000u

enum { IDLE, STARTING, MEASURING, STOPPED, CONFINED, UNWANTED };
static _Atomic int phase;
static pid_t measured_pid;

bool sn_measuring(void)
{
	return atomic_load_explicit(&phase, memory_order_relaxed) == MEASURING;
}

bool sn_confined(void)
{
	return atomic_load_explicit(&phase, memory_order_relaxed) == CONFINED;
}

bool sn_is_measured_process(void)
{
	return syscall(SYS_getpid) == measured_pid;
}

static const char *setting(const char *name, const char *otherwise)
{
	const char *value = getenv(name);
	return value && *value ? value : otherwise;
}

static unsigned parse_sources(const char *list)
{
	static const struct {
		const char *name;
		unsigned source;
	} names[] = {{"python", SN_SOURCE_PYTHON},
		     {"operator", SN_SOURCE_OPERATOR},
		     {"native", SN_SOURCE_NATIVE},
		     {"region", SN_SOURCE_REGION}};
	unsigned sources = SN_SOURCE_REGION;
	while (*list) {
		size_t length = strcspn(list, ",");
		for (size_t index = 0; index < sizeof(names) / sizeof(*names); index++)
			if (strlen(names[index].name) == length &&
			    !memcmp(names[index].name, list, length))
				sources |= names[index].source;
		list += length + (list[length] == ',');
	}
	return sources;
}

static enum sn_graph_mode graph_mode(const char *text)
{
	return !strcmp(text, "all") ? SN_GRAPH_ALL : *text == '1' ? SN_GRAPH_SOME : SN_GRAPH_OFF;
}

/* A program that sets its title (nginx, PostgreSQL) writes it over its environment. */
static const char *kept_setting(const char *name, const char *otherwise)
{
	const char *value = setting(name, NULL);
	return value ? strdup(value) : otherwise;
}

static void read_config(void)
{
	sn_config.output = kept_setting("SONDE_OUTPUT", NULL);
	sn_config.file_mode = (unsigned)strtoull(setting("SONDE_SHARE", "0"), NULL, 8) & 0666;
	sn_config.no_command = *setting("SONDE_COMMAND", "1") == '0';
	sn_config.events = kept_setting("SONDE_EVENTS", SN_EVENT_LIST_DEFAULT);
	sn_config.sources = parse_sources(setting("SONDE_CALL_PATH", "python,operator,native"));
	sn_config.operators = kept_setting("SONDE_OPERATORS", "sampled");
	sn_config.graph = graph_mode(setting("SONDE_GRAPH", "0"));
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

static void after_fork_in_child(void)
{
	int now = atomic_load_explicit(&phase, memory_order_relaxed);
	if (now == CONFINED)
		return;
	measured_pid = getpid();
	sn_modules_after_fork();
	if (now != MEASURING)
		return;
	sn_sampling_after_fork();
	sn_properties_init();
	if (sn_config.output)
		sn_checkpoint_after_fork();
	sn_graph_after_fork();
	sn_adapters_after_fork();
	sn_threads_after_fork();
}

static void on_program_exit(int status, void *unused)
{
	char text[4];
	struct sn_line line = SN_LINE(text);
	sn_line_add_number(&line, (unsigned)status & 0xff);
	if (sn_measuring() && sn_is_measured_process())
		sn_monitor_tool_stop();
	sn_stop(text);
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
	status = sn_sampling_init();
	return status || !sn_config.output ? status : sn_checkpoint_open();
}

static void begin(void)
{
	if (prepare()) {
		atomic_store(&phase, STOPPED);
		return;
	}
	atomic_store(&phase, MEASURING);
	sn_environment_keep();
	pthread_atfork(NULL, NULL, after_fork_in_child);
	on_exit(on_program_exit, NULL);
	sn_fatal_init();
	sn_adapters_attach();
	sn_thread_begin(0);
}

/* Valgrind runs a program on a processor of its own, many times slower, and reports our probes of
 * unmapped memory as the program's errors. */
static bool is_emulated(void)
{
	const char *preloaded = getenv("LD_PRELOAD");
	return preloaded && strstr(preloaded, "vgpreload_");
}

void sn_start(void)
{
	int expected = IDLE;
	if (!atomic_compare_exchange_strong(&phase, &expected, STARTING))
		return;
	int saved_errno = errno;
	measured_pid = getpid();
	read_config();
	if ((sn_config.output || setting("SONDE_TOOL", NULL)) && !is_emulated() &&
	    sn_go_program() != SN_GO_ALONE)
		begin();
	else
		atomic_store(&phase, UNWANTED);
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

void sn_stop(const char *exit_text)
{
	int expected = MEASURING;
	if (!sn_measuring() || !sn_is_measured_process() ||
	    !atomic_compare_exchange_strong(&phase, &expected, STOPPED))
		return;
	struct sn_thread *thread = sn_enter();
	if (thread) {
		sn_adapters_detach();
		sn_leave(thread);
	}
	sn_trace_end();
	sn_sampling_stop_self();
	settle_running_threads();
	sn_threads_ended(sn_sampling_settle_ended);
	sn_checkpoint_now(exit_text);
}

void sn_confine(void)
{
	if (!sn_measuring() || !sn_is_measured_process())
		return;
	sn_drop(NULL, SN_DROP_CONFINED, 1);
	sn_stop("confined");
	sn_sampling_release();
	sn_fatal_release();
	atomic_store(&phase, CONFINED);
}
