/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace file's chunks and the threads that fill them; see trace.h.
 *
 * Chunks are taken in the order of their places. When the file has reached its limit, the place
 * after the last taken one is the oldest: it is taken if its owner has filled it, else the next
 * one. `places` says which are filled. A thread keeps its chunk when it ends, for the next thread
 * that continues its record.
 */
#include "trace.h"

#include "collect/intercept/intercept.h"
#include "collect/core/lock.h"
#include "own_file.h"
#include "collect/unwind/own_stack.h"
#include "trace_option.h"

#include "format/checksum.h"
#include "format/trace_file/trace_identity.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Pauses in which threads that are writing to the file are waited for. */
#define WRITER_PAUSES 2000u
/* Where there is no space, until it is asked for again. */
#define RETRY_NS      100000000u
/* How long a record may wait until it is in the file, while its thread records others. */
#define WRITE_NS      10000000u

_Atomic unsigned sn_trace_active;
static _Atomic bool has_ended;

static struct sn_trace_options config;

static struct {
	struct sn_own_file own;
	uint64_t name_ns; /* of the measurement file */
	_Atomic bool exists;
	int error;		/* negative errno: there will be none */
	_Atomic uint64_t bytes; /* how large it is at least, unless others have truncated it */
	_Atomic uint64_t taken; /* chunks ever taken, event or not */
	_Atomic uint64_t sequence;
	_Atomic uint64_t recorded; /* events in it */
	/* what the header page counts, and their sum when it was written there */
	_Atomic uint64_t messages, losses[SN_TRACE_LOST_COUNT], counted;
	_Atomic uint32_t writers; /* threads that are writing to it */
	_Atomic uint8_t *places;  /* [limit_chunks]: 1 filled, may be taken; NULL without a limit */
	struct sn_trace_buffer definitions;
	uint32_t stream_count, counter_count;
} file = {.own.fd = -1};

static _Atomic uint32_t generation; /* of the file: what threads have is of this one, or void */
/* Cleared by the kernel in a child that came by no fork() of the C library: what such a child
 * recorded would go into its parent's file. */
static _Atomic uint8_t *is_ours;

static const struct {
	const char *name, *unit;
} keys[SN_TRACE_KEY_COUNT] = {
#define SN_TRACE_KEY(id, name, unit) [SN_TRACE_KEY_##id] = {name, unit},
#include "trace_keys.def"
#undef SN_TRACE_KEY
};
#define ATTRIBUTE_UNSIGNED 1u /* enum sonde_attribute_type */

static const struct {
	const char *name, *unit;
	enum sn_metric_kind kind;
} counters[SN_TRACE_COUNTER_COUNT] = {
    [SN_TRACE_TENSOR_MEMORY] = {"tensor-memory", "bytes", SN_METRIC_BYTES},
};

/* ---- what is asked for ---- */

static void on_signal(int signal)
{
	sn_trace_run(!atomic_load_explicit(&sn_trace_active, memory_order_relaxed));
}

static void handle_signal(int number)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK};
	sigfillset(&action.sa_mask);
	if (number > 0)
		sn_real_sigaction(number, &action, NULL);
}

