/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the rings of perf events and merges their records in order of time. */
#include "ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RECORD_MAX 65536u
#define SEEN_BYTES 64u

int sn_ring_map(struct sn_ring *ring, int fd, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *place = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	*ring = (struct sn_ring){0};
	if (place == MAP_FAILED)
		return -1;
	ring->copy = malloc(RECORD_MAX);
	if (!ring->copy) {
		munmap(place, page + bytes);
		errno = ENOMEM;
		return -1;
	}
	ring->page = place;
	ring->data = (unsigned char *)place + page;
	ring->bytes = bytes;
	return 0;
}

void sn_ring_unmap(struct sn_ring *ring)
{
	if (ring->page)
		munmap(ring->page, (size_t)sysconf(_SC_PAGESIZE) + ring->bytes);
	free(ring->copy);
	*ring = (struct sn_ring){0};
}

static void give_back(struct sn_ring *ring)
{
	/* release: the kernel may overwrite the bytes only after they have been read */
	__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
}

void sn_ring_look(struct sn_ring *ring)
{
	/* acquire: the records before it are visible */
	ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

/* Bytes at a place of the ring, also where they go on at its begin. */
static void copy_at(const struct sn_ring *ring, uint64_t at, void *to, size_t count)
{
	size_t place = at & (ring->bytes - 1), left = ring->bytes - place;
	size_t first = count < left ? count : left;
	memcpy(to, ring->data + place, first);
	memcpy((char *)to + first, ring->data, count - first);
}

void sn_ring_see(const struct sn_ring *ring, sn_ring_seer *see, void *context)
{
	struct perf_event_header header;
	unsigned char bytes[SEEN_BYTES];
	for (uint64_t at = ring->tail; ring->head - at >= sizeof(header); at += header.size) {
		copy_at(ring, at, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > ring->head - at)
			return;
		size_t count = header.size - sizeof(header);
		count = count < sizeof(bytes) ? count : sizeof(bytes);
		copy_at(ring, at + sizeof(header), bytes, count);
		see(context, &header, bytes, count);
	}
}

int sn_ring_take(struct sn_ring *ring, int (*take)(void *context, const void *bytes, size_t count),
		 void *context)
{
	int result = 0;
	while (!result && ring->tail != ring->head) {
		size_t place = ring->tail & (ring->bytes - 1), left = ring->bytes - place;
		uint64_t count = ring->head - ring->tail;
		count = count < left ? count : left;
		result = take(context, ring->data + place, count);
		ring->tail += count;
	}
	give_back(ring);
	return result;
}

/* The record at the tail in one piece; NULL if the ring is damaged. */
static const unsigned char *whole(struct sn_ring *ring, size_t *length)
{
	struct perf_event_header header;
	size_t place = ring->tail & (ring->bytes - 1), left = ring->bytes - place;
	uint64_t available = ring->head - ring->tail;
	if (available < sizeof(header) || left < sizeof(header))
		return NULL;
	memcpy(&header, ring->data + place, sizeof(header));
	*length = header.size;
	if (header.size < sizeof(header) || header.size > available || header.size > ring->bytes)
		return NULL;
	if (header.size <= left)
		return ring->data + place;
	memcpy(ring->copy, ring->data + place, left);
	memcpy(ring->copy + left, ring->data, header.size - left);
	return ring->copy;
}

/* Decodes the next record into ring->record, unless it is there already. */
static void peek(struct sn_ring *ring, sn_ring_is_fault *is_fault, void *context)
{
	while (!ring->has_record && ring->tail != ring->head) {
		size_t length;
		const unsigned char *bytes = whole(ring, &length);
		if (!bytes) { /* without its size the records behind it cannot be found */
			ring->damaged++;
			ring->tail = ring->head;
			return;
		}
		uint64_t id = sn_perf_record_sample_id(bytes, length);
		ring->has_record =
		    sn_perf_record_parse(bytes, length, id && is_fault(context, id), &ring->record);
		ring->record_bytes = length;
		if (!ring->has_record) {
			ring->damaged++;
			ring->tail += length;
		}
	}
}

/* The ring with the earliest record, and the time of the earliest record of the others. */
static struct sn_ring *earliest(struct sn_ring *rings, size_t count, uint64_t *others_ns)
{
	struct sn_ring *found = NULL;
	*others_ns = UINT64_MAX;
	for (size_t i = 0; i < count; i++) {
		if (!rings[i].has_record)
			continue;
		uint64_t time_ns = rings[i].record.time_ns;
		if (!found || time_ns < found->record.time_ns) {
			*others_ns = found ? found->record.time_ns : *others_ns;
			found = rings + i;
		} else if (time_ns < *others_ns) {
			*others_ns = time_ns;
		}
	}
	return found;
}

void sn_rings_read(struct sn_ring *rings, size_t count, uint64_t until_ns,
		   sn_ring_is_fault *is_fault, sn_ring_handler *handle, void *context)
{
	for (size_t i = 0; i < count; i++) {
		if (!rings[i].page)
			continue;
		/* acquire: the records before it are visible */
		rings[i].head = __atomic_load_n(&rings[i].page->data_head, __ATOMIC_ACQUIRE);
		peek(rings + i, is_fault, context);
	}
	uint64_t others_ns;
	for (struct sn_ring *ring; (ring = earliest(rings, count, &others_ns));) {
		uint64_t end_ns = others_ns < until_ns ? others_ns : until_ns;
		if (ring->record.time_ns > until_ns)
			break;
		uint64_t given_back = ring->tail;
		while (ring->has_record && ring->record.time_ns <= end_ns) {
			handle(context, ring);
			ring->last_ns = ring->record.time_ns;
			ring->tail += ring->record_bytes;
			ring->has_record = false;
			peek(ring, is_fault, context);
			if (ring->tail - given_back > ring->bytes / 16) {
				give_back(ring);
				given_back = ring->tail;
			}
		}
		give_back(ring);
	}
}
