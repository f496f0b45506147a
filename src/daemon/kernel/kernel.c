/* SPDX-License-Identifier: Apache-2.0 */
/* See kernel.h. */
#include "kernel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* sampler.bpf.c as it was compiled. */
extern const char sn_sampler_object[];
extern const unsigned sn_sampler_object_bytes;

enum {
	NANOSECONDS = 1000000000,
	VARIES_BY = 16, /* a period by at most this part of it, up or down */
	STACK_ROOM_LEAST = 1 << 20,
	STACK_ROOM_OF_WAITS = 1 << 22, /* of 5,000 threads, which are sent at once at each flush */
	STACK_ROOM_MOST = 1 << 26,
	STACK_ROOM_OF_PROCESSOR = 1 << 18,
	WAITING_MOST = 1 << 16, /* threads; of more, some are told anew each time */
};

struct sn_kernel {
	struct bpf_object *object;
	struct ring_buffer *announcements, *stacks;
	const struct sn_kernel_taker *taker;		 /* while pairs are told */
	const struct sn_kernel_stack_taker *stack_taker; /* while stacks are taken */
	struct bpf_link *waits; /* the program that sees them; NULL: there is none */
	int program, pairs;
	char *counts; /* of each processor, count_bytes apart */
	size_t count_bytes, mapped_bytes;
	struct sn_counts_control *control;
	int *event; /* of each processor; -1: none */
	unsigned processors, running;
	bool is_cycles;
	uint64_t period, random;
	unsigned stack_rate;
	bool sees_waits, sends;			  /* the latter: samples or waits with callers */
	struct sn_pair (*told)[SN_PAIRS_OF_TURN]; /* of each turn's half, by number */
	bool may_turn; /* all counts of the turn before have been taken */
	int timing;    /* a descriptor while programs are timed, or -1 */
	uint64_t timed_ns, timed_runs;
};

static struct sn_counts *counts_of(const struct sn_kernel *kernel, unsigned processor)
{
	return (struct sn_counts *)(kernel->counts + processor * kernel->count_bytes);
}

/* ---- the program ---- */

static int no_message(enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level, (void)format, (void)arguments;
	return 0;
}

static int explain_load(struct sn_error *error, int code)
{
	if (code == -EPERM || code == -EACCES)
		return sn_fail(error, SN_ERR_UNSUPPORTED,
			       "the kernel refuses BPF programs here (%s): it needs CAP_BPF and "
			       "CAP_PERFMON, or root, and a kernel that is not locked down",
			       strerror(-code));
	if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
		return sn_fail(error, SN_ERR_UNSUPPORTED,
			       "the kernel does not tell its types (/sys/kernel/btf/vmlinux): it "
			       "needs CONFIG_DEBUG_INFO_BTF");
	return sn_fail(error, SN_ERR_UNSUPPORTED,
		       "the kernel does not take the BPF program (%s): it needs Linux 6.1 or later",
		       strerror(-code));
}

static void *map_memory(struct bpf_map *map, size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static int map_maps(struct sn_kernel *kernel, struct sn_error *error)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	kernel->count_bytes =
	    (sizeof(struct sn_counts) + 7) & ~(size_t)7; /* as the kernel aligns values */
	kernel->mapped_bytes = (kernel->count_bytes * kernel->processors + page - 1) & ~(page - 1);
	kernel->counts = map_memory(bpf_object__find_map_by_name(kernel->object, "counts"),
				    kernel->mapped_bytes);
	kernel->control = map_memory(bpf_object__find_map_by_name(kernel->object, "control"),
				     sizeof(*kernel->control));
	if (!kernel->counts || !kernel->control)
		return sn_fail(error, SN_ERR_IO, "mapping the kernel's counts: %s",
			       strerror(errno));
	return 0;
}

static int on_announced(void *context, void *data, size_t bytes)
{
	struct sn_kernel *kernel = context;
	const struct sn_announced *told = data;
	if (bytes < sizeof(*told) || told->number >= SN_PAIR_NUMBERS)
		return 0;
	kernel->told[told->number / SN_PAIR_TURN_BIT]
		    [told->number % SN_PAIR_TURN_BIT % SN_PAIRS_OF_TURN] = told->pair;
	return kernel->taker->pair(kernel->taker->context, told);
}

