/* SPDX-License-Identifier: Apache-2.0 */
#include "buffers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Records are given away when so many bytes wait, by a thread of CUPTI's, as the real one does it. */
#define MANY (256u << 10)

struct waiting {
	uint64_t end_ns;
	size_t bytes;
	struct waiting *next;
	_Alignas(8) char record[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t giving = PTHREAD_MUTEX_INITIALIZER; /* taken before the other */
static pthread_cond_t many = PTHREAD_COND_INITIALIZER;
static struct waiting *first, **last = &first;
static size_t bytes_waiting;
static bool is_running;
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static _Atomic size_t lost; /* subscribers ask for it as they take a buffer */

static struct {
	uint8_t *bytes;
	size_t size, used;
} buffer;

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

CUptiResult fake_cuptiGetTimestamp(uint64_t *time)
{
	*time = fake_cupti_time(fake_now_ns());
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc function)
{
	their_clock.function = function ? function : real_time;
	compare_clocks();
	return CUPTI_SUCCESS;
}

/* ---- giving away, with `giving` held ---- */

static void give(void)
{
	if (buffer.bytes && complete)
		complete(NULL, 0, buffer.bytes, buffer.size, buffer.used);
	memset(&buffer, 0, sizeof(buffer));
}

static bool have_room(size_t bytes)
{
	size_t most_records = 0;
	if (buffer.bytes && buffer.size - buffer.used >= bytes)
		return true;
	give();
	if (request)
		request(&buffer.bytes, &buffer.size, &most_records);
	return buffer.bytes && buffer.size >= bytes;
}

void fake_buffers_open(void)
{
	pthread_mutex_lock(&giving);
	if (!buffer.bytes)
		have_room(0);
	pthread_mutex_unlock(&giving);
}

/* The first record that is over, taken away; NULL if there is none. */
static struct waiting *next_over(uint64_t now_ns)
{
	pthread_mutex_lock(&lock);
	struct waiting **at = &first;
	while (*at && (*at)->end_ns > now_ns)
		at = &(*at)->next;
	struct waiting *found = *at;
	if (found) {
		*at = found->next;
		if (last == &found->next)
			last = at;
		bytes_waiting -= found->bytes;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

static void give_all(bool is_forced)
{
	uint64_t now_ns = is_forced ? UINT64_MAX : fake_now_ns();
	struct waiting *record;
	pthread_mutex_lock(&giving);
	while ((record = next_over(now_ns))) {
		if (have_room(record->bytes)) {
			memcpy(buffer.bytes + buffer.used, record->record, record->bytes);
			buffer.used += record->bytes;
		} else {
			lost++;
		}
		free(record);
	}
	pthread_mutex_unlock(&giving);
}

void fake_buffers_flush(bool is_forced)
{
	give_all(is_forced);
	pthread_mutex_lock(&giving);
	give();
	pthread_mutex_unlock(&giving);
}

static void *give_when_many(void *unused)
{
	(void)unused;
	for (;;) {
		pthread_mutex_lock(&lock);
		while (bytes_waiting < MANY)
			pthread_cond_wait(&many, &lock);
		pthread_mutex_unlock(&lock);
		give_all(false);
		/* those that are not over stay, and are many still */
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	}
	return NULL;
}

void fake_buffers_add(const void *record, size_t bytes, uint64_t end_ns)
{
	struct waiting *waiting = malloc(sizeof(*waiting) + bytes);
	pthread_t thread;
	*waiting = (struct waiting){.end_ns = end_ns, .bytes = bytes};
	memcpy(waiting->record, record, bytes);
	pthread_mutex_lock(&lock);
	*last = waiting;
	last = &waiting->next;
	bytes_waiting += bytes;
	if (!is_running)
		is_running = !pthread_create(&thread, NULL, give_when_many, NULL);
	if (bytes_waiting >= MANY)
		pthread_cond_signal(&many);
	pthread_mutex_unlock(&lock);
}

/* ---- what subscribers call ---- */

CUptiResult fake_cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
						CUpti_BuffersCallbackCompleteFunc completed)
{
	pthread_mutex_lock(&giving);
	request = requested;
	complete = completed;
	pthread_mutex_unlock(&giving);
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiActivityFlushAll(uint32_t flag)
{
	fake_buffers_flush(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream,
						   size_t *dropped)
{
	(void)context;
	(void)stream;
	*dropped = atomic_exchange(&lost, 0);
	return CUPTI_SUCCESS;
}

/* The bytes of a record, by its kind. */
static size_t size_of(CUpti_ActivityKind kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return sizeof(KERNEL_RECORD);
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return sizeof(COPY_RECORD);
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return sizeof(SET_RECORD);
	case CUPTI_ACTIVITY_KIND_DRIVER:
	case CUPTI_ACTIVITY_KIND_RUNTIME:
		return sizeof(CUpti_ActivityAPI);
	case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
		return sizeof(WAIT_RECORD);
	case CUPTI_ACTIVITY_KIND_DEVICE:
		return sizeof(DEVICE_RECORD);
	case CUPTI_ACTIVITY_KIND_MEMORY2:
		return sizeof(MEMORY_RECORD);
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		return sizeof(GRAPH_RECORD);
	case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
		return sizeof(CUpti_ActivityExternalCorrelation);
	default:
		return 0;
	}
}

CUptiResult fake_cuptiActivityGetNextRecord(uint8_t *bytes, size_t valid, CUpti_Activity **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + size_of((*record)->kind) : bytes;
	if (next >= bytes + valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)next;
	return size_of((*record)->kind) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}
