/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and reads perf events of the operating system; see perf_event_open(2). */
#include "perf.h"

#include "base/table.h"
#include "base/vec.h"
#include "refusal.h"
#include "tracefs.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	RING_BYTES = 8 << 20,	 /* of each processor */
	RINGS_BYTES = 512 << 20, /* of all together */
	RING_LEAST = 32 << 10,
};

/* The event without a tracepoint, after the kinds of tracepoints: it opens rings and reports the
 * begin, end and names of threads. */
#define KIND_DUMMY SN_OS_EVENT_KINDS

struct opened {
	int fd;
	uint32_t kind;
};

struct sn_os_perf {
	struct sn_os_options options;
	pid_t pid;
	bool is_privileged; /* the kernel's own events may be recorded */
	struct sn_os_layout layouts[SN_OS_TRACEPOINTS];
	uint64_t tracepoint_ids[SN_OS_TRACEPOINTS]; /* 0: not recorded */
	struct opened *events;
	size_t event_count, event_capacity;
	struct sn_table kinds; /* by the kernel's id */
	struct sn_ring *rings; /* by processor */
	struct pollfd *polled; /* the rings' descriptors, and one more */
	uint32_t cpu_count;
	uint64_t unknown; /* records of events that were not opened here */
	struct sn_os_coverage *coverage;
};

/* ---- sources ---- */

static const struct {
	const char *name, *text;
} sources[SN_OS_SOURCES] = {
    [SN_OS_SOURCE_SCHEDULER] = {"scheduler", "who wakes whom, and waiting for a processor"},
    [SN_OS_SOURCE_SYSCALLS] = {"syscalls", "system calls, and which one a thread is blocked in"},
    [SN_OS_SOURCE_FAULTS] = {"faults", "page faults"},
    [SN_OS_SOURCE_INTERRUPTS] = {"interrupts", "interrupts"},
    [SN_OS_SOURCE_BLOCK] = {"block", "requests to disks"},
    [SN_OS_SOURCE_NETWORK] = {"network", "what sockets send and receive"},
    [SN_OS_SOURCE_FREQUENCY] = {"frequency", "processors' frequency"},
};

const char *sn_os_source_name(enum sn_os_source source)
{
	return sources[source].name;
}

const char *sn_os_source_text(enum sn_os_source source)
{
	return sources[source].text;
}

uint32_t sn_os_sources_parse(const char *list, const char **wrong)
{
	uint32_t chosen = 0;
	for (const char *item = list;; item++) {
		size_t length = strcspn(item, ",");
		uint32_t found = 0;
		for (int i = 0; i < SN_OS_SOURCES; i++)
			if (strlen(sources[i].name) == length &&
			    !strncmp(item, sources[i].name, length))
				found = 1u << i;
		*wrong = item;
		if (!found)
			return 0;
		chosen |= found;
		item += length;
		if (!*item)
			return chosen;
	}
}

static bool is_wanted(const struct sn_os_perf *perf, enum sn_os_source source)
{
	return perf->options.sources >> source & 1;
}

__attribute__((format(printf, 3, 4))) static void miss(struct sn_os_gap *gap, const char *fix,
						       const char *format, ...)
{
	va_list arguments;
	if (gap->is_missing)
		return;
	gap->is_missing = true;
	va_start(arguments, format);
	vsnprintf(gap->why, sizeof(gap->why), format, arguments);
	va_end(arguments);
	snprintf(gap->fix, sizeof(gap->fix), "%s", fix);
}

static void miss_refused(struct sn_os_gap *gap, int why)
{
	struct sn_refusal refusal;
	sn_refusal_explain(&refusal, why);
	miss(gap, refusal.fix, "%s", refusal.why);
}

/* ---- events ---- */

static uint32_t kind_of(const struct sn_os_perf *perf, uint64_t id)
{
	uint32_t kind = sn_table_find(&perf->kinds, id);
	return kind == SN_TABLE_NONE ? KIND_DUMMY + 1 : kind;
}

