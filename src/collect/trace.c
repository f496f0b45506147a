/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace file's chunks and who fills them; see trace.h.
 *
 * Chunks are taken in the order of their places. Once the file has reached its limit the place next
 * to the one taken last is the oldest: it is taken if its owner has filled it, else the one behind
 * it. `places` says which are filled. A thread keeps its chunk when it ends, for the next thread
 * that continues its record.
 */
#include "trace.h"

#include "intercept.h"
#include "line.h"
#include "own_file.h"
#include "own_stack.h"
#include "property.h"

#include "format/checksum.h"
#include "format/trace_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_SOURCES	    "samples,operators,api,gpu,regions,messages"
#define DEFAULT_LIMIT_BYTES (1ull << 30)
/* Fewer would be taken from each other by a handful of threads. */
#define LEAST_CHUNKS	    16u
#define MOST_CHUNKS	    (1u << 24)
/* How long somebody who defines something is waited for. */
#define DEFINE_TRIES	    200u
#define DEFINE_PAUSE_NS	    5000
/* Where there is no space, until it is asked for again. */
#define RETRY_NS	    100000000u

_Atomic unsigned sn_trace_active;
static _Atomic bool has_ended;

static struct {
	unsigned sources;
	uint64_t limit_chunks; /* 0: none */
	uint64_t window_start_ns, window_end_ns;
	bool is_paused; /* as it begins */
} config;

static struct {
	struct sn_own_file own;
	uint64_t name_ns;	/* of the measurement file */
	unsigned char *page;	/* the header, mapped; NULL: there is no file yet */
	bool has_failed;	/* there will be none */
	_Atomic uint64_t taken; /* chunks ever taken, event or not */
	_Atomic uint64_t sequence;
	_Atomic uint8_t *places; /* [limit_chunks]: 1 filled, may be taken; NULL without a limit */
	struct sn_trace_cursor definitions;
	uint32_t stream_count;
} file = {.own.fd = -1};

static _Atomic int defining;
static _Atomic uint32_t generation;
/* Cleared by the kernel in a child that came by no fork() of the C library: what such a child
 * recorded would go into its parent's file. */
static _Atomic uint8_t *is_ours;

static const struct {
	const char *name, *unit;
} keys[SN_TRACE_KEY_COUNT] = {
    [SN_TRACE_KEY_BYTES] = {"bytes", "bytes"},
    [SN_TRACE_KEY_QUEUED] = {"queued", "ns"},
    [SN_TRACE_KEY_SUBMITTED] = {"submitted", "ns"},
    [SN_TRACE_KEY_WORK_ITEMS] = {"work-items", "items"},
    [SN_TRACE_KEY_WORK_GROUP] = {"work-group", "items"},
    [SN_TRACE_KEY_SEQUENCE] = {"sequence", ""},
    [SN_TRACE_KEY_PEER] = {"peer", ""},
    [SN_TRACE_KEY_TAG] = {"tag", ""},
    [SN_TRACE_KEY_ALLOCATED] = {"allocated", "bytes"},
    [SN_TRACE_KEY_RELEASED] = {"released", "bytes"},
    [SN_TRACE_KEY_MESSAGE] = {"message", ""},
    [SN_TRACE_KEY_COMMUNICATOR] = {"communicator", ""},
    [SN_TRACE_KEY_GROUP] = {"group", ""},
    [SN_TRACE_KEY_RANK] = {"communicator-rank", ""},
    [SN_TRACE_KEY_POSTED] = {"posted", "ns"},
    [SN_TRACE_KEY_ORDER] = {"order", ""},
    [SN_TRACE_KEY_REQUEST] = {"request", ""},
    [SN_TRACE_KEY_COLLECTIVE] = {"collective", ""},
    [SN_TRACE_KEY_ACCESS] = {"access", ""},
};
#define ATTRIBUTE_UNSIGNED 1u /* enum sonde_attribute_type */

static const struct {
	const char *name, *unit;
	enum sn_metric_kind kind;
} counters[SN_TRACE_COUNTER_COUNT] = {
    [SN_TRACE_TENSOR_MEMORY] = {"tensor-memory", "bytes", SN_METRIC_BYTES},
};

/* ---- what is asked for ---- */

static unsigned parse_sources(const char *list)
{
	static const char *const names[] = {"samples", "operators", "api",     "gpu",
					    "regions", "memory",    "messages"};
	unsigned sources = 0;
	while (*list) {
		size_t length = strcspn(list, ",");
		for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
			if (strlen(names[i]) == length && !memcmp(names[i], list, length))
				sources |= 1u << i;
		list += length + (list[length] == ',');
	}
	return sources;
}

