/* SPDX-License-Identifier: Apache-2.0 */
#include "buffers.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Records are given away when so many bytes wait, by a thread of CUPTI's, as the real one does it. */
#define MANY (256u << 10)

#define CHUNK_BYTES (64u << 10)

struct fake_waiting {
	uint64_t end_ns;
	uint32_t bytes;
	bool is_given;
	_Alignas(8) char record[];
};

struct fake_chunk {
	struct fake_chunk *next;
	size_t used;
	_Alignas(8) char bytes[CHUNK_BYTES];
};

void fake_queue_begin(struct fake_queue *queue)
{
	*queue = (struct fake_queue){.lock = PTHREAD_MUTEX_INITIALIZER,
				     .giving = PTHREAD_MUTEX_INITIALIZER,
				     .many = PTHREAD_COND_INITIALIZER};
}

/* ---- the clock of the subscriber ---- */

static uint64_t real_time(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Its callback may count in any unit (PyTorch's counts the processor's ticks): a line through two readings. */
struct reading {
	uint64_t ns, theirs;
};

static struct {
	CUpti_TimestampCallbackFunc function;
	struct reading origin;
	double rate;
} their_clock = {.function = real_time};

/* Of several, that whose two readings of the device's clock lie closest together. */
static struct reading read_clock(void)
{
	struct reading best = {0};
	uint64_t least_ns = UINT64_MAX;
	for (int round = 0; round < 16; round++) {
		uint64_t before_ns = fake_now_ns(), theirs = their_clock.function(),
			 after_ns = fake_now_ns();
		if (after_ns - before_ns < least_ns) {
			least_ns = after_ns - before_ns;
			best = (struct reading){before_ns + least_ns / 2, theirs};
		}
	}
	return best;
}

static void compare_clocks(void)
{
	struct reading first = read_clock();
	nanosleep(&(struct timespec){0, 2000000}, NULL);
	struct reading second = read_clock();
	their_clock.rate = (double)(second.theirs - first.theirs) / (double)(second.ns - first.ns);
	if (their_clock.rate > 0.999 && their_clock.rate < 1.001)
		their_clock.rate = 1;
	their_clock.origin = first;
}

static pthread_once_t is_compared = PTHREAD_ONCE_INIT;

uint64_t fake_cupti_time(uint64_t ns)
{
	pthread_once(&is_compared, compare_clocks);
	int64_t since_ns = (int64_t)(ns - their_clock.origin.ns);
	if (their_clock.rate == 1)
		return their_clock.origin.theirs + (uint64_t)since_ns;
	return their_clock.origin.theirs + (uint64_t)(int64_t)((double)since_ns * their_clock.rate);
}

static _Atomic unsigned clocks;

unsigned fake_cupti_clocks(void)
{
	return clocks;
}

CUptiResult fake_cuptiGetTimestamp(uint64_t *time)
{
	*time = fake_cupti_time(fake_now_ns());
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiGetTimestamp_v2(CUpti_SubscriberHandle handle, uint64_t *time)
{
	return handle && time ? fake_cuptiGetTimestamp(time) : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult fake_cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc function)
{
	clocks++;
	their_clock.function = function ? function : real_time;
	compare_clocks();
	return CUPTI_SUCCESS;
}

/* ---- names that live no longer than the buffer ---- */

/* A page for the name of each kernel in the buffer, which nobody may read when the buffer has been taken. */
struct names {
	char *bytes;
	size_t size, used;
};

static struct names borrow_names(struct fake_queue *queue)
{
	struct names names = {.size = queue->used / 4 * 64 + 4096};
	if (!fake_fails("unload"))
		return (struct names){0};
	names.bytes =
	    mmap(NULL, names.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t at = 0; at < queue->used;) {
		CUpti_Activity *record = (CUpti_Activity *)(queue->buffer + at);
		CUpti_ActivityKernel4 *kernel = (CUpti_ActivityKernel4 *)record;
		at += fake_release_bytes(record->kind);
		if (record->kind != CUPTI_ACTIVITY_KIND_KERNEL &&
		    record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			continue;
		size_t length = strlen(kernel->name) + 1;
		if (names.used + length > names.size)
			break;
		kernel->name = memcpy(names.bytes + names.used, kernel->name, length);
		names.used += length;
	}
	return names;
}

/* FAKE_CUPTI_DUMP: all buffers as they were given away, each after the number of its bytes. */
static void dump(const struct fake_queue *queue)
{
	const char *path = getenv("FAKE_CUPTI_DUMP");
	int file = path && *path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
	uint64_t bytes = queue->used;
	if (file < 0)
		return;
	if (write(file, &bytes, sizeof(bytes)) < 0 || write(file, queue->buffer, bytes) < 0)
		abort();
	close(file);
}

/* ---- giving away, with `giving` held ---- */

static void give(struct fake_queue *queue)
{
	CUpti_BufferCallbackCompleteInfo info = {.structSize = sizeof(info)};
	if (queue->buffer) {
		struct names names = borrow_names(queue);
		dump(queue);
		if (queue->complete_v2)
			queue->complete_v2(queue->buffer, queue->size, queue->used, &info);
		else if (queue->complete)
			queue->complete(NULL, 0, queue->buffer, queue->size, queue->used);
		if (names.bytes)
			munmap(names.bytes, names.size);
	}
	queue->buffer = NULL;
	queue->size = queue->used = 0;
}

static bool have_room(struct fake_queue *queue, size_t bytes)
{
	CUpti_BufferCallbackRequestInfo info = {.structSize = sizeof(info)};
	size_t most_records = 0;
	if (queue->buffer && queue->size - queue->used >= bytes)
		return true;
	give(queue);
	if (queue->request_v2)
		queue->request_v2(&queue->buffer, &queue->size, &most_records, &info);
	else if (queue->request)
		queue->request(&queue->buffer, &queue->size, &most_records);
	return queue->buffer && queue->size >= bytes;
}

void fake_queue_open(struct fake_queue *queue)
{
	pthread_mutex_lock(&queue->giving);
	if (!queue->buffer)
		have_room(queue, 0);
	pthread_mutex_unlock(&queue->giving);
}

/* As reported: a kernel's record with which the buffer ends, in part or of a kind that nobody knows. */
static void spoil_last(struct fake_queue *queue, size_t bytes)
{
	CUpti_Activity *last = (CUpti_Activity *)(queue->buffer + queue->used - bytes);
	if (last->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
		return;
	if (fake_fails_now("odd-kind", 20))
		last->kind = (CUpti_ActivityKind)1000;
	else if (fake_fails_now("cut-buffers", 20))
		queue->used -= bytes / 2;
	else
		return;
	give(queue);
}

static void give_one(struct fake_queue *queue, const struct fake_waiting *waiting)
{
	if (!fake_fails_now("drop", 50) && have_room(queue, waiting->bytes)) {
		memcpy(queue->buffer + queue->used, waiting->record, waiting->bytes);
		queue->used += waiting->bytes;
		spoil_last(queue, waiting->bytes);
	} else {
		queue->lost++;
	}
}

/* How many bytes were given; `is_empty` is set where no record is left. */
static size_t give_chunk(struct fake_queue *queue, struct fake_chunk *chunk, uint64_t now_ns,
			 bool *is_empty)
{
	size_t given = 0;
	*is_empty = true;
	for (size_t at = 0; at < chunk->used;) {
		struct fake_waiting *waiting = (struct fake_waiting *)(chunk->bytes + at);
		at += sizeof(*waiting) + waiting->bytes;
		if (!waiting->is_given && waiting->end_ns <= now_ns) {
			give_one(queue, waiting);
			waiting->is_given = true;
			given += waiting->bytes;
		}
		*is_empty = *is_empty && waiting->is_given;
	}
	return given;
}

/* What was kept and what has come since, in order. */
static struct fake_chunk *take_all(struct fake_queue *queue)
{
	struct fake_chunk *first = queue->kept, **end = &first;
	while (*end)
		end = &(*end)->next;
	pthread_mutex_lock(&queue->lock);
	*end = queue->added;
	queue->added = queue->adding = NULL;
	pthread_mutex_unlock(&queue->lock);
	return first;
}

static void give_back(struct fake_queue *queue, struct fake_chunk *emptied, size_t given)
{
	pthread_mutex_lock(&queue->lock);
	queue->bytes_waiting -= given;
	while (emptied) {
		struct fake_chunk *next = emptied->next;
		emptied->next = queue->empty;
		queue->empty = emptied;
		emptied = next;
	}
	pthread_mutex_unlock(&queue->lock);
}

static void give_all(struct fake_queue *queue, bool is_forced)
{
	uint64_t now_ns = is_forced ? UINT64_MAX : fake_now_ns();
	struct fake_chunk *emptied = NULL;
	size_t given = 0;
	pthread_mutex_lock(&queue->giving);
	queue->kept = take_all(queue);
	for (struct fake_chunk **at = &queue->kept; *at;) {
		struct fake_chunk *chunk = *at;
		bool is_empty;
		given += give_chunk(queue, chunk, now_ns, &is_empty);
		if (!is_empty) {
			at = &chunk->next;
			continue;
		}
		*at = chunk->next;
		chunk->next = emptied;
		emptied = chunk;
	}
	give_back(queue, emptied, given);
	pthread_mutex_unlock(&queue->giving);
}

void fake_queue_flush(struct fake_queue *queue, bool is_forced)
{
	give_all(queue, is_forced);
	pthread_mutex_lock(&queue->giving);
	give(queue);
	pthread_mutex_unlock(&queue->giving);
}

static void *give_when_many(void *data)
{
	struct fake_queue *queue = data;
	for (;;) {
		pthread_mutex_lock(&queue->lock);
		while (queue->bytes_waiting < MANY)
			pthread_cond_wait(&queue->many, &queue->lock);
		pthread_mutex_unlock(&queue->lock);
		give_all(queue, false);
		/* those that are not over stay, and are many still */
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	}
	return NULL;
}

/* A chunk with room for so many bytes, the last of those that are added. With `lock` held. */
static struct fake_chunk *chunk_with_room(struct fake_queue *queue, size_t bytes)
{
	struct fake_chunk *chunk = queue->adding;
	if (chunk && CHUNK_BYTES - chunk->used >= bytes)
		return chunk;
	chunk = queue->empty;
	if (chunk)
		queue->empty = chunk->next;
	else
		chunk = malloc(sizeof(*chunk));
	chunk->next = NULL;
	chunk->used = 0;
	*(queue->adding ? &queue->adding->next : &queue->added) = chunk;
	return queue->adding = chunk;
}

void fake_queue_add(struct fake_queue *queue, CUpti_ActivityKind kind, const void *record,
		    size_t bytes, uint64_t end_ns)
{
	size_t length = fake_release_bytes(kind);
	size_t room = sizeof(struct fake_waiting) + length;
	pthread_t thread;
	pthread_mutex_lock(&queue->lock);
	struct fake_chunk *chunk = chunk_with_room(queue, room);
	struct fake_waiting *waiting = (struct fake_waiting *)(chunk->bytes + chunk->used);
	*waiting = (struct fake_waiting){.end_ns = end_ns, .bytes = (uint32_t)length};
	memcpy(waiting->record, record, bytes < length ? bytes : length);
	((CUpti_Activity *)waiting->record)->kind = kind;
	chunk->used += room;
	queue->bytes_waiting += length;
	if (!queue->is_running)
		queue->is_running = !pthread_create(&thread, NULL, give_when_many, queue);
	if (queue->bytes_waiting >= MANY && queue->bytes_waiting - length < MANY)
		pthread_cond_signal(&queue->many);
	pthread_mutex_unlock(&queue->lock);
}