static struct perf_event_attr attributes_of(const struct sn_os_perf *perf, uint32_t kind)
{
	struct perf_event_attr attr = {.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE};
	attr.sample_type = SN_PERF_COMMON;
	attr.sample_id_all = 1;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	attr.inherit = !perf->options.is_wide;
	attr.disabled = 1;
	attr.enable_on_exec = !perf->options.is_wide;
	attr.exclude_hv = 1;
	if (kind < SN_OS_TRACEPOINTS) {
		attr.type = PERF_TYPE_TRACEPOINT;
		attr.config = perf->tracepoint_ids[kind];
		attr.sample_type = SN_PERF_TRACEPOINT;
		attr.sample_period = 1;
	} else if (kind == SN_OS_FAULT_MINOR || kind == SN_OS_FAULT_MAJOR) {
		attr.config = kind == SN_OS_FAULT_MINOR ? PERF_COUNT_SW_PAGE_FAULTS_MIN
							: PERF_COUNT_SW_PAGE_FAULTS_MAJ;
		attr.sample_type = SN_PERF_FAULT;
		attr.sample_period = 1;
		attr.exclude_kernel = !perf->is_privileged;
	} else {
		attr.config = PERF_COUNT_SW_DUMMY;
		attr.exclude_kernel = !perf->is_privileged;
		attr.task = 1;
		attr.comm = 1;
		/* in addition to the tracepoint, which misses some threads (docs/design/os.md) */
		attr.context_switch = is_wanted(perf, SN_OS_SOURCE_SCHEDULER);
		attr.watermark = 1;
	}
	return attr;
}

static bool is_cpu_wide(const struct sn_os_perf *perf, uint32_t kind)
{
	return perf->options.is_wide ||
	       (kind < SN_OS_TRACEPOINTS &&
		sn_os_source_info((enum sn_os_event_kind)kind)->scope == SN_OS_SCOPE_CPUS);
}

/* Opens a perf event; -1 with errno. */
static int open_event(const struct sn_os_perf *perf, uint32_t kind, uint32_t cpu, size_t watermark)
{
	struct perf_event_attr attr = attributes_of(perf, kind);
	bool is_wide = is_cpu_wide(perf, kind);
	attr.wakeup_watermark = (uint32_t)watermark;
	if (is_wide) {
		attr.inherit = 0;
		attr.enable_on_exec = 0;
	}
	return (int)syscall(SYS_perf_event_open, &attr, is_wide ? -1 : perf->pid, cpu, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

static int keep(struct sn_os_perf *perf, int fd, uint32_t kind)
{
	uint64_t id;
	if (ioctl(fd, PERF_EVENT_IOC_ID, &id) || sn_table_put(&perf->kinds, id, kind) ||
	    sn_vec_push(&perf->events, &perf->event_capacity, &perf->event_count,
			(struct opened){fd, kind})) {
		close(fd);
		return -1;
	}
	return 0;
}

/* ---- which tracepoints ---- */

static bool fits(const struct sn_os_perf *perf, enum sn_os_event_kind kind)
{
	const struct sn_os_source_info *info = sn_os_source_info(kind);
	return is_wanted(perf, info->source) &&
	       (perf->options.is_wide || info->scope != SN_OS_SCOPE_WIDE);
}

/* Reads the formats of the wanted tracepoints. */
static void choose_tracepoints(struct sn_os_perf *perf)
{
	static const char mount[] =
	    "run as root, or: sudo mount -t tracefs -o gid=$(id -g),mode=750 t "
	    "/sys/kernel/tracing; sudo sysctl kernel.perf_event_paranoid=-1";
	static const char remount[] =
	    "run as root, or: sudo mount -o remount,gid=$(id -g),mode=750 "
	    "/sys/kernel/tracing; sudo sysctl "
	    "kernel.perf_event_paranoid=-1";
	struct sn_error error = {""};
	int tracefs = sn_tracefs_open(&error);
	for (int kind = 0; kind < SN_OS_TRACEPOINTS; kind++) {
		const struct sn_os_source_info *info =
		    sn_os_source_info((enum sn_os_event_kind)kind);
		struct sn_tracepoint tracepoint;
		if (!fits(perf, (enum sn_os_event_kind)kind))
			continue;
		if (tracefs < 0) {
			miss(perf->coverage->gaps + info->source,
			     tracefs == SN_ERR_IO ? remount : mount, "%s", error.text);
			continue;
		}
		int result = sn_tracefs_tracepoint(tracefs, info->path, &tracepoint, &error);
		if (result == SN_ERR_IO)
			miss(perf->coverage->gaps + info->source, remount,
			     "tracefs may not be read by this user");
		if (result)
			continue;
		sn_os_layout_init(perf->layouts + kind, (enum sn_os_event_kind)kind, &tracepoint);
		perf->tracepoint_ids[kind] = tracepoint.id;
	}
	if (tracefs >= 0)
		close(tracefs);
}

/* Opens each tracepoint on one processor only, so that a refused one is left out on all. */
static void try_tracepoints(struct sn_os_perf *perf, uint32_t cpu)
{
	bool has[SN_OS_SOURCES] = {false};
	int why[SN_OS_SOURCES] = {0};
	for (int kind = 0; kind < SN_OS_TRACEPOINTS; kind++) {
		if (!perf->tracepoint_ids[kind])
			continue;
		enum sn_os_source source = sn_os_source_info((enum sn_os_event_kind)kind)->source;
		int fd = open_event(perf, (uint32_t)kind, cpu, 0);
		if (fd < 0) {
			why[source] = errno;
			perf->tracepoint_ids[kind] = 0;
			continue;
		}
		has[source] = true;
		close(fd);
	}
	has[SN_OS_SOURCE_SCHEDULER] = perf->tracepoint_ids[SN_OS_SWITCH];
	has[SN_OS_SOURCE_FAULTS] = true;
	for (int source = 0; source < SN_OS_SOURCES; source++) {
		struct sn_os_gap *gap = perf->coverage->gaps + source;
		if (has[source] || !is_wanted(perf, (enum sn_os_source)source))
			continue;
		if (why[source])
			miss_refused(gap, why[source]);
		else
			miss(gap, "", "this kernel has no tracepoint for it");
	}
}

/* ---- processors ---- */

/* Maps a processor's ring with the event that reports threads and switches. */
static int open_ring(struct sn_os_perf *perf, uint32_t cpu, size_t *bytes)
{
	int fd = open_event(perf, KIND_DUMMY, cpu, *bytes / 4);
	if (fd < 0)
		return -1;
	while (sn_ring_map(perf->rings + cpu, fd, *bytes)) {
		int why = errno;
		if ((why != EPERM && why != ENOMEM) || *bytes <= RING_LEAST) {
			close(fd);
			errno = why;
			return -1;
		}
		*bytes /= 2; /* locked memory is limited */
	}
	perf->polled[cpu].fd = fd;
	perf->polled[cpu].events = POLLIN;
	return keep(perf, fd, KIND_DUMMY);
}

static int add_event(struct sn_os_perf *perf, uint32_t kind, uint32_t cpu)
{
	int fd = open_event(perf, kind, cpu, 0);
	if (fd < 0)
		return -1;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, perf->polled[cpu].fd)) {
		close(fd);
		return -1;
	}
	return keep(perf, fd, kind);
}

