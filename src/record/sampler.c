/* SPDX-License-Identifier: Apache-2.0 */
/* Opening perf events on what runs already, and taking what they write; see sampler.h. */
#include "sampler.h"

#include "already.h"
#include "perf_pipe.h"
#include "python/python_thread.h"

#include "base/clock.h"
#include "base/table.h"
#include "base/vec.h"
#include "system/refusal.h"
#include "system/ring.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	RING_BYTES = 4 << 20,	 /* of each processor */
	RINGS_BYTES = 256 << 20, /* of all together */
	RING_LEAST = 32 << 10,
	LATE_NS = 20000000, /* after a sample its thread runs something else */
};

#define PERIODS_DIFFER 0.02

/* Of the user's registers those that unwinding starts from: asm/perf_regs.h. */
#define REGISTERS UINT64_C(0xff01ff)
/* Fields that records other than samples do not have. */
#define SAMPLES_ALONE                                                                              \
	((uint64_t)PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |        \
	 PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD)

struct sn_sampler {
	struct sn_sampler_options options;
	struct perf_event_attr attr;
	const char *event;
	/* Of each processor the event of this thread that has the ring, and counts nothing: those of what is sampled end with their threads. */
	int *owners;
	struct sn_ring *rings;
	uint32_t cpu_count;
	int *events; /* of each thread on each processor, or of all threads */
	size_t event_count, event_capacity;
	pid_t *threads; /* that are to get events */
	size_t thread_count, thread_capacity;
	/* the rings' descriptors, those of the processes, and one more */
	struct pollfd *polled;
	bool *has_ended;      /* of each process */
	bool has_begun;	      /* what was there before has been handed out */
	struct sn_table told; /* processes that this recording knows, with in_turns */
	struct sn_already_files files;
	struct sn_buffer text;
	struct sn_python_thread *python; /* NULL: not wanted */
};

/* ---- the event ---- */

static int open_event(const struct perf_event_attr *attr, pid_t tid, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static struct perf_event_attr attributes_of(const struct sn_sampler_options *options)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			   PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			   PERF_SAMPLE_CALLCHAIN;
	if (options->stack_bytes) {
		attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr.sample_regs_user = REGISTERS;
		attr.sample_stack_user = options->stack_bytes;
		attr.exclude_callchain_user = 1;
	}
	attr.inherit = options->process_count > 0;
	attr.exclude_idle = 1;
	attr.exclude_hv = 1;
	attr.mmap = 1;
	attr.mmap2 = 1;
	attr.comm = 1;
	attr.comm_exec = 1;
	attr.task = 1;
	attr.sample_id_all = 1;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	/* what Python runs is to be read at once; else the ring says when there is much */
	attr.watermark = !options->reads_python;
	attr.wakeup_events = 1;
	return attr;
}

/* Tries an event with all that the kernel has, and then without what it may lack or refuse. */
static bool try_event(struct sn_sampler *sampler, uint32_t type, uint64_t config)
{
	struct perf_event_attr *attr = &sampler->attr;
	bool is_wide = !sampler->options.process_count;
	pid_t pid = is_wide ? -1 : sampler->options.processes[0];
	attr->type = type;
	attr->config = config;
	for (unsigned without = 0; without < 4; without++) {
		attr->exclude_kernel = without & 1;
		attr->build_id = !(without & 2);
		int fd = open_event(attr, pid, is_wide ? 0 : -1);
		if (fd >= 0) {
			close(fd);
			return true;
		}
	}
	return false;
}

static bool is_anothers(pid_t pid)
{
	char path[32];
	struct stat status;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	return !stat(path, &status) && status.st_uid != geteuid();
}

static int refuse_process(pid_t pid, int why, struct sn_error *error)
{
	struct sn_refusal refusal;
	if (why == ESRCH || why == ENOENT)
		return sn_fail(error, SN_ERR_MISSING, "there is no process %d", pid);
	if (why == EMFILE)
		return sn_fail(
		    error, SN_ERR_IO,
		    "cannot sample process %d: each of its threads needs a file for each "
		    "processor, and this process may not open so many (ulimit -n)",
		    pid);
	if ((why == EACCES || why == EPERM) && is_anothers(pid))
		return sn_fail(
		    error, SN_ERR_IO,
		    "cannot sample process %d: it is another user's, which root may, or who "
		    "has CAP_PERFMON",
		    pid);
	sn_refusal_explain(&refusal, why);
	return sn_fail(error, SN_ERR_IO, "cannot sample process %d: %s%s%s", pid, refusal.why,
		       *refusal.fix ? ": " : "", refusal.fix);
}