void sn_trace_init(void)
{
	sn_trace_options_read(&config);
	if (!config.sources)
		return;
	if (config.limit_chunks)
		file.places = sn_pages_map(config.limit_chunks);
	is_ours = sn_pages_map(4096);
	if (!is_ours || (config.limit_chunks && !file.places)) {
		config.sources = 0;
		return;
	}
	madvise((void *)is_ours, 4096, MADV_WIPEONFORK);
	handle_signal(config.signal);
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

/* There is nothing in the file. */
static void forget_file(void)
{
	sn_trace_buffer_drop(&file.definitions);
	atomic_store_explicit(&file.exists, false, memory_order_relaxed);
	file.error = 0;
	file.stream_count = file.counter_count = 0;
	file.bytes = file.taken = file.sequence = file.recorded = 0;
	if (file.places)
		madvise((void *)file.places, config.limit_chunks, MADV_DONTNEED);
}

/* What the forking thread had recorded and not yet written is the parent's. */
static void forget_parent(void)
{
	struct sn_thread *thread = sn_thread_self();
	file.writers = 0;
	file.messages = file.counted = 0;
	for (unsigned cause = 0; cause < SN_TRACE_LOST_COUNT; cause++)
		file.losses[cause] = 0;
	if (!thread)
		return;
	thread->trace.blocked = (struct sn_trace_blocked){0};
	sn_trace_buffer_drop(&thread->trace.buffer);
	sn_trace_buffer_unlock(&thread->trace.buffer);
}

void sn_trace_begin(uint64_t now_ns)
{
	if (!config.sources)
		return;
	bool is_fork = file.name_ns != 0;
	file.own.fd = -1; /* the parent's was closed with the others of ours */
	file.own.inode = 0;
	file.name_ns = now_ns;
	if (is_fork)
		forget_parent();
	forget_file();
	atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
	atomic_store_explicit(is_ours, 1, memory_order_relaxed);
	if (!is_fork && !config.is_paused)
		atomic_store_explicit(&sn_trace_active, config.sources, memory_order_relaxed);
}

/* ---- what is lost ---- */

static enum sn_drop cause_of(int error)
{
	switch (error) {
	case -ENOSPC:
		return SN_DROP_TRACE_SPACE;
	case -EDQUOT:
		return SN_DROP_TRACE_QUOTA;
	case -EFBIG:
		return SN_DROP_TRACE_FILE_SIZE;
	case -ESTALE:
		return SN_DROP_TRACE_TRUNCATED;
	case -ENOMEM:
		return SN_DROP_TRACE_MEMORY;
	case -EBUSY:
		return SN_DROP_TRACE_BUSY;
	default:
		return SN_DROP_TRACE_UNWRITABLE;
	}
}

/* Counted in the file where that has a place for it: it lasts when the process is killed. */
static void lose(enum sn_drop drop, uint64_t count)
{
	static const enum sn_drop in_file[] = {[SN_TRACE_LOST_OVERWRITTEN] =
						   SN_DROP_TRACE_OVERWRITTEN,
					       [SN_TRACE_LOST_SPACE] = SN_DROP_TRACE_SPACE,
					       [SN_TRACE_LOST_BUSY] = SN_DROP_TRACE_BUSY};
	bool exists = atomic_load_explicit(&file.exists, memory_order_relaxed);
	for (size_t cause = 0; exists && cause < sizeof(in_file) / sizeof(*in_file); cause++)
		if (in_file[cause] == drop) {
			atomic_fetch_add_explicit(&file.losses[cause], count, memory_order_relaxed);
			return;
		}
	if (count)
		sn_drop(NULL, drop, count);
}

/* ---- the file ---- */

static void fill_header(struct sn_trace_file_header *header)
{
	*header = (struct sn_trace_file_header){
	    .version_major = SN_TRACE_FILE_VERSION_MAJOR,
	    .version_minor = SN_TRACE_FILE_VERSION_MINOR,
	    .chunk_bytes = SN_TRACE_CHUNK_BYTES,
	    .pid = (uint64_t)getpid(),
	    .start_monotonic_ns = sn_now_ns(),
	    .start_realtime_ns = sn_clock_ns(CLOCK_REALTIME),
	    .limit_bytes = config.limit_chunks * SN_TRACE_CHUNK_BYTES,
	};
	memcpy(header->magic, SN_TRACE_FILE_MAGIC, sizeof(header->magic));
	header->checksum = sn_checksum(header, offsetof(struct sn_trace_file_header, checksum));
}

static uint64_t offset_of(uint64_t place)
{
	return SN_TRACE_FILE_PAGE_BYTES + place * SN_TRACE_CHUNK_BYTES;
}

static int put(const void *bytes, size_t length, uint64_t offset)
{
	ssize_t done = pwrite(file.own.fd, bytes, length, (off_t)offset);
	return done == (ssize_t)length ? 0 : done < 0 ? -errno : -ENOSPC;
}

/* That the descriptor is our file, that no other process has changed its size, and that the program
 * may write so far: more would end it by SIGXFSZ. 0 or negative errno. */
static int check_file(uint64_t end)
{
	struct stat status;
	if (!sn_own_file_status(&file.own, &status))
		return -EBADF;
	if (!status.st_nlink || (uint64_t)status.st_size < file.bytes)
		return -ESTALE;
	return sn_own_file_is_allowed(end) ? 0 : -EFBIG;
}

/* Makes the file so large, and room for it where the file system can do that: a file system that is
 * full then says so before anything is recorded. 0 or negative errno. */
static int reserve(uint64_t offset, uint64_t bytes)
{
	uint64_t end = offset + bytes, known = file.bytes;
	int error = 0;
	if (end <= known)
		return 0;
	if (syscall(SYS_fallocate, file.own.fd, 0, (off_t)offset, (off_t)bytes))
		error = errno == EOPNOTSUPP || errno == ENOSYS ? put("", 1, end - 1) : -errno;
	while (!error && known < end && !atomic_compare_exchange_weak(&file.bytes, &known, end))
		;
	return error;
}

/* What the header page counts besides. */
static void write_counters(void)
{
	uint64_t losses[SN_TRACE_LOST_COUNT], messages = file.messages, sum = messages;
	for (unsigned cause = 0; cause < SN_TRACE_LOST_COUNT; cause++)
		sum += losses[cause] = file.losses[cause];
	if (sum == file.counted || check_file(SN_TRACE_FILE_PAGE_BYTES))
		return;
	put(losses, sizeof(losses), SN_TRACE_LOST_OFFSET);
	put(&messages, sizeof(messages),
	    SN_TRACE_IDENTITY_OFFSET + offsetof(struct sn_trace_identity, messages));
	file.counted = sum;
}

static int claim_chunk(struct sn_trace_buffer *buffer, uint32_t stream, uint32_t thread,
		       uint64_t base_ns);

/* A stream of this process, of no thread and no device yet. */
static struct sn_trace_stream stream_of(enum sn_trace_stream_kind kind, const char *name)
{
	return (struct sn_trace_stream){.kind = kind,
					.thread = SN_ID_NONE,
					.pid = (uint64_t)getpid(),
					.device = SN_ID_NONE,
					.device_context = SN_ID_NONE,
					.queue = SN_ID_NONE,
					.name = name,
					.name_length = (uint32_t)strlen(name)};
}

static void define_all(void)
{
	for (uint32_t i = 0; i < SN_TRACE_KEY_COUNT; i++)
		sn_trace_define_quantity(&file.definitions.cursor, SN_TRACE_DEFINE_KEY, i,
					 ATTRIBUTE_UNSIGNED, keys[i].name, keys[i].unit);
	/* a counter that is never raised would be listed as well */
	if (!(config.sources & SN_TRACE_SOURCE_MEMORY))
		return;
	for (uint32_t i = 0; i < SN_TRACE_COUNTER_COUNT; i++)
		sn_trace_define_quantity(&file.definitions.cursor, SN_TRACE_DEFINE_COUNTER, i,
					 counters[i].kind, counters[i].name, counters[i].unit);
	struct sn_trace_stream memory = stream_of(SN_TRACE_STREAM_PROCESS, "memory");
	sn_trace_define_stream(&file.definitions.cursor, SN_TRACE_MEMORY_STREAM, &memory);
	file.stream_count = SN_TRACE_MEMORY_STREAM + 1;
	file.counter_count = SN_TRACE_COUNTER_COUNT;
}

static int write_header(void)
{
	struct sn_trace_file_header header;
	struct sn_trace_identity identity;
	int error = check_file(SN_TRACE_FILE_PAGE_BYTES);
	if (!error)
		error = reserve(0, SN_TRACE_FILE_PAGE_BYTES);
	fill_header(&header);
	sn_trace_identify(&identity);
	if (!error)
		error = put(&header, sizeof(header), 0);
	return error ? error : put(&identity, sizeof(identity), SN_TRACE_IDENTITY_OFFSET);
}

/* Under TRACE_FILE. 0, or negative errno where there can be none; then nothing is left of it. */
static int make_new_file(void)
{
	bool is_new = file.own.fd < 0;
	file.error = is_new ? sn_own_file_create(&file.own, file.name_ns, SN_TRACE_FILE_SUFFIX) : 0;
	if (file.error)
		return file.error;
	file.error = write_header();
	if (!file.error)
		file.error = claim_chunk(&file.definitions, SN_ID_NONE, SN_ID_NONE, 0);
	if (file.error) {
		if (is_new)
			sn_own_file_remove(&file.own);
		return file.error;
	}
	define_all();
	file.counted = 0;
	atomic_store_explicit(&file.exists, true, memory_order_release);
	return 0;
}

static void begin_file(void *error)
{
	*(int *)error = make_new_file();
}

static int make_file(void)
{
	int error;
	if (file.exists || file.error)
		return file.error;
	sn_on_own_stack(begin_file, &error);
	return error;
}

/* ---- definitions ---- */

/* Definitions do not wait: nothing can be read without them. 0 or negative errno. */
static int write_definitions(void)
{
	uint64_t offset = offset_of(file.definitions.cursor.place);
	int error = check_file(offset + SN_TRACE_CHUNK_BYTES);
	return error ? error : sn_trace_buffer_write(&file.definitions, file.own.fd, offset);
}

/* A stream or a counter. */
struct definition {
	const struct sn_trace_stream *stream; /* NULL: a counter */
	uint32_t kind;
	const char *name, *unit;
};

static int define_in_file(const struct definition *it, uint32_t *number)
{
	uint32_t *count = it->stream ? &file.stream_count : &file.counter_count;
	int error = make_file();
	if (!error && !sn_own_file_ready(&file.own))
		error = -EBADF;
	if (!error && !sn_trace_has_room(&file.definitions.cursor))
		error = claim_chunk(&file.definitions, SN_ID_NONE, SN_ID_NONE, 0);
	if (error)
		return error;
	if (it->stream)
		sn_trace_define_stream(&file.definitions.cursor, *count, it->stream);
	else
		sn_trace_define_quantity(&file.definitions.cursor, SN_TRACE_DEFINE_COUNTER, *count,
					 it->kind, it->name, it->unit);
	error = write_definitions();
	if (error)
		sn_trace_buffer_drop(&file.definitions); /* the number is given again elsewhere */
	else
		*number = (*count)++;
	return error;
}

/* 0 and the number of what is new, or negative errno. */
static int define(const struct definition *it, uint32_t *number)
{
	*number = SN_ID_NONE;
	if (!sn_lock_wait(SN_LOCK_TRACE_FILE))
		return -EBUSY;
	int error = define_in_file(it, number);
	sn_lock_release(SN_LOCK_TRACE_FILE);
	return error;
}

uint32_t sn_trace_queue(uint32_t device, uint32_t queue, const char *name)
{
	uint32_t number;
	struct sn_trace_stream stream = stream_of(SN_TRACE_STREAM_DEVICE, name);
	stream.device = device;
	stream.queue = queue;
	define(&(struct definition){.stream = &stream}, &number);
	return number;
}

uint32_t sn_trace_counter(uint32_t kind, const char *name, const char *unit)
{
	uint32_t number;
	define(&(struct definition){.kind = kind, .name = name, .unit = unit}, &number);
	return number;
}

static int define_thread(const struct sn_thread *thread, uint32_t *number)
{
	struct sn_trace_stream stream = stream_of(SN_TRACE_STREAM_THREAD, thread->name);
	stream.thread = thread->index;
	stream.tid = (uint64_t)thread->tid;
	return define(&(struct definition){.stream = &stream}, number);
}

/* ---- chunks ---- */

static void mark_filled(uint64_t place)
{
	if (file.places)
		/* release: a thread that claims it finds the events counted */
		atomic_store_explicit(&file.places[place], 1, memory_order_release);
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

/* A place that is taken again: what is there is overwritten from now on. */
static int empty_place(uint64_t offset)
{
	struct sn_trace_chunk chunk;
	if (syscall(SYS_pread64, file.own.fd, &chunk, sizeof(chunk), (off_t)offset) !=
	    sizeof(chunk))
		return -EIO;
	if (!chunk.sequence)
		return 0;
	lose(SN_DROP_TRACE_OVERWRITTEN, chunk.count);
	atomic_fetch_sub_explicit(&file.recorded, chunk.count, memory_order_relaxed);
	chunk = (struct sn_trace_chunk){0};
	return put(&chunk, sizeof(chunk), offset);
}

static int prepare_place(uint64_t place, struct sn_trace_chunk *header)
{
	uint64_t offset = offset_of(place), end = offset + SN_TRACE_CHUNK_BYTES;
	bool is_used_again = end <= file.bytes;
	int error = check_file(end);
	if (!error)
		error = is_used_again ? empty_place(offset) : reserve(offset, SN_TRACE_CHUNK_BYTES);
	/* in this order for readers: not in use, then its new owner's, then in use */
	header->sequence = 1 + atomic_fetch_add_explicit(&file.sequence, 1, memory_order_relaxed);
	return error ? error : put(header, sizeof(*header), offset);
}

/* The buffer, of which nothing waits, begins a chunk. 0 or negative errno. */
static int claim_chunk(struct sn_trace_buffer *buffer, uint32_t stream, uint32_t thread,
		       uint64_t base_ns)
{
	struct sn_trace_chunk header = {.base_ns = base_ns, .stream = stream, .thread = thread};
	if (sn_trace_buffer_has_chunk(buffer) && stream != SN_ID_NONE)
		mark_filled(buffer->cursor.place);
	sn_trace_buffer_drop(buffer);
	if (!sn_trace_buffer_reserve(buffer))
		return -ENOMEM;
	uint64_t place = next_place();
	if (place == UINT64_MAX)
		return -EBUSY;
	int error = prepare_place(place, &header);
	if (error)
		mark_filled(place);
	else
		sn_trace_buffer_begin(buffer, &header, place);
	return error;
}

/* ---- writing out ---- */

/* False where the thread's part is of another file than there is now. Else that stays until
 * end_writing(). */
static bool begin_writing(const struct sn_thread_trace *trace)
{
	/* sequentially consistent with begin_again: one of the two sees the other */
	atomic_fetch_add(&file.writers, 1);
	if (trace->generation == atomic_load(&generation))
		return true;
	atomic_fetch_sub(&file.writers, 1);
	return false;
}

static void end_writing(void)
{
	atomic_fetch_sub(&file.writers, 1);
}

/*
 * Others have truncated the file, or removed it: what was in it is lost, and it begins anew.
 * `seen` is the generation that was found so.
 */
static void begin_again(uint32_t seen)
{
	struct stat status;
	if (!sn_lock_wait(SN_LOCK_TRACE_FILE))
		return;
	if (sn_trace_generation() == seen && sn_own_file_status(&file.own, &status)) {
		atomic_fetch_add(&generation, 1);
		for (unsigned tries = 0; tries < WRITER_PAUSES && file.writers; tries++)
			sn_lock_pause();
		sn_drop(NULL, SN_DROP_TRACE_TRUNCATED, file.recorded);
		forget_file();
		if (!status.st_nlink)
			sn_own_file_close(&file.own);
		else if (ftruncate(file.own.fd, 0))
			file.error = -errno;
	}
	sn_lock_release(SN_LOCK_TRACE_FILE);
}

/* Locked. 0 or negative errno: then all that waits still does. */
static int write_waiting(struct sn_thread_trace *trace)
{
	struct sn_trace_buffer *buffer = &trace->buffer;
	uint64_t offset = offset_of(buffer->cursor.place);
	uint32_t before = buffer->written_count;
	if (!sn_trace_buffer_waiting(buffer))
		return 0;
	buffer->due_ns = sn_now_ns() + WRITE_NS;
	if (!begin_writing(trace))
		return -ESTALE;
	int error = check_file(offset + SN_TRACE_CHUNK_BYTES);
	if (!error)
		error = sn_trace_buffer_write(buffer, file.own.fd, offset);
	if (!error)
		atomic_fetch_add_explicit(&file.recorded, buffer->written_count - before,
					  memory_order_relaxed);
	end_writing();
	return error;
}

static bool open_again(void)
{
	bool is_open = sn_own_file_is_open(&file.own);
	if (!is_open && sn_lock_wait(SN_LOCK_TRACE_FILE)) {
		is_open = sn_own_file_ready(&file.own);
		sn_lock_release(SN_LOCK_TRACE_FILE);
	}
	return is_open;
}

/* What waits cannot be written: it is lost, and the thread's chunk ends where it is in the file. */
static void give_up(struct sn_thread_trace *trace, int error)
{
	if (error == -ESTALE)
		begin_again(trace->generation);
	lose(cause_of(error), sn_trace_buffer_waiting(&trace->buffer));
	if (trace->generation == sn_trace_generation())
		mark_filled(trace->buffer.cursor.place);
	sn_trace_buffer_drop(&trace->buffer);
	trace->error = error;
	trace->retry_ns = error == -ESTALE ? 0 : sn_now_ns() + RETRY_NS;
}

/* By the thread itself, locked. False where what waited is lost. */
static bool write_own(struct sn_thread_trace *trace)
{
	int error = write_waiting(trace);
	if (error == -EBADF && open_again())
		error = write_waiting(trace);
	if (error)
		give_up(trace, error);
	write_counters();
	return !error;
}

static void write_due_here(void *argument)
{
	struct sn_thread_trace *trace = argument;
	/* the thread that holds the lock writes it out */
	if (!sn_trace_buffer_lock(&trace->buffer))
		return;
	write_own(trace);
	sn_trace_buffer_unlock(&trace->buffer);
}

static void __attribute__((noinline)) write_due(struct sn_thread_trace *trace)
{
	sn_on_own_stack(write_due_here, trace);
}

static void write_out(bool is_last)
{
	if (!config.sources || !atomic_load_explicit(is_ours, memory_order_relaxed) ||
	    !atomic_load_explicit(&file.exists, memory_order_acquire))
		return;
	uint32_t count = sn_thread_count();
	for (uint32_t index = 0; index < count; index++) {
		struct sn_thread_trace *trace = &sn_thread_at(index)->trace;
		if (!sn_trace_buffer_lock(&trace->buffer))
			continue;
		int error = write_waiting(trace);
		/* else its thread will try again */
		if (error && is_last)
			lose(cause_of(error), sn_trace_buffer_waiting(&trace->buffer));
		sn_trace_buffer_unlock(&trace->buffer);
	}
	if (is_last && check_file(0) == -ESTALE)
		sn_drop(NULL, SN_DROP_TRACE_TRUNCATED, file.recorded);
	write_counters();
}

void sn_trace_write_out(void)
{
	write_out(false);
}

void sn_trace_end(void)
{
	atomic_store_explicit(&has_ended, true, memory_order_relaxed);
	atomic_store_explicit(&sn_trace_active, 0, memory_order_relaxed);
	write_out(true);
}

void sn_trace_thread_end(struct sn_thread *thread)
{
	struct sn_thread_trace *trace = &thread->trace;
	trace->blocked = (struct sn_trace_blocked){0};
	if (!config.sources || !atomic_load_explicit(is_ours, memory_order_relaxed) ||
	    !sn_trace_buffer_wait(&trace->buffer))
		return;
	write_own(trace);
	sn_trace_buffer_park(&trace->buffer);
	sn_trace_buffer_unlock(&trace->buffer);
}

/* ---- events ---- */

/* The thread's stream in the file, which may be another than it was. */
static int join_file(struct sn_thread *thread)
{
	struct sn_thread_trace *trace = &thread->trace;
	uint32_t now = sn_trace_generation();
	if (trace->generation == now)
		return 0;
	/* of a file that others truncated */
	lose(SN_DROP_TRACE_TRUNCATED, sn_trace_buffer_waiting(&trace->buffer));
	sn_trace_buffer_drop(&trace->buffer);
	int error = define_thread(thread, &trace->stream);
	if (!error)
		trace->generation = now;
	return error;
}

/* Locked. Room for a record: 0 or negative errno. */
static int make_room(struct sn_thread *thread, uint64_t base_ns)
{
	struct sn_thread_trace *trace = &thread->trace;
	int error = join_file(thread);
	if (error)
		return error;
	sn_trace_buffer_resume(&trace->buffer);
	if (sn_trace_has_room(&trace->buffer.cursor))
		return 0;
	if (!write_own(trace))
		return trace->error;
	if (!open_again())
		return -EBADF;
	if (!begin_writing(trace))
		return -ESTALE;
	error = claim_chunk(&trace->buffer, trace->stream, thread->index, base_ns);
	end_writing();
	return error;
}

struct preparation {
	struct sn_thread *thread;
	uint64_t base_ns;
	bool has_room;
};

/* Zeroes are a thread that has recorded nothing. */
static void prepare_here(void *argument)
{
	struct preparation *it = argument;
	struct sn_thread_trace *trace = &it->thread->trace;
	int error = trace->error;
	uint32_t seen = sn_trace_generation();
	if (it->base_ns >= trace->retry_ns) {
		error = -EBUSY;
		if (sn_trace_buffer_wait(&trace->buffer)) {
			error = make_room(it->thread, it->base_ns);
			sn_trace_buffer_unlock(&trace->buffer);
		}
		if (error == -ESTALE)
			begin_again(seen);
		trace->error = error;
		trace->retry_ns =
		    error && error != -EBUSY && error != -ESTALE ? it->base_ns + RETRY_NS : 0;
		write_counters();
	}
	if (error)
		lose(cause_of(error), 1);
	it->has_room = !error;
}

/* Files take more of a stack than a hook may use of the program's. False where the event is lost.
 */
static bool __attribute__((noinline)) prepare(struct sn_thread *thread, uint64_t base_ns)
{
	struct preparation it = {thread, base_ns, false};
	sn_on_own_stack(prepare_here, &it);
	return it.has_room;
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

/* How long the calling thread was blocked before its event's end, and before its begin; how many
 * attributes that takes. */
static uint32_t tell_blocked(struct sn_trace_blocked *blocked, const struct sn_trace_event *event,
			     struct sn_trace_attribute *told)
{
	uint32_t count = 0;
	if (event->has_stream ||
	    (event->kind != SN_TRACE_INTERVAL && event->kind != SN_TRACE_SAMPLE))
		return 0;
	bool is_call = event->kind == SN_TRACE_INTERVAL;
	uint64_t blocked_ns =
	    sn_trace_blocked_until(blocked, is_call ? event->start_ns : 0, event->end_ns);
	uint64_t before_ns = is_call ? sn_trace_blocked_before(blocked, event->start_ns) : 0;
	if (blocked_ns)
		told[count++] = (struct sn_trace_attribute){SN_TRACE_KEY_BLOCKED, 0, blocked_ns};
	if (before_ns)
		told[count++] =
		    (struct sn_trace_attribute){SN_TRACE_KEY_BLOCKED_BEFORE, 0, before_ns};
	return count;
}

void sn_trace_add(struct sn_thread *thread, struct sn_trace_event *event)
{
	struct sn_thread_trace *trace = &thread->trace;
	struct sn_trace_cursor *cursor = &trace->buffer.cursor;
	struct sn_trace_attribute told[2];
	if (event->kind != SN_TRACE_INTERVAL)
		event->end_ns = event->start_ns;
	uint32_t told_count = tell_blocked(&trace->blocked, event, told);
	if (!is_in_window(event) || !atomic_load_explicit(is_ours, memory_order_relaxed))
		return;
	if (__builtin_expect(
		trace->generation != sn_trace_generation() || !sn_trace_has_room(cursor), 0) &&
	    !prepare(thread, event->end_ns))
		return;
	mark_node(event->has_owner ? sn_thread_at(event->owner) : thread, event->context);
	sn_trace_encode(cursor, event, told, told_count);
	if (__builtin_expect(event->end_ns >= trace->buffer.due_ns, 0)) {
		write_due(trace);
		sn_trace_blocked_forget(&trace->blocked);
	}
}

void sn_trace_message(struct sn_thread *thread, struct sn_trace_event *event)
{
	sn_trace_add(thread, event);
	atomic_fetch_add_explicit(&file.messages, 1, memory_order_relaxed);
}

void sn_trace_interval(struct sn_thread *thread, uint32_t node, uint64_t start_ns, uint64_t end_ns)
{
	SN_TRACE_ADD(thread, .kind = SN_TRACE_INTERVAL, .context = node, .start_ns = start_ns,
		     .end_ns = end_ns);
}
