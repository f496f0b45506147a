/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as the format of a tracepoint and as a ring full of its records: read, understood
 * by that format, and made states of. What comes out must be in order: no interval ends before it
 * begins, and the states of a thread do not overlap. See fuzz_os.sh.
 */
#include "system/decode.h"
#include "system/ring.h"
#include "system/state.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RING = 8192, TIDS = 64 };

struct fuzz {
	struct sn_os_layout layout;
	struct sn_os_states *states;
	uint64_t state_end_ns[TIDS];
	uint64_t items;
	uint64_t last_ns;
	bool is_disordered; /* rings are in order of time; of what is not, states may overlap */
	bool is_wide, has_namespaces; /* of several pid namespaces threads may have one number */
};

static void see(void *context, const struct sn_os_item *item)
{
	struct fuzz *fuzz = context;
	fuzz->items++;
	if (item->end_ns < item->start_ns || (item->name && strlen(item->name) > 256))
		abort();
	if (item->layer != SN_OS_LAYER_STATE || item->tid < 0 || item->tid >= TIDS)
		return;
	if (item->start_ns < fuzz->state_end_ns[item->tid] && !fuzz->is_disordered &&
	    !(fuzz->is_wide && fuzz->has_namespaces))
		abort();
	fuzz->state_end_ns[item->tid] = item->end_ns;
}

static bool is_fault(void *context, uint64_t id)
{
	(void)context;
	return id % SN_OS_EVENT_KINDS == SN_OS_FAULT_MINOR;
}

static void take(void *context, struct sn_ring *ring)
{
	struct fuzz *fuzz = context;
	const struct sn_perf_record *record = &ring->record;
	uint32_t kind = (uint32_t)(record->id % SN_OS_EVENT_KINDS);
	struct sn_os_event event;
	fuzz->is_disordered |= record->time_ns < fuzz->last_ns;
	fuzz->last_ns = record->time_ns;
	bool is_known =
	    record->type == PERF_RECORD_SAMPLE && kind < SN_OS_TRACEPOINTS
		? sn_os_decode_sample(&fuzz->layout, (enum sn_os_event_kind)kind, record, &event)
		: sn_os_decode_record((enum sn_os_event_kind)kind, record, &event);
	if (!is_known)
		return;
	fuzz->has_namespaces |=
	    event.tid > 0 && event.kernel_tid > 0 && event.tid != event.kernel_tid;
	if (event.kind == SN_OS_LOST)
		event.value = (int64_t)ring->last_ns;
	sn_os_states_add(fuzz->states, &event);
	if (event.kind == SN_OS_THREAD_END && event.other >= 0 && event.other < TIDS)
		fuzz->state_end_ns[event.other] = 0; /* its number may come again */
}

static void read_ring(struct fuzz *fuzz, const uint8_t *data, size_t size)
{
	static struct perf_event_mmap_page pages[2];
	static unsigned char rings_data[2][RING];
	struct sn_ring rings[2] = {{0}};
	for (int i = 0; i < 2; i++) {
		size_t bytes = size / 2 < RING ? size / 2 : RING, begin = RING - 100;
		for (size_t k = 0; k < bytes; k++)
			rings_data[i][(begin + k) % RING] = data[(size_t)i * (size / 2) + k];
		pages[i].data_tail = begin;
		pages[i].data_head = begin + bytes;
		rings[i] = (struct sn_ring){.page = pages + i,
					    .data = rings_data[i],
					    .bytes = RING,
					    .tail = begin,
					    .copy = malloc(65536)};
		if (!rings[i].copy)
			abort();
	}
	sn_rings_read(rings, 2, UINT64_MAX / 2, is_fault, take, fuzz);
	sn_rings_read(rings, 2, UINT64_MAX, is_fault, take, fuzz);
	for (int i = 0; i < 2; i++) {
		if (rings[i].tail != rings[i].head)
			abort();
		free(rings[i].copy);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz fuzz = {0};
	struct sn_tracepoint tracepoint;
	struct sn_error error = {""};
	/* the text ends at its first NUL; kind and whether all threads count come first */
	if (size < 3)
		return 0;
	enum sn_os_event_kind kind = data[0] % SN_OS_TRACEPOINTS;
	fuzz.is_wide = data[1] & 1;
	size_t text = strnlen((const char *)data + 2, size - 2);
	if (sn_tracepoint_parse((const char *)data + 2, text, &tracepoint, &error)) {
		if (!*error.text)
			abort();
		tracepoint = (struct sn_tracepoint){0};
	}
	sn_os_layout_init(&fuzz.layout, kind, &tracepoint);
	struct sn_os_sink sink = {see, NULL, &fuzz};
	fuzz.states = sn_os_states_new(&sink, fuzz.is_wide);
	if (!fuzz.states)
		abort();
	size_t records = 2 + text < size ? 2 + text + 1 : size; /* behind that NUL */
	read_ring(&fuzz, data + records, size - records);
	memset(fuzz.state_end_ns, 0, sizeof(fuzz.state_end_ns));
	sn_os_states_finish(fuzz.states, UINT64_MAX);
	sn_os_states_free(fuzz.states);
	return 0;
}