/* Samples a second that the kernel allows of counters. */
static unsigned rate_most(void)
{
	unsigned rate = UINT32_MAX;
	FILE *file = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	if (file && fscanf(file, "%u", &rate) != 1)
		rate = UINT32_MAX;
	if (file)
		fclose(file);
	return rate;
}

/* Cycles where the processor counts them, else the kernel's clock. */
static int choose_event(struct sn_sampler *sampler, struct sn_error *error)
{
	unsigned rate = sampler->options.rate;
	struct perf_event_attr *attr = &sampler->attr;
	*attr = attributes_of(&sampler->options);
	attr->freq = 1;
	attr->sample_freq = rate_most() < rate ? rate_most() : rate;
	sampler->event = "cycles";
	if (try_event(sampler, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES))
		return 0;
	attr->freq = 0;
	attr->sample_period = 1000000000u / rate;
	sampler->event = "cpu-clock";
	if (try_event(sampler, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK))
		return 0;
	struct sn_refusal refusal;
	int why = errno;
	if (sampler->options.process_count)
		return refuse_process(sampler->options.processes[0], why, error);
	sn_refusal_explain(&refusal, why);
	return sn_fail(error, SN_ERR_IO, "cannot sample the machine: %s%s%s", refusal.why,
		       *refusal.fix ? ": " : "", refusal.fix);
}

/* ---- rings ---- */

static void close_rings(struct sn_sampler *sampler)
{
	for (uint32_t cpu = 0; cpu < sampler->cpu_count; cpu++) {
		sn_ring_unmap(&sampler->rings[cpu]);
		if (sampler->owners[cpu] >= 0)
			close(sampler->owners[cpu]);
		sampler->owners[cpu] = -1;
	}
}

/* Of one processor; one that is offline has none. -1 with errno. */
static int open_ring(struct sn_sampler *sampler, uint32_t cpu, size_t bytes)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_DUMMY,
				       .sample_type = sampler->attr.sample_type & ~SAMPLES_ALONE,
				       .exclude_kernel = 1,
				       .sample_id_all = 1,
				       .use_clockid = 1,
				       .clockid = CLOCK_MONOTONIC,
				       .watermark = 1,
				       .wakeup_watermark = (uint32_t)(bytes / 4)};
	int fd = open_event(&attr, 0, (int)cpu);
	if (fd < 0)
		return errno == ENODEV ? 0 : -1;
	sampler->owners[cpu] = fd;
	sampler->polled[cpu] = (struct pollfd){.fd = fd, .events = POLLIN};
	return sn_ring_map(&sampler->rings[cpu], fd, bytes);
}

/* All of one size, as the memory that may be locked is for all together. */
static int open_rings(struct sn_sampler *sampler, struct sn_error *error)
{
	size_t bytes = RING_BYTES;
	while (bytes > RING_LEAST && bytes > RINGS_BYTES / sampler->cpu_count)
		bytes /= 2;
	for (;; bytes /= 2) {
		int result = 0;
		for (uint32_t cpu = 0; !result && cpu < sampler->cpu_count; cpu++)
			result = open_ring(sampler, cpu, bytes);
		if (!result)
			return 0;
		int why = errno;
		close_rings(sampler);
		if ((why != EPERM && why != ENOMEM) || bytes == RING_LEAST)
			return sn_fail(
			    error, SN_ERR_IO,
			    "cannot sample: no ring of %zu bytes for each processor: %s (ulimit -l "
			    "and kernel.perf_event_mlock_kb limit them)",
			    bytes, strerror(why));
	}
}

/* ---- events on threads and processors ---- */

/*
 * The event of a processor. The kernel's clocks of two processors would interrupt both at the same moment, for ever: what the sample of one wakes, this process above all, would be
 * what the other one runs. So their periods differ by up to a hundredth; each sample says its own.
 */
static struct perf_event_attr attributes_on(const struct sn_sampler *sampler, uint32_t cpu)
{
	struct perf_event_attr attr = sampler->attr;
	double golden = 0.6180339887 * cpu, place = golden - (double)(uint64_t)golden;
	if (!attr.freq)
		attr.sample_period =
		    (uint64_t)((double)attr.sample_period * (1 + PERIODS_DIFFER * (place - 0.5)));
	return attr;
}

