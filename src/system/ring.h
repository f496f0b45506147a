/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rings that the kernel writes records into, one for each processor, and reading them as one
 * sequence in order of time.
 *
 * Records are read in place and released to the kernel afterwards. A record that is so recent that
 * another processor may still write an earlier one stays in its ring.
 */
#pragma once

#include "perf_record.h"

struct sn_ring {
	struct perf_event_mmap_page *page; /* NULL: not mapped */
	const unsigned char *data;
	size_t bytes;	     /* of data, a power of two */
	uint64_t head, tail; /* the ends of what the kernel wrote and of what was read */
	/* the record at `tail` */
	bool has_record;
	struct sn_perf_record record;
	uint64_t record_bytes;
	unsigned char *copy; /* of a record that wraps around the end */
	uint64_t last_ns;    /* of the record taken last */
	uint64_t damaged;    /* records that could not be read */
};

/* Maps the ring of a perf event: `bytes` of data, a power of two of at least a page. 0, or -1 with
 * errno. */
int sn_ring_map(struct sn_ring *ring, int fd, size_t bytes);
void sn_ring_unmap(struct sn_ring *ring);

/*
 * Records as they are, of which none is parsed: sn_ring_look notes what there is to take, sn_ring_see calls `see` with the header and the first bytes of each of those records, and
 * sn_ring_take gives them to `take`, in one or two pieces, and then back to the kernel. 0, or what `take` returns.
 */
void sn_ring_look(struct sn_ring *ring);
typedef void sn_ring_seer(void *context, const struct perf_event_header *header,
			  const unsigned char *bytes, size_t count);
void sn_ring_see(const struct sn_ring *ring, sn_ring_seer *see, void *context);
int sn_ring_take(struct sn_ring *ring, int (*take)(void *context, const void *bytes, size_t count),
		 void *context);

/* Whether samples of that event have the fields of SN_PERF_FAULT. */
typedef bool sn_ring_is_fault(void *context, uint64_t id);
typedef void sn_ring_handler(void *context, struct sn_ring *ring);

/* Calls `handle` with each record up to `until_ns`, of all rings, in order of time: ring->record.
 */
void sn_rings_read(struct sn_ring *rings, size_t count, uint64_t until_ns,
		   sn_ring_is_fault *is_fault, sn_ring_handler *handle, void *context);