/* START:LENGTH in milliseconds since the process began; LENGTH 0 is until its end. */
static void parse_window(const char *text)
{
	char *end;
	uint64_t now_ns = sn_now_ns();
	uint64_t start_ms = strtoull(text, &end, 10);
	uint64_t length_ms = *end == ':' ? strtoull(end + 1, NULL, 10) : 0;
	config.window_start_ns = now_ns + start_ms * 1000000u;
	config.window_end_ns =
	    length_ms ? config.window_start_ns + length_ms * 1000000u : UINT64_MAX;
}

static void parse_limit(const char *text)
{
	uint64_t bytes = text && *text ? strtoull(text, NULL, 10) : DEFAULT_LIMIT_BYTES;
	config.limit_chunks = bytes / SN_TRACE_CHUNK_BYTES;
	if (bytes && config.limit_chunks < LEAST_CHUNKS)
		config.limit_chunks = LEAST_CHUNKS;
	if (config.limit_chunks > MOST_CHUNKS)
		config.limit_chunks = MOST_CHUNKS;
}

static void on_signal(int signal)
{
	(void)signal;
	sn_trace_run(!atomic_load_explicit(&sn_trace_active, memory_order_relaxed));
}

static void take_signal(const char *text)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
	int number = text && *text ? (int)strtoull(text, NULL, 10) : 0;
	sigfillset(&action.sa_mask);
	if (number > 0)
		sn_real_sigaction(number, &action, NULL);
}

void sn_trace_init(void)
{
	const char *list = getenv("SONDE_TRACE"), *window = getenv("SONDE_TRACE_WINDOW_MS");
	const char *paused = getenv("SONDE_TRACE_PAUSED");
	if (!list || !*list)
		return;
	config.sources = parse_sources(strcmp(list, "default") ? list : DEFAULT_SOURCES);
	config.window_end_ns = UINT64_MAX;
	config.is_paused = paused && *paused == '1';
	parse_limit(getenv("SONDE_TRACE_LIMIT"));
	if (window && *window)
		parse_window(window);
	if (config.limit_chunks)
		file.places = sn_pages_map(config.limit_chunks);
	is_ours = sn_pages_map(4096);
	if (!is_ours || (config.limit_chunks && !file.places)) {
		config.sources = 0;
		return;
	}
	madvise((void *)is_ours, 4096, MADV_WIPEONFORK);
	take_signal(getenv("SONDE_TRACE_SIGNAL"));
}

unsigned sn_trace_sources(void)
{
	return config.sources;
}

void sn_trace_run(bool is_running)
{
	if (config.sources && !atomic_load_explicit(&has_ended, memory_order_relaxed))
		atomic_store_explicit(&sn_trace_active, is_running ? config.sources : 0,
				      memory_order_relaxed);
}

uint32_t sn_trace_generation(void)
{
	return atomic_load_explicit(&generation, memory_order_relaxed);
}

void sn_trace_begin(uint64_t now_ns)
{
	if (!config.sources)
		return;
	bool is_fork = file.name_ns != 0;
	if (file.page)
		munmap(file.page, SN_TRACE_FILE_PAGE_BYTES);
	if (file.definitions.chunk)
		munmap(file.definitions.chunk, SN_TRACE_CHUNK_BYTES);
	file.page = NULL;
	file.definitions = (struct sn_trace_cursor){0};
	file.own.fd = -1;
	file.own.inode = 0; /* the parent's was closed with the others of ours */
	file.has_failed = false;
	file.name_ns = now_ns;
	file.stream_count = 0;
	file.taken = file.sequence = 0;
	if (is_fork && file.places)
		madvise((void *)file.places, config.limit_chunks, MADV_DONTNEED);
	atomic_store_explicit(&defining, 0, memory_order_relaxed);
	atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
	atomic_store_explicit(is_ours, 1, memory_order_relaxed);
	if (!is_fork && !config.is_paused)
		atomic_store_explicit(&sn_trace_active, config.sources, memory_order_relaxed);
}

void sn_trace_end(void)
{
	atomic_store_explicit(&has_ended, true, memory_order_relaxed);
	atomic_store_explicit(&sn_trace_active, 0, memory_order_relaxed);
}

/* ---- what is lost ---- */