static int on_stack(void *context, void *data, size_t bytes)
{
	struct sn_kernel *kernel = context;
	const struct sn_kernel_stack_taker *taker = kernel->stack_taker;
	const struct sn_still_waiting *still = data;
	if (bytes == sizeof(*still))
		return taker->still(taker->context, still->tid);
	return bytes < offsetof(struct sn_stack_sample, stack) ? 0
							       : taker->stack(taker->context, data);
}

/* Room for some stacks of each processor, a power of two. */
static uint32_t stack_room(const struct sn_kernel *kernel)
{
	uint32_t bytes = kernel->sees_waits ? STACK_ROOM_OF_WAITS : STACK_ROOM_LEAST;
	while (bytes < STACK_ROOM_MOST && bytes < kernel->processors * STACK_ROOM_OF_PROCESSOR)
		bytes *= 2;
	return bytes;
}

static int read_rings(struct sn_kernel *kernel, struct sn_error *error)
{
	kernel->announcements =
	    ring_buffer__new(bpf_object__find_map_fd_by_name(kernel->object, "announced"),
			     on_announced, kernel, NULL);
	if (kernel->sends)
		kernel->stacks =
		    ring_buffer__new(bpf_object__find_map_fd_by_name(kernel->object, "stacks"),
				     on_stack, kernel, NULL);
	if (!kernel->announcements || (kernel->sends && !kernel->stacks))
		return sn_fail(error, SN_ERR_IO, "reading what the BPF program tells: %s",
			       strerror(errno));
	return 0;
}

static int attach_waits(struct sn_kernel *kernel, struct sn_error *error)
{
	kernel->waits = bpf_program__attach_iter(
	    bpf_object__find_program_by_name(kernel->object, "see_thread"), NULL);
	return kernel->waits
		   ? 0
		   : sn_fail(error, SN_ERR_UNSUPPORTED,
			     "looking for threads that wait: %s: it needs an iterator of BPF over "
			     "threads",
			     strerror(errno));
}

static int load(struct sn_kernel *kernel, struct sn_error *error)
{
	libbpf_set_print(no_message);
	kernel->object = bpf_object__open_mem(sn_sampler_object, sn_sampler_object_bytes, NULL);
	if (!kernel->object)
		return sn_fail(error, SN_ERR_IO, "opening the BPF program: %s", strerror(errno));
	bpf_map__set_max_entries(bpf_object__find_map_by_name(kernel->object, "counts"),
				 kernel->processors);
	if (kernel->sends)
		bpf_map__set_max_entries(bpf_object__find_map_by_name(kernel->object, "stacks"),
					 stack_room(kernel));
	bpf_program__set_autoload(bpf_object__find_program_by_name(kernel->object, "see_thread"),
				  kernel->sees_waits);
	if (kernel->sees_waits)
		bpf_map__set_max_entries(bpf_object__find_map_by_name(kernel->object, "waits"),
					 WAITING_MOST);
	int code = bpf_object__load(kernel->object);
	if (code != 0)
		return explain_load(error, code);
	kernel->program =
	    bpf_program__fd(bpf_object__find_program_by_name(kernel->object, "sample"));
	kernel->pairs = bpf_object__find_map_fd_by_name(kernel->object, "pairs");
	int result = read_rings(kernel, error);
	if (!result && kernel->sees_waits)
		result = attach_waits(kernel, error);
	return result ? result : map_maps(kernel, error);
}

/* ---- events ---- */

/* Cycles a second of the fastest processor; 0: not known. */
static uint64_t highest_frequency(void)
{
	unsigned long long khz = 0;
	double mhz = 0;
	FILE *file = fopen("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "re");
	if (file && fscanf(file, "%llu", &khz) != 1)
		khz = 0;
	if (file)
		fclose(file);
	file = khz ? NULL : fopen("/proc/cpuinfo", "re");
	char line[256];
	while (file && mhz == 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "cpu MHz : %lf", &mhz) != 1)
			mhz = 0;
	if (file)
		fclose(file);
	return khz ? khz * 1000 : (uint64_t)(mhz * 1e6);
}

