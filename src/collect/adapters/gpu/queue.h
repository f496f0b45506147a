/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device did on its way to the thread that launched it: a queue of blocks, which has one writer and one reader at a
 * time. It is as long as what waits in it: a thread that waits for a graph's replays reads nothing meanwhile, and each of them
 * is some hundred operations. Beyond SN_GPU_QUEUE_MOST nothing is taken.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: the reader.
 */
#pragma once

#include "gpu.h"

#define SN_GPU_BLOCK_SIZE 1024u
#define SN_GPU_QUEUE_MOST (512u * SN_GPU_BLOCK_SIZE)

struct sn_gpu_block {
	_Atomic(struct sn_gpu_block *) next;
	_Atomic uint32_t filled;
	struct sn_gpu_operation operations[SN_GPU_BLOCK_SIZE];
};

/* Blocks in the order in which they were written: those before the reader's are free, and are written again. */
struct sn_gpu_queue {
	/* the writer's, and apart from them the reader's, in cache lines of their own */
	_Alignas(64) struct sn_gpu_block *first, *write; /* the oldest, and the newest */
	uint32_t released;				 /* how many were the oldest */
	_Atomic uint32_t put;				 /* how many operations, growing for ever */
	_Alignas(64) _Atomic(struct sn_gpu_block *) read;
	uint32_t read_at; /* in that block */
	_Atomic uint32_t taken;
};

/* False without memory. MT: once. */
bool sn_gpu_queue_init(struct sn_gpu_queue *queue);
/* False where it is too long, or without memory. MT: the writer. */
bool sn_gpu_queue_put(struct sn_gpu_queue *queue, const struct sn_gpu_operation *operation);
/* How many operations wait. MT: yes. */
static inline uint32_t sn_gpu_queue_count(const struct sn_gpu_queue *queue)
{
	uint32_t taken = atomic_load_explicit(&queue->taken, memory_order_relaxed);
	return atomic_load_explicit(&queue->put, memory_order_relaxed) - taken;
}
/* The oldest, valid until sn_gpu_queue_pass goes on to the next; NULL: there is none. */
const struct sn_gpu_operation *sn_gpu_queue_first(struct sn_gpu_queue *queue);
void sn_gpu_queue_pass(struct sn_gpu_queue *queue);