static void lose(enum sn_trace_lost cause, uint64_t count)
{
	static const enum sn_drop drops[] = {[SN_TRACE_LOST_OVERWRITTEN] =
						 SN_DROP_TRACE_OVERWRITTEN,
					     [SN_TRACE_LOST_SPACE] = SN_DROP_TRACE_SPACE,
					     [SN_TRACE_LOST_BUSY] = SN_DROP_TRACE_BUSY};
	unsigned char *page = __atomic_load_n(&file.page, __ATOMIC_ACQUIRE);
	if (!page) {
		sn_drop(NULL, drops[cause], count);
		return;
	}
	struct sn_trace_losses *losses = (void *)(page + SN_TRACE_LOST_OFFSET);
	__atomic_fetch_add(&losses->counts[cause], count, __ATOMIC_RELAXED);
}

/* ---- the file ---- */

static void fill_header(struct sn_trace_file_header *header)
{
	struct timespec real;
	*header = (struct sn_trace_file_header){
	    .version_major = SN_TRACE_FILE_VERSION_MAJOR,
	    .version_minor = SN_TRACE_FILE_VERSION_MINOR,
	    .chunk_bytes = SN_TRACE_CHUNK_BYTES,
	    .pid = (uint64_t)getpid(),
	    .start_monotonic_ns = sn_now_ns(),
	    .limit_bytes = config.limit_chunks * SN_TRACE_CHUNK_BYTES,
	};
	clock_gettime(CLOCK_REALTIME, &real);
	header->start_realtime_ns = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec;
	memcpy(header->magic, SN_TRACE_FILE_MAGIC, sizeof(header->magic));
	header->checksum = sn_checksum(header, offsetof(struct sn_trace_file_header, checksum));
}

/* Space in the file for sure: a store into a mapped page that the file system has no room for would
 * end the program. 0 or negative errno. */
static int reserve(off_t offset, off_t bytes)
{
	static const unsigned char zeroes[4096];
	if (!sn_own_file_is_allowed((uint64_t)(offset + bytes)))
		return -EFBIG;
	if (!syscall(SYS_fallocate, file.own.fd, 0, offset, bytes))
		return 0;
	if (errno != EOPNOTSUPP && errno != ENOSYS)
		return -errno;
	struct stat status;
	/* a place that is used again has its space */
	if (!fstat(file.own.fd, &status) && status.st_size >= offset + bytes)
		return 0;
	for (off_t at = 0; at < bytes; at += (off_t)sizeof(zeroes))
		if (pwrite(file.own.fd, zeroes, sizeof(zeroes), offset + at) != sizeof(zeroes))
			return -EIO;
	return 0;
}

static void *map(off_t offset, size_t bytes)
{
	if (reserve(offset, (off_t)bytes))
		return NULL;
	void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			    file.own.fd, offset);
	return mapped == MAP_FAILED ? NULL : mapped;
}

static bool take_chunk(struct sn_trace_cursor *cursor, uint32_t stream, uint32_t thread,
		       uint64_t base_ns);

static void define_all(void)
{
	for (uint32_t i = 0; i < SN_TRACE_KEY_COUNT; i++)
		sn_trace_define_quantity(&file.definitions, SN_TRACE_DEFINE_KEY, i,
					 ATTRIBUTE_UNSIGNED, keys[i].name, keys[i].unit);
	/* a counter that nobody raises would be listed all the same */
	if (!(config.sources & SN_TRACE_SOURCE_MEMORY))
		return;
	for (uint32_t i = 0; i < SN_TRACE_COUNTER_COUNT; i++)
		sn_trace_define_quantity(&file.definitions, SN_TRACE_DEFINE_COUNTER, i,
					 counters[i].kind, counters[i].name, counters[i].unit);
	struct sn_trace_stream memory = {.kind = SN_TRACE_STREAM_PROCESS,
					 .thread = SN_ID_NONE,
					 .pid = (uint64_t)getpid(),
					 .device = SN_ID_NONE,
					 .device_context = SN_ID_NONE,
					 .queue = SN_ID_NONE,
					 .name = "memory",
					 .name_length = 6};
	sn_trace_define_stream(&file.definitions, SN_TRACE_MEMORY_STREAM, &memory);
	file.stream_count = SN_TRACE_MEMORY_STREAM + 1;
}

/* Under `defining`. False where there can be none; then nothing is left of it. */
static bool make_new_file(void)
{
	struct sn_trace_file_header header;
	file.has_failed = true;
	if (sn_own_file_create(&file.own, file.name_ns, SN_TRACE_FILE_SUFFIX))
		return false;
	unsigned char *page = map(0, SN_TRACE_FILE_PAGE_BYTES);
	if (!page || !take_chunk(&file.definitions, SN_ID_NONE, SN_ID_NONE, 0)) {
		if (page)
			munmap(page, SN_TRACE_FILE_PAGE_BYTES);
		sn_own_file_remove(&file.own);
		return false;
	}
	fill_header(&header);
	memcpy(page, &header, sizeof(header));
	sn_trace_identify((struct sn_trace_identity *)(page + SN_TRACE_IDENTITY_OFFSET));
	define_all();
	file.has_failed = false;
	__atomic_store_n(&file.page, page, __ATOMIC_RELEASE);
	return true;
}

