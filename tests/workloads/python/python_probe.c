/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library to preload into a Python program: walks the Python frames of the thread that a signal
 * interrupts and keeps what it found, for the program to fetch and to compare with what the
 * interpreter itself says. The functions that begin with probe_ are called by ctypes or dlsym.
 */
#include "collect/core/adapter.h"
#include "python_probe.h"

#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define DEPTH	  1024
#define SET_MAX	  65536
#define CODES_MAX 16384

extern const struct sn_adapter sn_adapter_python;

struct code {
	char file[256], name[128];
	uint32_t first_line;
};

/* One table for all threads: the probe's code indices. Guarded by the lock below. */
static struct code *codes;
static uint32_t code_count;
static struct set {
	uint64_t keys[SET_MAX]; /* open addressing, key + 1 */
	uint32_t times[SET_MAX];
	uint32_t count;
} places, calls;
static atomic_flag lock = ATOMIC_FLAG_INIT;
static _Atomic uint64_t walks, failed, empty, busy, frames_seen, deepest, pairs[3];

static _Atomic uint64_t steps_left;
static char last[1 << 20];
static size_t last_bytes;
static int last_evals;
static _Atomic bool keep_last;
static __thread struct sn_thread *thread_of_mine __attribute__((tls_model("initial-exec")));

uint32_t sn_cct_code(struct sn_cct *cct, const char *file, size_t file_length, const char *name,
		     size_t name_length, uint32_t first_line)
{
	struct code code = {.first_line = first_line};
	uint32_t i;

	memcpy(code.file, file, file_length < 255 ? file_length : 255);
	memcpy(code.name, name, name_length < 127 ? name_length : 127);
	for (i = 0; i < code_count; i++)
		if (memcmp(&codes[i], &code, sizeof(code)) == 0)
			return i;
	if (i == CODES_MAX)
		return SN_ID_NONE;
	codes[code_count++] = code;
	return i;
}

static struct sn_thread *my_thread(void)
{
	if (!thread_of_mine) {
		void *pages = mmap(NULL, sizeof(struct sn_thread), PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		thread_of_mine = pages == MAP_FAILED ? NULL : pages;
	}
	return thread_of_mine;
}

static void keep_key(struct set *set, uint64_t key)
{
	uint32_t slot = (uint32_t)(++key * 0x9e3779b97f4a7c15u >> 48) % SET_MAX;

	while (set->keys[slot] && set->keys[slot] != key)
		slot = (slot + 1) % SET_MAX;
	if (set->keys[slot] == 0 && set->count < SET_MAX / 2) {
		set->keys[slot] = key;
		set->count++;
	}
	set->times[slot] += set->keys[slot] == key;
}

/* Each frame's place, and who called whom from where. */
static void keep_frames(const struct sn_python_frame *frames, int count)
{
	for (int i = 0; i < count; i++) {
		keep_key(&places, (uint64_t)frames[i].code << 32 | frames[i].line);
		if (i + 1 < count)
			keep_key(&calls, (uint64_t)frames[i + 1].code << 48 |
					     (uint64_t)(frames[i + 1].line & 0xffffffff) << 16 |
					     frames[i].code);
	}
	frames_seen += (uint64_t)count;
}

/* How many native frames of the evaluation loop the interrupted thread has. */
static int count_evals(void)
{
	static void *addresses[4 * DEPTH];
	int count = backtrace(addresses, 4 * DEPTH), evals = 0;

	for (int i = 0; i < count; i++)
		evals += sn_python_is_eval((uintptr_t)addresses[i]);
	return evals;
}

/*
 * Entry frames against native evaluation frames. While the interpreter enters or leaves one, the
 * one it is about to run, or has run, is on one of the stacks only; a larger difference is an
 * error.
 */
static void keep_pairing(const struct sn_python_frame *frames, int count)
{
	int difference = -count_evals();

	for (int i = 0; i < count; i++)
		difference += frames[i].is_entry;
	difference = abs(difference);
	pairs[difference < 2 ? difference : 2]++;
}

static void keep_text(const struct sn_python_frame *frames, int count)
{
	last_bytes = 0;
	for (int i = 0; i < count && last_bytes < sizeof(last) - 1024; i++) {
		const struct code *code = &codes[frames[i].code];
		last_bytes += (size_t)snprintf(last + last_bytes, 1024, "%s\t%s\t%u\t%u\t%d\n",
					       code->file, code->name, code->first_line,
					       frames[i].line, frames[i].is_entry);
	}
	last[last_bytes] = 0;
}

static void handle(int number, siginfo_t *info, void *context)
{
	static __thread struct sn_python_frame frames[DEPTH]
	    __attribute__((tls_model("initial-exec")));
	int saved = errno;

	if (atomic_flag_test_and_set(&lock)) {
		busy++;
		errno = saved;
		return;
	}
	struct sn_thread *thread = my_thread();
	int count = sn_python_walk(thread, frames, DEPTH);
	walks++;
	if (count < 0)
		failed++;
	else if (count == 0)
		empty++;
	if (count > 0 && (uint64_t)count > deepest)
		deepest = (uint64_t)count;
	if (count > 0)
		keep_frames(frames, count);
	/* when stepping, not at every instruction: unwinding costs more than all the rest */
	if (count > 0 && count < DEPTH && steps_left % 8 == 0)
		keep_pairing(frames, count);
	if (keep_last) {
		keep_text(frames, count);
		last_evals = count_evals();
		keep_last = false;
	}
	atomic_flag_clear(&lock);
	errno = saved;
}

/* --- for the program --- */

int probe_attach(void)
{
	probe_modules_read();
	return sn_adapter_python.attach();
}

const char *probe_status(void)
{
	return sn_adapter_python.status();
}

void probe_install(int number)
{
	struct sigaction action = {.sa_sigaction = handle,
				   .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};

	sigaction(number, &action, NULL);
}

/* Raises the signal in this thread; the frames found, as text. */
const char *probe_raise(int number)
{
	keep_last = true;
	raise(number);
	return last;
}

/* The next signal handled, in any thread, keeps its frames as text. */
void probe_forget(void)
{
	last[0] = 0;
	keep_last = true;
}

/* The native evaluation frames that were there when the last text was kept. */
int probe_last_evals(void)
{
	return last_evals;
}

const char *probe_last(void)
{
	return last;
}

static _Atomic bool stressing;
static pthread_t sender;
static int stress_signal;
static unsigned stress_period_us;

static void signal_all(unsigned *seed)
{
	DIR *tasks = opendir("/proc/self/task");
	int self = (int)syscall(SYS_gettid);

	for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
		int tid = atoi(entry->d_name);
		if (tid > 0 && tid != self)
			syscall(SYS_tgkill, getpid(), tid, stress_signal);
	}
	if (tasks)
		closedir(tasks);
	unsigned wait_us = stress_period_us / 2 + (unsigned)rand_r(seed) % stress_period_us;
	struct timespec wait = {0, (long)wait_us * 1000 + rand_r(seed) % 1000};
	nanosleep(&wait, NULL);
}

