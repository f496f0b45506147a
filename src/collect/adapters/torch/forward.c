/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which context created which autograd node.
 *
 * Sequence numbers count up in each thread, so a thread's contexts are in a ring indexed by
 * sequence number: the last 65,536 nodes that the thread created, eight bytes each, in chunks that
 * are mapped when first needed. An entry contains the low half of its number, by which a reader
 * recognises an entry of another number. A node older than that is reported without its forward
 * context, and counted.
 *
 * The backward pass may run in another thread than the forward pass. The threads find each other by
 * the thread numbers that PyTorch stores in nodes.
 */
#include "graph.h"

#include "collect/core/cct_copy.h"
#include "collect/record/trace.h"

#include <string.h>

#define RING_ENTRIES   (SN_TORCH_CHUNKS << SN_TORCH_CHUNK_BITS)
#define CHUNK_ENTRIES  (1u << SN_TORCH_CHUNK_BITS)
#define THREAD_ENTRIES 4096u
#define COPY_ENTRIES   1024u

/* Contexts of other threads, copied into this thread's tree. */
struct sn_torch_copy {
	struct {
		uint32_t owner, node, copy;
	} entries[COPY_ENTRIES];
	struct sn_copy_room room;
};

/* By PyTorch's thread number; a thread may displace one whose number is smaller by 4,096. */
static _Atomic(struct sn_torch_thread *) threads[THREAD_ENTRIES];

static struct sn_torch_thread *thread_of(uint64_t torch_id)
{
	/* acquire: the thread's state is complete */
	struct sn_torch_thread *other =
	    atomic_load_explicit(&threads[torch_id % THREAD_ENTRIES], memory_order_acquire);
	return other && other->torch_id == torch_id ? other : NULL;
}

static bool register_thread(struct sn_torch_thread *self)
{
	static _Atomic(void *) known;
	uint64_t (*current_id)(void) = atomic_load_explicit(&known, memory_order_relaxed);
	if (!current_id) {
		current_id =
		    (uint64_t(*)(void))sn_torch_symbol("_ZN2at14RecordFunction15currentThreadIdEv");
		if (!current_id)
			return false;
		atomic_store_explicit(&known, current_id, memory_order_relaxed);
	}
	self->torch_id = current_id();
	atomic_store_explicit(&threads[self->torch_id % THREAD_ENTRIES], self,
			      memory_order_release);
	return true;
}

bool sn_torch_is_known(struct sn_torch_thread *self)
{
	return self->torch_id || register_thread(self);
}

static _Atomic uint64_t *ring_entry(struct sn_torch_thread *self, uint64_t sequence)
{
	_Atomic(_Atomic uint64_t *) *chunk = &self->ring[sequence % RING_ENTRIES / CHUNK_ENTRIES];
	_Atomic uint64_t *entries = atomic_load_explicit(chunk, memory_order_acquire);
	if (!entries) {
		entries = sn_pages_map(CHUNK_ENTRIES * sizeof(*entries));
		if (!entries)
			return NULL;
		/* all ones marks an unused entry: its node is SN_NODE_NONE */
		memset((void *)entries, 0xff, CHUNK_ENTRIES * sizeof(*entries));
		atomic_store_explicit(chunk, entries, memory_order_release);
	}
	return &entries[sequence % CHUNK_ENTRIES];
}

void sn_torch_forward(uint64_t sequence, uintptr_t stack, uintptr_t pc)
{
	struct sn_thread *thread = sn_enter();
	if (!thread)
		return;
	struct sn_torch_thread *self = sn_torch_thread(thread);
	if (self && sn_torch_is_known(self)) {
		_Atomic uint64_t *entry = ring_entry(self, sequence);
		uint32_t node = sn_context(self->thread, stack, pc, false);
		if (sn_torch_graph_on())
			sn_torch_graph_forward(self, sequence);
		/* release: a reader in another thread sees a complete node record */
		if (entry)
			atomic_store_explicit(entry, sequence << 32 | node, memory_order_release);
		atomic_store_explicit(&self->next_sequence, sequence + 1, memory_order_relaxed);
		if (sn_trace_wants(SN_TRACE_SOURCE_OPERATORS))
			sn_torch_exact_link(self, sequence);
	}
	sn_leave(thread);
}

bool sn_torch_was_given(uint64_t torch_id, uint64_t sequence)
{
	struct sn_torch_thread *other = thread_of(torch_id);
	return other && torch_id &&
	       sequence < atomic_load_explicit(&other->next_sequence, memory_order_relaxed);
}

/* ---- contexts of other threads ---- */

uint32_t sn_torch_context_of(struct sn_torch_thread *self, const struct sn_torch_thread *other,
			     uint32_t node)
{
	if (!self->copies) {
		self->copies = sn_pages_map(sizeof(*self->copies));
		if (!self->copies)
			return SN_NODE_NONE;
		memset(self->copies->entries, 0xff, sizeof(self->copies->entries));
	}
	/* PyTorch's numbers, unlike ours, remain unique after a fork */
	uint32_t owner = (uint32_t)other->torch_id;
	uint32_t place = (node * 0x9E3779B1u ^ owner * 0x85EBCA77u) >> 22;
	typeof(&self->copies->entries[0]) entry = &self->copies->entries[place % COPY_ENTRIES];
	if (entry->owner != owner || entry->node != node) {
		uint32_t copy = sn_cct_copy_path(&self->thread->cct, &other->thread->cct, node,
						 SN_COPY_ALL, &self->copies->room);
		if (copy == SN_NODE_NONE)
			return SN_NODE_NONE;
		entry->owner = owner;
		entry->node = node;
		entry->copy = copy;
	}
	return entry->copy;
}

uint32_t sn_torch_forward_context(struct sn_torch_thread *self, uint64_t torch_id,
				  uint64_t sequence)
{
	struct sn_torch_thread *other = thread_of(torch_id);
	if (!other)
		return SN_NODE_NONE;
	_Atomic uint64_t *chunk = atomic_load_explicit(
	    &other->ring[sequence % RING_ENTRIES / CHUNK_ENTRIES], memory_order_acquire);
	if (!chunk)
		return SN_NODE_NONE;
	uint64_t entry =
	    atomic_load_explicit(&chunk[sequence % CHUNK_ENTRIES], memory_order_acquire);
	if (entry >> 32 != (sequence & UINT32_MAX) || (uint32_t)entry == SN_NODE_NONE)
		return SN_NODE_NONE;
	return other == self ? (uint32_t)entry : sn_torch_context_of(self, other, (uint32_t)entry);
}