static void begin_file(void *is_made)
{
	*(bool *)is_made = make_new_file();
}

static bool make_file(void)
{
	bool is_made;
	if (file.page || file.has_failed)
		return file.page;
	sn_on_own_stack(begin_file, &is_made);
	return is_made;
}

/* ---- definitions ---- */

/* Never held by the calling thread itself, whose guard is taken: waiting comes to an end. */
static bool begin_defining(void)
{
	for (unsigned tries = 0; tries < DEFINE_TRIES; tries++) {
		int expected = 0;
		if (atomic_compare_exchange_strong_explicit(
			&defining, &expected, 1, memory_order_acquire, memory_order_relaxed))
			return true;
		struct timespec pause = {0, DEFINE_PAUSE_NS};
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &pause, NULL);
	}
	return false;
}

static void end_defining(void)
{
	atomic_store_explicit(&defining, 0, memory_order_release);
}

static uint32_t define(const struct sn_trace_stream *stream)
{
	uint32_t number = SN_ID_NONE;
	if (!begin_defining())
		return number;
	if (make_file() && (sn_trace_has_room(&file.definitions) ||
			    take_chunk(&file.definitions, SN_ID_NONE, SN_ID_NONE, 0))) {
		number = file.stream_count++;
		sn_trace_define_stream(&file.definitions, number, stream);
	}
	end_defining();
	return number;
}

uint32_t sn_trace_queue(uint32_t device, uint32_t queue, const char *name)
{
	return define(&(struct sn_trace_stream){.kind = SN_TRACE_STREAM_DEVICE,
						.thread = SN_ID_NONE,
						.pid = (uint64_t)getpid(),
						.device = device,
						.device_context = SN_ID_NONE,
						.queue = queue,
						.name = name,
						.name_length = (uint32_t)strlen(name)});
}

static uint32_t define_thread(const struct sn_thread *thread)
{
	return define(
	    &(struct sn_trace_stream){.kind = SN_TRACE_STREAM_THREAD,
				      .thread = thread->index,
				      .pid = (uint64_t)getpid(),
				      .tid = (uint64_t)thread->tid,
				      .device = SN_ID_NONE,
				      .device_context = SN_ID_NONE,
				      .queue = SN_ID_NONE,
				      .name = thread->name,
				      .name_length = (uint32_t)strnlen(thread->name, 16)});
}

/* ---- chunks ---- */

static off_t offset_of(uint64_t place)
{
	return (off_t)(SN_TRACE_FILE_PAGE_BYTES + place * SN_TRACE_CHUNK_BYTES);
}

static void mark_filled(const struct sn_trace_cursor *cursor)
{
	if (file.places && cursor->chunk->stream != SN_ID_NONE)
		/* release: whoever takes it finds the events counted */
		atomic_store_explicit(&file.places[cursor->place], 1, memory_order_release);
}

/* The place of the next chunk: new, or the oldest that is filled; UINT64_MAX where all belong to
 * somebody. */
static uint64_t next_place(void)
{
	for (uint64_t tries = 0; tries <= config.limit_chunks; tries++) {
		uint64_t number = atomic_fetch_add_explicit(&file.taken, 1, memory_order_relaxed);
		if (!file.places || number < config.limit_chunks)
			return number;
		uint64_t place = number % config.limit_chunks;
		uint8_t filled = 1;
		/* acquire: what its last owner wrote; then it is ours */
		if (atomic_compare_exchange_strong_explicit(&file.places[place], &filled, 0,
							    memory_order_acquire,
							    memory_order_relaxed))
			return place;
	}
	return UINT64_MAX;
}