static void *send_signals(void *unused)
{
	unsigned seed = 12345;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	while (stressing)
		signal_all(&seed);
	return NULL;
}

void probe_stress_begin(int number, unsigned period_us)
{
	stress_signal = number;
	stress_period_us = period_us;
	stressing = true;
	pthread_create(&sender, NULL, send_signals, NULL);
}

void probe_stress_end(void)
{
	stressing = false;
	pthread_join(sender, NULL);
}

/* Everything found, one (file, name, first line, line) a line; to be freed. */
char *probe_found(void)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	fprintf(out, "%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\n", walks, failed, empty, busy,
		frames_seen, deepest, pairs[0], pairs[1], pairs[2]);
	for (uint32_t i = 0; i < SET_MAX; i++) {
		if (!places.keys[i])
			continue;
		const struct code *code = &codes[(places.keys[i] - 1) >> 32];
		fprintf(out, "%s\t%s\t%u\t%u\n", code->file, code->name, code->first_line,
			(uint32_t)(places.keys[i] - 1));
	}
	fclose(out);
	return text;
}

/* Every call seen: the caller's file, name, first line and line, the callee's file, name, first
 * line. */
char *probe_calls(void)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	for (uint32_t i = 0; i < SET_MAX; i++) {
		uint64_t key = calls.keys[i] - 1;
		if (!calls.keys[i])
			continue;
		const struct code *caller = &codes[key >> 48], *callee = &codes[key & 0xffff];
		fprintf(out, "%s\t%s\t%u\t%u\t%s\t%s\t%u\t%u\n", caller->file, caller->name,
			caller->first_line, (uint32_t)(key >> 16), callee->file, callee->name,
			callee->first_line, calls.times[i]);
	}
	fclose(out);
	return text;
}

/* The processor's trap flag stops after each instruction, so that every state there is, is met. */
static void step(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	if (steps_left && --steps_left) {
		handle(number, info, context);
		interrupted->uc_mcontext.gregs[REG_EFL] |= 0x100;
	} else {
		interrupted->uc_mcontext.gregs[REG_EFL] &= ~0x100;
	}
}

/* From here on walks after each instruction of this thread, `steps` times or until the end. */
void probe_step_begin(uint64_t steps)
{
	struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};

	sigaction(SIGTRAP, &action, NULL);
	steps_left = steps;
	__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
}

uint64_t probe_step_end(void)
{
	uint64_t left = steps_left;

	steps_left = 0;
	return left;
}

/* The frames of this thread as a hook tells them apart. */
uint64_t probe_fingerprint(void)
{
	struct sn_thread *thread = my_thread();

	return sn_python_fingerprint(thread, sn_python_innermost(thread));
}

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Nanoseconds of CPU for one walk of this thread, and its frames, when everything is warm. */
double probe_time(int rounds, int *count)
{
	static struct sn_python_frame frames[DEPTH];
	struct sn_thread *thread = my_thread();

	for (int i = 0; i < 10; i++)
		*count = sn_python_walk(thread, frames, DEPTH);
	double begin = cpu_ns();
	for (int i = 0; i < rounds; i++)
		sn_python_walk(thread, frames, DEPTH);
	return (cpu_ns() - begin) / rounds;
}

/* The same of one fingerprint. */
double probe_fingerprint_time(int rounds)
{
	for (int i = 0; i < 10; i++)
		probe_fingerprint();
	double begin = cpu_ns();
	for (int i = 0; i < rounds; i++)
		probe_fingerprint();
	return (cpu_ns() - begin) / rounds;
}

__attribute__((constructor)) static void begin(void)
{
	codes = mmap(NULL, sizeof(struct code) * CODES_MAX, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* the first backtrace loads the unwinder, which no handler may do */
	backtrace((void *[1]){NULL}, 1);
	probe_attach();
}
