/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* The last entry always has room. */
#define CHUNK_BYTES (1u << 20)
#define END_BYTES   (sizeof(struct recording_head) + sizeof(struct recording_end))

static struct {
	int fd;
	uint8_t *bytes;
	uint64_t limit_bytes;
} file = {.fd = -1};

static _Atomic bool is_open;
static _Atomic uint64_t used, lost, lost_bytes;
static _Atomic uint64_t allocated; /* pages of the file that are there */
static _Atomic uint32_t threads, writers;
static __thread uint32_t thread;

/* ---- the description: one line a kind ---- */

#define DESCRIBE_FIELD(type, name) " " #name ":" #type
#define DESCRIBE(number, fields, name, follows)                                                    \
#number " " #name RECORDING_##fields(DESCRIBE_FIELD) " " #follows "\n"
static const char description[] = RECORDING_KINDS(DESCRIBE);

static void note_thread(void)
{
	char name[32] = "";
	prctl(PR_GET_NAME, name);
	record_text(RECORDING_OF_thread, NULL, 0, name);
}

bool record_open(const char *path, uint64_t limit_bytes)
{
	struct recording_header header = {.magic = RECORDING_MAGIC,
					  .version = RECORDING_VERSION,
					  .header_bytes = sizeof(header),
					  .limit_bytes = limit_bytes,
					  .pointer_bytes = sizeof(void *)};
	file.fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (file.fd >= 0 && !ftruncate(file.fd, (off_t)limit_bytes) &&
	    !posix_fallocate(file.fd, 0, CHUNK_BYTES))
		file.bytes =
		    mmap(NULL, limit_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
	if (file.fd < 0 || !file.bytes || file.bytes == MAP_FAILED) {
		fprintf(stderr, "record: cannot make '%s': %s\n", path, strerror(errno));
		if (file.fd >= 0)
			unlink(path);
		return false;
	}
	file.limit_bytes = limit_bytes - END_BYTES;
	allocated = CHUNK_BYTES;
	memcpy(file.bytes, &header, sizeof(header));
	used = sizeof(header);
	is_open = true;
	thread = ++threads;
	/* before all others, also before the thread's name */
	record_text(RECORDING_OF_description, NULL, 0, description);
	note_thread();
	return true;
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Pages are taken before they are written: on a full disk writing would end the program. */
static bool has_pages(uint64_t end)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	bool has_all = true;
	if (end <= allocated)
		return true;
	pthread_mutex_lock(&lock);
	while (has_all && end > allocated) {
		has_all = !posix_fallocate(file.fd, (off_t)(uint64_t)allocated, CHUNK_BYTES);
		allocated += has_all ? CHUNK_BYTES : 0;
	}
	pthread_mutex_unlock(&lock);
	return has_all;
}

static uint8_t *take(size_t bytes)
{
	uint64_t at = used;
	do {
		if (at + bytes > file.limit_bytes || !has_pages(at + bytes + END_BYTES)) {
			lost++;
			lost_bytes += bytes;
			return NULL;
		}
	} while (!atomic_compare_exchange_weak(&used, &at, at + bytes));
	return file.bytes + at;
}

static void put(uint8_t *at, size_t bytes, uint32_t kind, const void *fields, size_t fields_bytes,
		const void *more, size_t more_bytes)
{
	struct recording_head *head = (struct recording_head *)at;
	head->bytes = (uint32_t)bytes;
	head->time_ns = now_ns();
	head->thread = thread;
	if (fields_bytes)
		memcpy(head + 1, fields, fields_bytes);
	if (more_bytes)
		memcpy((uint8_t *)(head + 1) + fields_bytes, more, more_bytes);
	/* release: who reads the file of a process that was killed sees whole entries only */
	__atomic_store_n(&head->kind, kind, __ATOMIC_RELEASE);
}

bool record_add(uint32_t kind, const void *fields, size_t fields_bytes, const void *more,
		size_t more_bytes)
{
	size_t bytes = (sizeof(struct recording_head) + fields_bytes + more_bytes + 7) / 8 * 8;
	if (!thread && is_open) {
		thread = ++threads;
		note_thread();
	}
	writers++;
	uint8_t *at = is_open ? take(bytes) : NULL;
	if (at)
		put(at, bytes, kind, fields, fields_bytes, more, more_bytes);
	writers--;
	return at;
}

bool record_leaves_half(size_t bytes)
{
	return used + bytes <= file.limit_bytes / 2;
}

void record_text(uint32_t kind, const void *fields, size_t fields_bytes, const char *text)
{
	record_add(kind, fields, fields_bytes, text, strlen(text) + 1);
}

void record_fact(const char *key, const char *value)
{
	char text[4096];
	snprintf(text, sizeof(text), "%s=%s", key, value);
	record_text(RECORDING_OF_fact, NULL, 0, text);
}

/* ---- strings ---- */

/* By address, a hash of what was last found there. Two that meet here are written more often than is needed. */
static _Atomic uint64_t seen[8192];

void record_string(const char *text)
{
	uint64_t address = (uintptr_t)text, hash = address * 0x9e3779b97f4a7c15u;
	_Atomic uint64_t *place = &seen[hash >> 51];
	struct recording_string fields = {address};
	if (!text)
		return;
	for (const char *at = text; *at; at++)
		hash = (hash ^ (uint8_t)*at) * 1099511628211u;
	hash |= 1;
	if (*place == hash)
		return;
	record_text(RECORDING_OF_string, &fields, sizeof(fields), text);
	*place = hash;
}

/* ---- the end ---- */

void record_close(void)
{
	struct recording_end end = {0};
	if (!atomic_exchange(&is_open, false))
		return;
	/* what is behind the end of a file may not be written */
	while (writers)
		sched_yield();
	end.lost = lost;
	end.lost_bytes = lost_bytes;
	put(file.bytes + used, END_BYTES, RECORDING_OF_end, &end, sizeof(end), NULL, 0);
	if (ftruncate(file.fd, (off_t)(used + END_BYTES)))
		perror("record: cannot cut the recording");
}

void record_forget(void)
{
	is_open = false;
}