/* Opens a thread's event on a processor, or that of all threads. -1 with errno. */
static int open_on(struct sn_sampler *sampler, pid_t tid, uint32_t cpu)
{
	const struct perf_event_attr attr = attributes_on(sampler, cpu);
	int fd = sampler->owners[cpu] < 0 ? -1 : open_event(&attr, tid, (int)cpu);
	if (fd < 0)
		return sampler->owners[cpu] < 0 || errno == ENODEV ? 0 : -1;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, sampler->owners[cpu]) ||
	    sn_vec_push(&sampler->events, &sampler->event_capacity, &sampler->event_count, fd)) {
		int why = errno;
		close(fd);
		errno = why;
		return -1;
	}
	return 0;
}

/* A thread that has ended meanwhile has none. 0 or an errno. */
static int open_thread(struct sn_sampler *sampler, pid_t tid)
{
	for (uint32_t cpu = 0; cpu < sampler->cpu_count; cpu++)
		if (open_on(sampler, tid, cpu))
			return errno == ESRCH ? 0 : errno;
	return 0;
}

static int note_thread(void *context, pid_t tid)
{
	struct sn_sampler *sampler = context;
	return sn_vec_push(&sampler->threads, &sampler->thread_capacity, &sampler->thread_count,
			   tid)
		   ? ENOMEM
		   : 0;
}

/* Threads are listed before the first of them has an event: what starts later inherits it, and must not get another one. 0 or an errno. */
static int open_threads(struct sn_sampler *sampler, pid_t pid)
{
	sampler->thread_count = 0;
	int why = sn_already_each(pid, note_thread, sampler);
	for (size_t number = 0; !why && number < sampler->thread_count; number++)
		why = open_thread(sampler, sampler->threads[number]);
	return why;
}

static int open_process(struct sn_sampler *sampler, size_t number, struct sn_error *error)
{
	pid_t pid = sampler->options.processes[number];
	size_t before = sampler->event_count;
	struct pollfd *polled = &sampler->polled[sampler->cpu_count + number];
	polled->fd = (int)syscall(SYS_pidfd_open, pid, 0);
	polled->events = POLLIN;
	/* what else refuses it leaves the process to be asked for by its number */
	if (polled->fd < 0 && (errno == EINVAL || errno == ENOENT))
		return sn_fail(error, SN_ERR_ARGUMENT, "%d is a thread: its process can be sampled",
			       pid);
	int why = polled->fd < 0 && errno == ESRCH ? ESRCH : open_threads(sampler, pid);
	if (!why && sampler->event_count == before)
		why = ESRCH;
	return why ? refuse_process(pid, why, error) : 0;
}

static int open_all(struct sn_sampler *sampler, struct sn_error *error)
{
	size_t count = sampler->options.process_count;
	int result = 0, why = count ? 0 : open_thread(sampler, -1);
	if (why)
		return sn_fail(error, SN_ERR_IO, "cannot sample the machine: %s", strerror(why));
	for (size_t number = 0; !result && number < count; number++)
		result = open_process(sampler, number, error);
	return result;
}

/* ---- records ---- */

/* The begin of a sample, by the attribute's sample_type. */
struct sample_head {
	uint64_t identifier, ip;
	uint32_t pid, tid;
	uint64_t time_ns;
};

/* What /proc says of a process, once in a recording. */
static void tell_process(struct sn_sampler *sampler, pid_t pid)
{
	uint32_t before = sampler->told.count;
	if (pid > 0 && sn_table_add(&sampler->told, (uint64_t)pid) == before)
		sn_already_put(&sampler->files, &sampler->text, &sampler->attr, pid);
}

static void see_record(void *context, const struct perf_event_header *header,
		       const unsigned char *bytes, size_t count)
{
	struct sn_sampler *sampler = context;
	struct sample_head head;
	uint32_t pid;
	if (header->type == PERF_RECORD_COMM && header->misc & PERF_RECORD_MISC_COMM_EXEC &&
	    count >= sizeof(pid)) {
		memcpy(&pid, bytes, sizeof(pid));
		if (sampler->python)
			sn_python_thread_forget(sampler->python, (pid_t)pid);
	}
	if (header->type != PERF_RECORD_SAMPLE || count < sizeof(head))
		return;
	memcpy(&head, bytes, sizeof(head));
	if (sampler->options.in_turns)
		tell_process(sampler, (pid_t)head.pid);
	if (sampler->python)
		sn_python_thread_see(sampler->python, (pid_t)head.pid, (pid_t)head.tid,
				     head.time_ns, LATE_NS);
}

