/* SPDX-License-Identifier: Apache-2.0 */
/* A queue of blocks; see queue.h. Some blocks that were read are kept, for mapping them anew costs more than filling them. */
#include "queue.h"

#define KEPT 16u

bool sn_gpu_queue_init(struct sn_gpu_queue *queue)
{
	struct sn_gpu_block *block = sn_pages_map(sizeof(*block));
	queue->first = queue->write = block;
	atomic_store_explicit(&queue->read, block, memory_order_relaxed);
	return block;
}

/* ---- the writer ---- */

/* The oldest block, where the reader is done with it; else NULL. */
static struct sn_gpu_block *take_first(struct sn_gpu_queue *queue)
{
	struct sn_gpu_block *block = queue->first;
	/* acquire: what the reader did with it */
	if (block == atomic_load_explicit(&queue->read, memory_order_acquire))
		return NULL;
	queue->first = atomic_load_explicit(&block->next, memory_order_relaxed);
	queue->released++;
	return block;
}

static bool are_too_many(const struct sn_gpu_queue *queue)
{
	uint32_t taken = atomic_load_explicit(&queue->taken, memory_order_relaxed);
	return (taken / SN_GPU_BLOCK_SIZE - queue->released) %
		   (UINT32_MAX / SN_GPU_BLOCK_SIZE + 1) >
	       KEPT;
}

static struct sn_gpu_block *new_block(struct sn_gpu_queue *queue)
{
	struct sn_gpu_block *block = take_first(queue);
	while (block && are_too_many(queue)) {
		sn_pages_unmap(block, sizeof(*block));
		block = take_first(queue);
	}
	if (!block)
		return sn_pages_map(sizeof(*block));
	atomic_store_explicit(&block->next, NULL, memory_order_relaxed);
	atomic_store_explicit(&block->filled, 0, memory_order_relaxed);
	return block;
}

/* The block with room for one more; NULL without memory. */
static struct sn_gpu_block *block_with_room(struct sn_gpu_queue *queue)
{
	struct sn_gpu_block *block = queue->write;
	if (atomic_load_explicit(&block->filled, memory_order_relaxed) < SN_GPU_BLOCK_SIZE)
		return block;
	struct sn_gpu_block *next = new_block(queue);
	if (!next)
		return NULL;
	/* release: empty before the reader finds it */
	atomic_store_explicit(&block->next, next, memory_order_release);
	return queue->write = next;
}

bool sn_gpu_queue_put(struct sn_gpu_queue *queue, const struct sn_gpu_operation *operation)
{
	uint32_t put = atomic_load_explicit(&queue->put, memory_order_relaxed);
	if (put - atomic_load_explicit(&queue->taken, memory_order_relaxed) >= SN_GPU_QUEUE_MOST)
		return false;
	struct sn_gpu_block *block = block_with_room(queue);
	if (!block)
		return false;
	uint32_t at = atomic_load_explicit(&block->filled, memory_order_relaxed);
	block->operations[at] = *operation;
	/* release: the operation before its number */
	atomic_store_explicit(&block->filled, at + 1, memory_order_release);
	atomic_store_explicit(&queue->put, put + 1, memory_order_relaxed);
	return true;
}

/* ---- the reader ---- */

const struct sn_gpu_operation *sn_gpu_queue_first(struct sn_gpu_queue *queue)
{
	struct sn_gpu_block *block = atomic_load_explicit(&queue->read, memory_order_relaxed);
	if (queue->read_at == SN_GPU_BLOCK_SIZE) {
		block = atomic_load_explicit(&block->next, memory_order_acquire);
		if (!block)
			return NULL;
		queue->read_at = 0;
		/* release: the block before was read */
		atomic_store_explicit(&queue->read, block, memory_order_release);
	}
	uint32_t filled = atomic_load_explicit(&block->filled, memory_order_acquire);
	return queue->read_at < filled ? &block->operations[queue->read_at] : NULL;
}

void sn_gpu_queue_pass(struct sn_gpu_queue *queue)
{
	uint32_t taken = atomic_load_explicit(&queue->taken, memory_order_relaxed);
	queue->read_at++;
	atomic_store_explicit(&queue->taken, taken + 1, memory_order_relaxed);
}