static int open_event(const struct sn_kernel *kernel, unsigned processor, bool cycles)
{
	struct perf_event_attr attr = {.size = sizeof(attr), .sample_period = kernel->period};
	attr.type = cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
	attr.config = cycles ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK;
	return (int)syscall(SYS_perf_event_open, &attr, -1, (int)processor, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

static void set_period(struct sn_kernel *kernel, unsigned rate)
{
	kernel->period = (kernel->is_cycles ? highest_frequency() : NANOSECONDS) / rate;
}

/* Which samples have their callers: at most all. Of another rate it is the same part, so that callers cost less when samples do. */
static void set_stacks(struct sn_kernel *kernel, unsigned rate)
{
	unsigned wanted = kernel->stack_rate < rate ? kernel->stack_rate : rate;
	kernel->control->stack_every = wanted ? (rate + wanted / 2) / wanted : 0;
}

/* Whether the machine counts cycles, of which samples need no interrupt of a timer. */
static void choose_event(struct sn_kernel *kernel, unsigned rate)
{
	kernel->is_cycles = highest_frequency() >= 1000000;
	set_period(kernel, rate);
	int event = kernel->is_cycles ? open_event(kernel, 0, true) : -1;
	kernel->is_cycles = event >= 0;
	if (event >= 0)
		close(event);
	set_period(kernel, rate);
}

/* Samples a processor; those that are off have no event, which is no failure. 0 or an errno. */
static int start_processor(struct sn_kernel *kernel, unsigned processor)
{
	int event = open_event(kernel, processor, kernel->is_cycles);
	if (event < 0)
		return errno == ENODEV || errno == ENXIO ? 0 : errno;
	if (ioctl(event, PERF_EVENT_IOC_SET_BPF, kernel->program) != 0) {
		int code = errno;
		close(event);
		return code;
	}
	kernel->event[processor] = event;
	kernel->running++;
	return 0;
}

static int start_events(struct sn_kernel *kernel, struct sn_error *error)
{
	for (unsigned processor = 0; processor < kernel->processors; processor++) {
		int code = kernel->event[processor] < 0 ? start_processor(kernel, processor) : 0;
		if (code != 0)
			return sn_fail(error, SN_ERR_UNSUPPORTED, "sampling processor %u: %s",
				       processor, strerror(code));
	}
	return 0;
}

/* xorshift64: it need not be good, only not periodic. */
static uint64_t next_random(struct sn_kernel *kernel)
{
	kernel->random ^= kernel->random << 13;
	kernel->random ^= kernel->random >> 7;
	kernel->random ^= kernel->random << 17;
	return kernel->random;
}

void sn_kernel_vary_period(struct sn_kernel *kernel)
{
	uint64_t most = kernel->period / VARIES_BY;
	for (unsigned processor = 0; processor < kernel->processors; processor++) {
		uint64_t period = kernel->period - most + next_random(kernel) % (2 * most + 1);
		if (kernel->event[processor] >= 0)
			ioctl(kernel->event[processor], PERF_EVENT_IOC_PERIOD, &period);
	}
}

void sn_kernel_set_rate(struct sn_kernel *kernel, unsigned rate)
{
	set_period(kernel, rate);
	start_events(kernel, NULL);
	sn_kernel_vary_period(kernel);
}

/* ---- taking ---- */

static int take_entry(const struct sn_kernel_taker *taker, uint64_t entry)
{
	return taker->count(taker->context, (uint32_t)(entry >> 48), (uint32_t)(entry >> 16),
			    (uint32_t)entry & SN_COUNTS_MOST);
}

static int take_log(struct sn_counts *counts, const struct sn_kernel_taker *taker)
{
	uint64_t head = __atomic_load_n(&counts->log_head, __ATOMIC_ACQUIRE),
		 tail = counts->log_tail;
	int result = 0;
	for (; !result && tail < head; tail++)
		result = take_entry(taker, counts->log[tail % SN_COUNTS_LOG]);
	__atomic_store_n(&counts->log_tail, tail, __ATOMIC_RELEASE);
	return result;
}

/* The entry with its count, which is 0 from now on. */
static uint64_t take_count(uint64_t *entry)
{
	uint64_t found = __atomic_load_n(entry, __ATOMIC_RELAXED);
	while (found & SN_COUNTS_MOST &&
	       !__atomic_compare_exchange_n(entry, &found, found & ~(uint64_t)SN_COUNTS_MOST, false,
					    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
	return found;
}

static int take_table(struct sn_counts *counts, const struct sn_kernel_taker *taker)
{
	int result = 0;
	for (size_t i = 0; !result && i < SN_COUNTS_BUCKETS * SN_COUNTS_WAYS; i++) {
		uint64_t entry = take_count(&counts->table[i]);
		if (entry & SN_COUNTS_MOST)
			result = take_entry(taker, entry);
	}
	return result;
}

/* Begins a turn, and frees the kernel's memory of the one before the last. Its half. */
static int turn(struct sn_kernel *kernel)
{
	uint64_t before = __atomic_load_n(&kernel->control->numbers, __ATOMIC_RELAXED) >> 32;
	uint64_t next = before + 1, half = next & 1;
	for (uint32_t i = 0; i < SN_PAIRS_OF_TURN; i++) {
		struct sn_pair *pair = &kernel->told[half][i];
		if (pair->kind)
			bpf_map_delete_elem(kernel->pairs, pair);
		*pair = (struct sn_pair){0};
	}
	__atomic_store_n(&kernel->control->numbers, next << 32, __ATOMIC_SEQ_CST);
	kernel->may_turn = false;
	return (int)half;
}

int sn_kernel_take(struct sn_kernel *kernel, bool whole, const struct sn_kernel_taker *taker,
		   int *begun)
{
	int result = 0;
	for (unsigned i = 0; !result && i < kernel->processors; i++) {
		struct sn_counts *counts = counts_of(kernel, i);
		result = take_log(counts, taker);
		if (!result && whole)
			result = take_table(counts, taker);
	}
	/* after the counts: a pair is told before it is counted */
	kernel->taker = taker;
	int told = ring_buffer__consume(kernel->announcements);
	*begun = -1;
	if (result || told < 0)
		return result ? result : told;
	if (whole && kernel->may_turn &&
	    (uint32_t)kernel->control->numbers > kernel->control->pairs_of_turn / 2) {
		*begun = turn(kernel);
	} else if (whole) {
		kernel->may_turn = true;
	}
	return 0;
}

int sn_kernel_stacks_fd(const struct sn_kernel *kernel)
{
	return kernel->stacks ? ring_buffer__epoll_fd(kernel->stacks) : -1;
}

int sn_kernel_take_stacks(struct sn_kernel *kernel, const struct sn_kernel_stack_taker *taker)
{
	kernel->stack_taker = taker;
	int taken = kernel->stacks ? ring_buffer__consume(kernel->stacks) : 0;
	return taken < 0 ? taken : 0;
}

/* The program runs for each thread while its file, which stays empty, is read. */
int sn_kernel_look_for_waits(struct sn_kernel *kernel, bool anew, uint64_t weight)
{
	char nothing[8];
	ssize_t got;
	kernel->control->wait_round += anew;
	kernel->control->wait_weight = weight;
	int file = bpf_iter_create(bpf_link__fd(kernel->waits));
	if (file < 0)
		return SN_ERR_IO;
	do
		got = read(file, nothing, sizeof(nothing));
	while (got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN)));
	close(file);
	return got < 0 ? SN_ERR_IO : 0;
}

uint64_t sn_kernel_waits_lost(const struct sn_kernel *kernel)
{
	return __atomic_load_n(&kernel->control->waits_lost, __ATOMIC_RELAXED);
}

void sn_kernel_sum(const struct sn_kernel *kernel, struct sn_kernel_sums *sums)
{
	*sums = (struct sn_kernel_sums){0};
	for (unsigned i = 0; i < kernel->processors; i++) {
		const struct sn_counts *counts = counts_of(kernel, i);
		for (int fate = 0; fate < SN_FATES; fate++)
			sums->fates[fate] += __atomic_load_n(&counts->fate[fate], __ATOMIC_RELAXED);
		sums->hits += __atomic_load_n(&counts->hits, __ATOMIC_RELAXED);
		sums->stacks += __atomic_load_n(&counts->stacks, __ATOMIC_RELAXED);
		sums->walks += __atomic_load_n(&counts->walks, __ATOMIC_RELAXED);
	}
}

/* ---- what it costs ---- */

static bool read_times(const struct sn_kernel *kernel, uint64_t *ns, uint64_t *runs)
{
	struct bpf_prog_info info = {0};
	uint32_t bytes = sizeof(info);
	if (bpf_obj_get_info_by_fd(kernel->program, &info, &bytes) != 0)
		return false;
	*ns = info.run_time_ns;
	*runs = info.run_cnt;
	return true;
}

void sn_kernel_begin_timing(struct sn_kernel *kernel)
{
	if (kernel->timing < 0 && read_times(kernel, &kernel->timed_ns, &kernel->timed_runs))
		kernel->timing = bpf_enable_stats(BPF_STATS_RUN_TIME);
}

double sn_kernel_end_timing(struct sn_kernel *kernel)
{
	uint64_t ns = 0, runs = 0;
	if (kernel->timing < 0)
		return 0;
	bool known = read_times(kernel, &ns, &runs);
	close(kernel->timing);
	kernel->timing = -1;
	return known && runs > kernel->timed_runs
		   ? (double)(ns - kernel->timed_ns) / (double)(runs - kernel->timed_runs)
		   : 0;
}

/* ---- the object ---- */

static int start(struct sn_kernel *kernel, const struct sn_kernel_options *options,
		 struct sn_error *error)
{
	int processors = libbpf_num_possible_cpus();
	if (processors <= 0)
		return sn_fail(error, SN_ERR_IO, "the number of processors is not known: %s",
			       strerror(-processors));
	kernel->processors = (unsigned)processors;
	kernel->timing = -1;
	kernel->stack_rate = options->stack_rate;
	kernel->sees_waits = options->sees_waits;
	kernel->sends = options->stack_rate || options->sees_waits;
	kernel->event = malloc(kernel->processors * sizeof(*kernel->event));
	kernel->told = calloc(2, sizeof(*kernel->told));
	if (!kernel->event || !kernel->told)
		return sn_fail_memory(error);
	memset(kernel->event, -1, kernel->processors * sizeof(*kernel->event));
	int result = load(kernel, error);
	if (result)
		return result;
	kernel->control->by_process = options->by_process;
	kernel->control->pairs_of_turn =
	    options->pairs_of_turn ? options->pairs_of_turn : SN_PAIRS_OF_TURN;
	kernel->random = 0x9e3779b97f4a7c15 ^ (uint64_t)getpid();
	choose_event(kernel, options->rate);
	set_stacks(kernel, options->rate);
	return start_events(kernel, error);
}

int sn_kernel_open(const struct sn_kernel_options *options, struct sn_kernel **kernel,
		   struct sn_error *error)
{
	struct sn_kernel *made = calloc(1, sizeof(*made));
	int result = made ? start(made, options, error) : sn_fail_memory(error);
	if (result)
		sn_kernel_close(made);
	else
		*kernel = made;
	return result;
}

void sn_kernel_close(struct sn_kernel *kernel)
{
	if (!kernel)
		return;
	if (kernel->timing > 0)
		close(kernel->timing);
	for (unsigned i = 0; kernel->event && i < kernel->processors; i++)
		if (kernel->event[i] >= 0)
			close(kernel->event[i]);
	if (kernel->counts)
		munmap(kernel->counts, kernel->mapped_bytes);
	if (kernel->control)
		munmap(kernel->control, sizeof(*kernel->control));
	ring_buffer__free(kernel->announcements);
	ring_buffer__free(kernel->stacks);
	bpf_link__destroy(kernel->waits);
	bpf_object__close(kernel->object);
	free(kernel->event);
	free(kernel->told);
	free(kernel);
}

const char *sn_kernel_event(const struct sn_kernel *kernel)
{
	return kernel->is_cycles ? "cycles" : "cpu-clock";
}

uint64_t sn_kernel_period(const struct sn_kernel *kernel)
{
	return kernel->period;
}

unsigned sn_kernel_processors(const struct sn_kernel *kernel)
{
	return kernel->running;
}