/* What has been written for those who take. */
static int take_text(struct sn_sampler *sampler, sn_sampler_taker *take, void *context)
{
	int result = sampler->text.failed ? SN_ERR_MEMORY : 0;
	if (!result && sampler->text.count)
		result = take(context, sampler->text.bytes, sampler->text.count);
	sn_buffer_cut(&sampler->text, 0);
	return result;
}

/* What a ring has; what Python its samples run is asked for. */
static int take_ring(struct sn_sampler *sampler, struct sn_ring *ring, sn_sampler_taker *take,
		     void *context)
{
	sn_ring_look(ring);
	if (sampler->python || sampler->options.in_turns)
		sn_ring_see(ring, see_record, sampler);
	return sn_ring_take(ring, take, context);
}

/* What the rings have, and what Python has been read by now. */
static int take_rings(struct sn_sampler *sampler, sn_sampler_taker *take, void *context)
{
	int result = 0;
	for (uint32_t cpu = 0; !result && cpu < sampler->cpu_count; cpu++)
		if (sampler->rings[cpu].page)
			result = take_ring(sampler, &sampler->rings[cpu], take, context);
	if (sampler->python)
		sn_python_thread_take(sampler->python, &sampler->text);
	return result ? result : take_text(sampler, take, context);
}

struct taking {
	struct sn_sampler *sampler;
	sn_sampler_taker *take;
	void *context;
};

/* Of one process, and then what the rings have by then: of a machine with many processes they would be full at the end. */
static int take_already(void *context, pid_t pid)
{
	const struct taking *taking = context;
	struct sn_sampler *sampler = taking->sampler;
	sn_already_put(&sampler->files, &sampler->text, &sampler->attr, pid);
	int result = take_text(sampler, taking->take, taking->context);
	return result ? result : take_rings(sampler, taking->take, taking->context);
}

static int take_first(struct sn_sampler *sampler, sn_sampler_taker *take, void *context)
{
	const struct sn_sampler_options *options = &sampler->options;
	struct taking taking = {sampler, take, context};
	sampler->has_begun = true;
	sn_perf_pipe_begin(&sampler->text, &sampler->attr, CLOCK_MONOTONIC);
	sn_perf_pipe_command(&sampler->text, options->command, options->command_count);
	if (!options->process_count)
		sn_perf_pipe_machine(&sampler->text);
	if (options->in_turns && sampler->python)
		sn_python_thread_again(sampler->python);
	int result = take_text(sampler, take, context);
	if (result || options->in_turns)
		return result;
	for (size_t number = 0; !result && number < options->process_count; number++)
		result = take_already(&taking, options->processes[number]);
	return result || options->process_count ? result
						: sn_already_each(0, take_already, &taking);
}

/* ---- for its users ---- */

static int make_room(struct sn_sampler *sampler)
{
	size_t processes = sampler->options.process_count;
	size_t polled = sampler->cpu_count + processes + 1;
	sampler->rings = calloc(sampler->cpu_count, sizeof(*sampler->rings));
	sampler->owners = malloc(sampler->cpu_count * sizeof(*sampler->owners));
	sampler->polled = calloc(polled, sizeof(*sampler->polled));
	sampler->has_ended = calloc(processes + 1, sizeof(*sampler->has_ended));
	for (size_t number = 0; sampler->polled && number < polled; number++)
		sampler->polled[number].fd = -1;
	for (uint32_t cpu = 0; sampler->owners && cpu < sampler->cpu_count; cpu++)
		sampler->owners[cpu] = -1;
	if (sampler->options.reads_python)
		sampler->python = sn_python_thread_start();
	bool has_python = sampler->python || !sampler->options.reads_python;
	return sampler->rings && sampler->owners && sampler->polled && sampler->has_ended &&
		       has_python
		   ? 0
		   : SN_ERR_MEMORY;
}

