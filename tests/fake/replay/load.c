/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a recording. The file is mapped for this process alone, and what its records point at is made to point into it. */
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

/* ---- strings, by the address that they had ---- */

struct string {
	uint64_t address;
	const char *text; /* the last that was there */
};

static void *strings;

static int compare(const void *a, const void *b)
{
	uint64_t left = ((const struct string *)a)->address,
		 right = ((const struct string *)b)->address;
	return (left > right) - (left < right);
}

static void set_string(uint64_t address, const char *text)
{
	struct string *one = malloc(sizeof(*one));
	*one = (struct string){address, text};
	struct string **place = tsearch(one, &strings, compare);
	if (*place != one)
		free(one);
	(*place)->text = text;
}

uint64_t replay_string_at(uint64_t address)
{
	struct string key = {.address = address}, **found = tfind(&key, &strings, compare);
	return (uintptr_t)(found ? (*found)->text : "");
}

/* ---- entries ---- */

static void *fields_of(const struct recording_head *head)
{
	return (void *)(head + 1);
}

/* What follows the fields, as a text that ends. */
const char *replay_text_of(const struct recording_head *head, size_t fields_bytes)
{
	const char *text = (const char *)(head + 1) + fields_bytes;
	size_t most = head->bytes - sizeof(*head) - fields_bytes;
	if (head->bytes < sizeof(*head) + fields_bytes || !memchr(text, 0, most))
		replay_fail("an entry is too short");
	return text;
}

static size_t length_of(uint32_t kind)
{
	return kind < REPLAY_KINDS ? replay.lengths[kind] : 0;
}

static void name_kernels(const struct recording_head *head)
{
	const struct recording_buffer *buffer = fields_of(head);
	uint8_t *bytes = (uint8_t *)(buffer + 1);
	size_t length, place = offsetof(struct sn_cupti_kernel, name);
	for (uint64_t at = 0; at + sizeof(uint32_t) <= buffer->valid; at += length) {
		uint32_t kind = *(uint32_t *)(bytes + at);
		length = length_of(kind);
		if (!length)
			return;
		bool is_kernel = kind == SN_CUPTI_KERNEL || kind == SN_CUPTI_CONCURRENT_KERNEL;
		if (!is_kernel || length < place + 8 || at + length > buffer->valid)
			continue;
		uint64_t *name = (uint64_t *)(bytes + at + place);
		*name = *name ? replay_string_at(*name) : 0;
	}
}

static enum replay_phase phase;
static int64_t offset_ns;			 /* from the recorder's clock to CUPTI's */
static uint32_t last_events[REPLAY_THREADS + 1]; /* of each thread, from 1 on; 0: it has none */

static void add_event(const struct recording_head *head)
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
				  .cupti_ns = head->time_ns + (uint64_t)offset_ns,
				  .thread = head->thread,
				  .phase = phase};
}

static void read_step(const struct recording_head *head)
{
	const struct recording_step *step = fields_of(head);
	const char *name = replay_text_of(head, sizeof(*step));
	if (!strcmp(name, "cuptiSubscribe"))
		replay.subscribed = step->result;
	if (!strcmp(name, "cuptiUnsubscribe"))
		phase = REPLAY_LATE;
	if (strcmp(name, "cuptiActivityFlushAll") || replay.flushes == REPLAY_FLUSHES)
		return;
	if (!step->has_ended) {
		phase = (enum replay_phase)(REPLAY_FLUSH + replay.flushes);
		replay.flushed[replay.flushes] = -1;
	} else {
		replay.flushed[replay.flushes++] = step->result;
	}
}

static void read_fact(const char *text)
{
	if (!strncmp(text, "cupti.version=", 14))
		replay.version = (uint32_t)strtoul(text + 14, NULL, 10);
	if (!strncmp(text, "cupti.holder=", 13))
		replay.holder = text + 13;
}

static void read_name(const struct recording_head *head)
{
	const struct recording_name *name = fields_of(head);
	if (name->domain < REPLAY_DOMAINS && name->cbid < REPLAY_CBIDS)
		replay.names[name->domain][name->cbid] = replay_text_of(head, sizeof(*name));
}

static void read_callback(const struct recording_head *head)
{
	struct recording_callback *call = fields_of(head);
	call->name = replay_string_at(call->name);
	call->symbol = call->symbol ? replay_string_at(call->symbol) : 0;
	if (call->domain < REPLAY_DOMAINS && call->cbid < REPLAY_CBIDS && phase == REPLAY_RUNS)
		add_event(head);
}

/* Of others it is not known what they told. */
static void read_resource(const struct recording_head *head)
{
	const struct recording_resource *resource = fields_of(head);
	bool is_context = resource->cbid == SN_CUPTI_CONTEXT_CREATED ||
			  resource->cbid == SN_CUPTI_CONTEXT_DESTROY_STARTING;
	if (is_context && phase == REPLAY_RUNS)
		add_event(head);
}

static void read_buffer(const struct recording_head *head)
{
	const struct recording_buffer *buffer = fields_of(head);
	if (buffer->valid > head->bytes - sizeof(*head) - sizeof(*buffer))
		replay_fail("a buffer is longer than its entry");
	name_kernels(head);
	add_event(head);
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

static void read_entry(const struct recording_head *head)
{
	if (head->bytes < sizeof(*head) + fields_bytes(head->kind))
		replay_fail("an entry is too short");
	if (!head->thread || head->thread > REPLAY_THREADS)
		replay_fail("an entry is of no thread");
	switch (head->kind) {
	case RECORDING_OF_fact:
		read_fact(replay_text_of(head, 0));
		break;
	case RECORDING_OF_name:
		read_name(head);
		break;
	case RECORDING_OF_string:
		set_string(((struct recording_string *)fields_of(head))->address,
			   replay_text_of(head, sizeof(struct recording_string)));
		break;
	case RECORDING_OF_clock: {
		const struct recording_clock *clock = fields_of(head);
		if (!clock->result)
			offset_ns = (int64_t)(clock->cupti_ns - head->time_ns);
		break;
	}
	case RECORDING_OF_enabled: {
		const struct recording_enabled *enabled = fields_of(head);
		if (enabled->kind < REPLAY_KINDS)
			replay.enabled[enabled->kind] = enabled->result;
		break;
	}
	case RECORDING_OF_length: {
		const struct recording_length *length = fields_of(head);
		if (length->kind < REPLAY_KINDS)
			replay.lengths[length->kind] = length->length;
		break;
	}
	case RECORDING_OF_step:
		read_step(head);
		break;
	case RECORDING_OF_callback:
		read_callback(head);
		break;
	case RECORDING_OF_node:
	case RECORDING_OF_module:
		if (phase == REPLAY_RUNS)
			add_event(head);
		break;
	case RECORDING_OF_resource:
		read_resource(head);
		break;
	case RECORDING_OF_buffer:
		read_buffer(head);
		break;
	default:
		break;
	}
	/* what was read in a callback can be read in it again: by the thread that is told */
	replay_load_samples(head, last_events[head->thread] - 1);
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
		const struct recording_head *head = (const struct recording_head *)(bytes + at);
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
	replay.holder = "";
	for (uint32_t kind = 0; kind < REPLAY_KINDS; kind++)
		replay.enabled[kind] = -1;
	int fd = replay.path ? open(replay.path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0 || fstat(fd, &status) || status.st_size <= 0)
		replay_fail("it cannot be opened (FAKE_REPLAY)");
	void *bytes =
	    mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		replay_fail("it cannot be mapped");
	close(fd);
	read_entries(bytes, (size_t)status.st_size);
}

const struct replay *replay_recording(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, load);
	return &replay;
}