static bool take_chunk(struct sn_trace_cursor *cursor, uint32_t stream, uint32_t thread,
		       uint64_t base_ns)
{
	if (cursor->chunk) {
		mark_filled(cursor);
		munmap(cursor->chunk, SN_TRACE_CHUNK_BYTES);
		cursor->chunk = NULL;
	}
	uint64_t place = next_place();
	struct sn_trace_chunk *chunk =
	    place == UINT64_MAX ? NULL : map(offset_of(place), SN_TRACE_CHUNK_BYTES);
	if (!chunk) {
		if (place != UINT64_MAX && file.places)
			atomic_store_explicit(&file.places[place], 1, memory_order_release);
		return false;
	}
	if (chunk->sequence)
		lose(SN_TRACE_LOST_OVERWRITTEN, chunk->count);
	/* in this order for readers: not in use, then its new owner's, then in use */
	__atomic_store_n(&chunk->sequence, 0, __ATOMIC_SEQ_CST);
	chunk->base_ns = base_ns;
	chunk->used = chunk->count = 0;
	chunk->stream = stream;
	chunk->thread = thread;
	uint64_t sequence = 1 + atomic_fetch_add_explicit(&file.sequence, 1, memory_order_relaxed);
	__atomic_store_n(&chunk->sequence, sequence, __ATOMIC_RELEASE);
	sn_trace_cursor_begin(cursor, chunk, SN_TRACE_CHUNK_BYTES);
	cursor->place = place;
	return true;
}

/* ---- events ---- */

/* A thread's part; zeroes are a thread that has recorded nothing. */
static bool prepare(struct sn_thread *thread, uint64_t base_ns)
{
	struct sn_thread_trace *trace = &thread->trace;
	uint32_t now = sn_trace_generation();
	if (trace->generation != now) {
		if (trace->cursor.chunk) /* of the parent's file */
			munmap(trace->cursor.chunk, SN_TRACE_CHUNK_BYTES);
		trace->cursor = (struct sn_trace_cursor){0};
		trace->stream = define_thread(thread);
		if (trace->stream == SN_ID_NONE) {
			lose(file.has_failed ? SN_TRACE_LOST_SPACE : SN_TRACE_LOST_BUSY, 1);
			return false;
		}
		trace->generation = now;
	}
	if (sn_trace_has_room(&trace->cursor))
		return true;
	if (base_ns < trace->retry_ns) {
		lose(SN_TRACE_LOST_SPACE, 1);
		return false;
	}
	bool is_open = sn_own_file_is_open(&file.own);
	if (!is_open && begin_defining()) {
		is_open = sn_own_file_ready(&file.own);
		end_defining();
	}
	if (is_open && take_chunk(&trace->cursor, trace->stream, thread->index, base_ns))
		return true;
	trace->retry_ns = base_ns + RETRY_NS;
	lose(SN_TRACE_LOST_SPACE, 1);
	return false;
}

/* What the snapshot must keep though nothing may have been added to it. */
static void mark_node(struct sn_thread *owner, uint32_t node)
{
	if (node >= sn_array_count(&owner->cct.nodes))
		return;
	struct sn_cct_node *record = sn_array_at(&owner->cct.nodes, node);
	uint32_t now = sn_trace_generation();
	if (__atomic_load_n(&record->record.own, __ATOMIC_RELAXED) != now)
		__atomic_store_n(&record->record.own, now, __ATOMIC_RELAXED);
}

static bool is_in_window(const struct sn_trace_event *event)
{
	return event->end_ns >= config.window_start_ns && event->start_ns < config.window_end_ns;
}

void sn_trace_add(struct sn_thread *thread, struct sn_trace_event *event)
{
	if (event->kind != SN_TRACE_INTERVAL)
		event->end_ns = event->start_ns;
	if (!is_in_window(event) || !atomic_load_explicit(is_ours, memory_order_relaxed))
		return;
	struct sn_trace_cursor *cursor = &thread->trace.cursor;
	if (__builtin_expect(thread->trace.generation != sn_trace_generation() ||
				 !sn_trace_has_room(cursor),
			     0) &&
	    !prepare(thread, event->end_ns))
		return;
	mark_node(event->has_owner ? sn_thread_at(event->owner) : thread, event->context);
	sn_trace_encode(cursor, event);
}

void sn_trace_message(struct sn_thread *thread, struct sn_trace_event *event)
{
	sn_trace_add(thread, event);
	unsigned char *page = __atomic_load_n(&file.page, __ATOMIC_ACQUIRE);
	if (page)
		__atomic_fetch_add(
		    &((struct sn_trace_identity *)(page + SN_TRACE_IDENTITY_OFFSET))->messages, 1,
		    __ATOMIC_RELAXED);
}

void sn_trace_interval(struct sn_thread *thread, uint32_t node, uint64_t start_ns, uint64_t end_ns)
{
	sn_trace_add(thread, &(struct sn_trace_event){.kind = SN_TRACE_INTERVAL,
						      .context = node,
						      .start_ns = start_ns,
						      .end_ns = end_ns});
}

void sn_trace_sample(struct sn_thread *thread, uint32_t node, uint64_t at_ns)
{
	sn_trace_add(thread, &(struct sn_trace_event){
				 .kind = SN_TRACE_SAMPLE, .context = node, .start_ns = at_ns});
}