int sn_sampler_start(const struct sn_sampler_options *options, struct sn_sampler **sampler,
		     struct sn_error *error)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct sn_sampler *created = calloc(1, sizeof(*created));
	if (!created)
		return sn_fail_memory(error);
	created->options = *options;
	created->cpu_count = cpus > 0 ? (uint32_t)cpus : 1;
	sn_allow_descriptors();
	int result = make_room(created) ? sn_fail_memory(error) : choose_event(created, error);
	result = result ? result : open_rings(created, error);
	/* before /proc is read, so that nothing that is mapped meanwhile is in neither */
	result = result ? result : open_all(created, error);
	if (result) {
		sn_sampler_free(created);
		return result;
	}
	*sampler = created;
	return 0;
}

bool sn_sampler_sees_kernel(const struct sn_sampler *sampler)
{
	return !sampler->attr.exclude_kernel;
}

const char *sn_sampler_event(const struct sn_sampler *sampler)
{
	return sampler->event;
}

unsigned sn_sampler_rate(const struct sn_sampler *sampler)
{
	const struct perf_event_attr *attr = &sampler->attr;
	return (unsigned)(attr->freq ? attr->sample_freq : 1000000000u / attr->sample_period);
}

/* A process without a descriptor is asked for by its number. */
static void note_end(struct sn_sampler *sampler, size_t number)
{
	struct pollfd *process = &sampler->polled[sampler->cpu_count + number];
	bool is_gone = process->fd >= 0
			   ? process->revents != 0
			   : kill(sampler->options.processes[number], 0) < 0 && errno == ESRCH;
	if (!is_gone || sampler->has_ended[number])
		return;
	if (process->fd >= 0)
		close(process->fd);
	process->fd = -1;
	sampler->has_ended[number] = true;
}

void sn_sampler_wait(struct sn_sampler *sampler, int wake_fd, int timeout_ms)
{
	size_t processes = sampler->options.process_count, last = sampler->cpu_count + processes;
	sampler->polled[last] = (struct pollfd){.fd = wake_fd, .events = POLLIN};
	poll(sampler->polled, last + 1, timeout_ms);
	for (size_t number = 0; number < processes; number++)
		note_end(sampler, number);
}

bool sn_sampler_is_over(const struct sn_sampler *sampler)
{
	size_t ended = 0;
	for (size_t number = 0; number < sampler->options.process_count; number++)
		ended += sampler->has_ended[number];
	return ended && ended == sampler->options.process_count;
}

int sn_sampler_take(struct sn_sampler *sampler, sn_sampler_taker *take, void *context)
{
	int result = sampler->has_begun ? 0 : take_first(sampler, take, context);
	return result ? result : take_rings(sampler, take, context);
}

int sn_sampler_turn(struct sn_sampler *sampler, sn_sampler_taker *take, void *context)
{
	int result = sn_sampler_take(sampler, take, context);
	if (sampler->python && !result) {
		sn_python_thread_settle(sampler->python);
		sn_python_thread_take(sampler->python, &sampler->text);
		result = take_text(sampler, take, context);
	}
	sn_table_release(&sampler->told);
	sampler->has_begun = false;
	return result;
}

void sn_sampler_stop(struct sn_sampler *sampler, struct sn_python_result *python)
{
	for (size_t number = 0; number < sampler->event_count; number++)
		ioctl(sampler->events[number], PERF_EVENT_IOC_DISABLE, 0);
	*python = (struct sn_python_result){0};
	if (sampler->python)
		sn_python_thread_finish(sampler->python, python);
}

void sn_sampler_free(struct sn_sampler *sampler)
{
	if (!sampler)
		return;
	for (size_t number = 0; number < sampler->event_count; number++)
		close(sampler->events[number]);
	if (sampler->rings && sampler->owners)
		close_rings(sampler);
	for (size_t number = 0; sampler->polled && number < sampler->options.process_count;
	     number++)
		if (sampler->polled[sampler->cpu_count + number].fd >= 0)
			close(sampler->polled[sampler->cpu_count + number].fd);
	sn_python_thread_free(sampler->python);
	sn_buffer_release(&sampler->text);
	sn_already_files_release(&sampler->files);
	sn_table_release(&sampler->told);
	free(sampler->events);
	free(sampler->threads);
	free(sampler->rings);
	free(sampler->owners);
	free(sampler->polled);
	free(sampler->has_ended);
	free(sampler);
}
