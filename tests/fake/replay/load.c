/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a recording, whatever the vendor. The file is mapped for this process alone, so that what it points at can be made to point into it. */
#include "play.h"

#include <fcntl.h>
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct replay replay;

void replay_fail(const char *why)
{
	fprintf(stderr, "replay: cannot play '%s': %s\n", replay.path ? replay.path : "", why);
	exit(128);
}

void *replay_new(size_t bytes)
{
	void *made = calloc(1, bytes);
	if (!made)
		replay_fail("out of memory");
	return made;
}

/* ---- strings, and what else is pointed at, by the address that it had ---- */

struct string {
	uint64_t address;
	const void *what; /* the last that was there */
};

static void *strings;

static int compare(const void *a, const void *b)
{
	uint64_t left = ((const struct string *)a)->address,
		 right = ((const struct string *)b)->address;
	return (left > right) - (left < right);
}

void replay_put_at(uint64_t address, const void *what)
{
	struct string *one = replay_new(sizeof(*one));
	*one = (struct string){address, what};
	struct string **place = tsearch(one, &strings, compare);
	if (*place != one)
		free(one);
	(*place)->what = what;
}

const void *replay_at(uint64_t address)
{
	struct string key = {.address = address}, **found = tfind(&key, &strings, compare);
	return found ? (*found)->what : NULL;
}

uint64_t replay_string_at(uint64_t address)
{
	const void *text = replay_at(address);
	return (uintptr_t)(text ? text : "");
}

/* ---- entries ---- */

const char *replay_text_of(const struct recording_head *head, size_t fields_bytes)
{
	const char *text = (const char *)(head + 1) + fields_bytes;
	size_t most = head->bytes - sizeof(*head) - fields_bytes;
	if (head->bytes < sizeof(*head) + fields_bytes || !memchr(text, 0, most))
		replay_fail("an entry is too short");
	return text;
}

size_t replay_rest_of(const struct recording_head *head, size_t fields_bytes)
{
	return head->bytes - sizeof(*head) - fields_bytes;
}

enum replay_phase replay_phase;
static int64_t offset_ns;			 /* from the recorder's clock to the vendor's */
static uint32_t last_events[REPLAY_THREADS + 1]; /* of each thread, from 1 on; 0: it has none */

uint32_t replay_last_event(uint32_t thread)
{
	return last_events[thread] - 1;
}

void replay_add_event(const struct recording_head *head)
{
	static uint32_t room;
	if (replay.count == room) {
		room = room ? 2 * room : 1024;
		replay.events = realloc(replay.events, room * sizeof(*replay.events));
		if (!replay.events)
			replay_fail("out of memory");
	}
	replay.threads = head->thread > replay.threads ? head->thread : replay.threads;
	last_events[head->thread] = replay.count + 1;
	replay.events[replay.count++] =
	    (struct replay_event){.head = head,
				  .vendor_ns = head->time_ns + (uint64_t)offset_ns,
				  .thread = head->thread,
				  .phase = replay_phase};
}

/* Bytes that each kind's fields take. */
static size_t fields_bytes(uint32_t kind)
{
	switch (kind) {
#define BYTES_OF_NOTHING(name) 0
#define BYTES(number, fields, name, follows)                                                       \
	case number:                                                                               \
		return 0 RECORDING_##fields(PLUS_FIELD);
#define PLUS_FIELD(type, name) +sizeof(type)
		RECORDING_KINDS(BYTES)
	default:
		return 0;
	}
}

static void read_entry(struct recording_head *head)
{
	if (head->bytes < sizeof(*head) + fields_bytes(head->kind))
		replay_fail("an entry is too short");
	if (!head->thread || head->thread > REPLAY_THREADS)
		replay_fail("an entry is of no thread");
	if (head->kind == RECORDING_OF_string) {
		const struct recording_string *string = (const void *)(head + 1);
		replay_put_at(string->address, replay_text_of(head, sizeof(*string)));
	} else if (head->kind == RECORDING_OF_clock) {
		const struct recording_clock *clock = (const void *)(head + 1);
		if (!clock->result)
			offset_ns = (int64_t)(clock->cupti_ns - head->time_ns);
	} else {
		replay_load(head);
	}
}

/* An entry without a kind was not written when its process ended; none follow one without a length. */
static void read_entries(uint8_t *bytes, size_t size)
{
	const struct recording_header *header = (const struct recording_header *)bytes;
	if (size < sizeof(*header) || memcmp(header->magic, RECORDING_MAGIC, 8))
		replay_fail("it is no recording");
	if (header->version != RECORDING_VERSION || header->pointer_bytes != sizeof(void *))
		replay_fail("it is of another version or machine");
	for (size_t at = header->header_bytes; at + sizeof(struct recording_head) <= size;) {
		struct recording_head *head = (struct recording_head *)(bytes + at);
		if (!head->bytes)
			break;
		if (head->bytes % 8 || head->bytes < sizeof(*head) || head->bytes > size - at)
			replay_fail("an entry ends outside of it");
		if (head->kind)
			read_entry(head);
		at += head->bytes;
	}
}

static void load(void)
{
	struct stat status;
	replay.path = getenv("FAKE_REPLAY");
	int fd = replay.path ? open(replay.path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0 || fstat(fd, &status) || status.st_size <= 0)
		replay_fail("it cannot be opened (FAKE_REPLAY)");
	void *bytes =
	    mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		replay_fail("it cannot be mapped");
	close(fd);
	replay_load_begin();
	read_entries(bytes, (size_t)status.st_size);
}

const struct replay *replay_recording(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, load);
	return &replay;
}