/* Opens all events of one processor; -1 with errno. A processor that does not exist or is
 * offline has none. */
static int open_cpu(struct sn_os_perf *perf, uint32_t cpu, size_t *bytes)
{
	if (open_ring(perf, cpu, bytes))
		return errno == ENODEV ? 0 : -1; /* ENODEV: offline */
	for (uint32_t kind = 0; kind < SN_OS_TRACEPOINTS; kind++)
		if (perf->tracepoint_ids[kind] && add_event(perf, kind, cpu))
			return -1;
	struct sn_os_gap *gap = perf->coverage->gaps + SN_OS_SOURCE_FAULTS;
	if (is_wanted(perf, SN_OS_SOURCE_FAULTS) && !gap->is_missing &&
	    (add_event(perf, SN_OS_FAULT_MINOR, cpu) || add_event(perf, SN_OS_FAULT_MAJOR, cpu)))
		miss_refused(gap, errno);
	return 0;
}

/* Whether events in kernel mode may be recorded, not only those in user mode. */
static bool may_see_kernel(pid_t pid)
{
	struct perf_event_attr attr = {.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE};
	attr.config = PERF_COUNT_SW_PAGE_FAULTS;
	attr.disabled = 1;
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int open_all(struct sn_os_perf *perf, struct sn_error *error)
{
	size_t bytes = perf->options.ring_bytes ? perf->options.ring_bytes : RING_BYTES;
	while (!perf->options.ring_bytes && bytes > RING_LEAST &&
	       bytes > RINGS_BYTES / perf->cpu_count)
		bytes /= 2;
	choose_tracepoints(perf);
	try_tracepoints(perf, 0);
	for (uint32_t cpu = 0; cpu < perf->cpu_count; cpu++) {
		if (!open_cpu(perf, cpu, &bytes))
			continue;
		struct sn_os_gap gap = {0};
		miss_refused(&gap, errno);
		return sn_fail(error, SN_ERR_IO, "cannot record the operating system: %s%s%s",
			       gap.why, *gap.fix ? ": " : "", gap.fix);
	}
	perf->coverage->has_switches = is_wanted(perf, SN_OS_SOURCE_SCHEDULER);
	/* those of whole processors do not start with the program's exec */
	for (size_t i = 0; i < perf->event_count; i++)
		if (is_cpu_wide(perf, perf->events[i].kind))
			ioctl(perf->events[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	return 0;
}

int sn_os_perf_open(const struct sn_os_options *options, pid_t pid, struct sn_os_perf **perf,
		    struct sn_os_coverage *coverage, struct sn_error *error)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct sn_os_perf *created = calloc(1, sizeof(*created));
	*coverage = (struct sn_os_coverage){0};
	if (!created)
		return sn_fail_memory(error);
	created->options = *options;
	created->coverage = coverage;
	created->pid = pid;
	created->cpu_count = cpus > 0 ? (uint32_t)cpus : 1;
	created->is_privileged = may_see_kernel(options->is_wide ? 0 : pid);
	created->rings = calloc(created->cpu_count, sizeof(*created->rings));
	created->polled = calloc(created->cpu_count + 1ull, sizeof(*created->polled));
	int status = created->rings && created->polled ? 0 : sn_fail_memory(error);
	for (uint32_t cpu = 0; !status && cpu <= created->cpu_count; cpu++)
		created->polled[cpu].fd = -1;
	sn_allow_descriptors();
	if (!status)
		status = open_all(created, error);
	if (status) {
		sn_os_perf_close(created);
		return status;
	}
	created->coverage = NULL; /* it is the caller's, and may be gone later */
	*perf = created;
	return 0;
}

void sn_os_perf_close(struct sn_os_perf *perf)
{
	if (!perf)
		return;
	for (uint32_t cpu = 0; perf->rings && cpu < perf->cpu_count; cpu++)
		sn_ring_unmap(perf->rings + cpu);
	for (size_t i = 0; i < perf->event_count; i++)
		close(perf->events[i].fd);
	free(perf->events);
	sn_table_release(&perf->kinds);
	free(perf->rings);
	free(perf->polled);
	free(perf);
}

void sn_os_perf_disable(struct sn_os_perf *perf)
{
	for (size_t i = 0; i < perf->event_count; i++)
		ioctl(perf->events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* ---- reading ---- */

void sn_os_perf_wait(struct sn_os_perf *perf, int wake_fd, int timeout_ms)
{
	perf->polled[perf->cpu_count] = (struct pollfd){.fd = wake_fd, .events = POLLIN};
	poll(perf->polled, perf->cpu_count + 1, timeout_ms);
	for (uint32_t cpu = 0; cpu < perf->cpu_count; cpu++)
		if (perf->polled[cpu].revents & (POLLHUP | POLLERR))
			perf->polled[cpu].fd = -1; /* its threads have ended: poll would not wait */
}

struct reading {
	struct sn_os_perf *perf;
	void (*handle)(void *context, const struct sn_os_event *event);
	void *context;
};

static bool is_fault(void *context, uint64_t id)
{
	const struct reading *reading = context;
	uint32_t kind = kind_of(reading->perf, id);
	return kind == SN_OS_FAULT_MINOR || kind == SN_OS_FAULT_MAJOR;
}

static void handle_record(void *context, struct sn_ring *ring)
{
	const struct reading *reading = context;
	struct sn_os_perf *perf = reading->perf;
	const struct sn_perf_record *record = &ring->record;
	struct sn_os_event event;
	uint32_t kind = kind_of(perf, record->id);
	bool is_known;
	if (record->type == PERF_RECORD_SAMPLE && kind < SN_OS_TRACEPOINTS)
		is_known = sn_os_decode_sample(perf->layouts + kind, (enum sn_os_event_kind)kind,
					       record, &event);
	else
		is_known = kind <= KIND_DUMMY &&
			   sn_os_decode_record((enum sn_os_event_kind)kind, record, &event);
	if (!is_known) {
		perf->unknown += record->type == PERF_RECORD_SAMPLE;
		return;
	}
	if (event.kind == SN_OS_LOST)
		event.value = (int64_t)ring->last_ns;
	reading->handle(reading->context, &event);
}

void sn_os_perf_read(struct sn_os_perf *perf, uint64_t until_ns,
		     void (*handle)(void *context, const struct sn_os_event *event), void *context)
{
	struct reading reading = {perf, handle, context};
	sn_rings_read(perf->rings, perf->cpu_count, until_ns, is_fault, handle_record, &reading);
}

uint64_t sn_os_perf_damaged(const struct sn_os_perf *perf)
{
	uint64_t damaged = perf->unknown;
	for (uint32_t cpu = 0; cpu < perf->cpu_count; cpu++)
		damaged += perf->rings[cpu].damaged;
	return damaged;
}
