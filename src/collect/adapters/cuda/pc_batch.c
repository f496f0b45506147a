/* SPDX-License-Identifier: Apache-2.0 */
/* First all instructions, then all their reasons. */
#include "pc_batch.h"

#include "collect/core/arena.h"

static size_t row_bytes(const struct sn_cuda_batch *batch)
{
	return batch->reasons * sizeof(struct sn_cupti_reason);
}

struct sn_cupti_pc *sn_cuda_batch_pc(const struct sn_cuda_batch *batch, size_t index)
{
	return (struct sn_cupti_pc *)((unsigned char *)batch->samples.pcs +
				      index * batch->pc_bytes);
}

static struct sn_cupti_reason *reasons_of(const struct sn_cuda_batch *batch, size_t index)
{
	return (struct sn_cupti_reason *)((unsigned char *)batch->samples.pcs +
					  batch->capacity * batch->pc_bytes +
					  index * row_bytes(batch));
}

size_t sn_cuda_batch_count(const struct sn_cuda_batch *batch)
{
	return batch->samples.pc_count < batch->capacity ? batch->samples.pc_count
							 : batch->capacity;
}

/* CUPTI writes how many reasons it found where it is told how many fit. */
void sn_cuda_batch_empty(struct sn_cuda_batch *batch)
{
	for (size_t index = 0; index < sn_cuda_batch_count(batch); index++)
		sn_cuda_batch_pc(batch, index)->reason_count = batch->reasons;
	batch->samples.pc_count = 0;
	batch->samples.dropped = batch->samples.hidden = batch->samples.left_count = 0;
}

bool sn_cuda_batch_init(struct sn_cuda_batch *batch, size_t capacity, size_t pc_bytes,
			size_t reasons)
{
	*batch = (struct sn_cuda_batch){.samples = {.bytes = sizeof(batch->samples),
						    .most_pcs = capacity,
						    .pc_count = capacity},
					.capacity = capacity,
					.pc_bytes = pc_bytes,
					.reasons = reasons};
	batch->samples.pcs = sn_pages_map(capacity * (pc_bytes + row_bytes(batch)));
	if (!batch->samples.pcs)
		return false;
	for (size_t index = 0; index < capacity; index++) {
		struct sn_cupti_pc *pc = sn_cuda_batch_pc(batch, index);
		pc->bytes = pc_bytes;
		pc->reasons = reasons_of(batch, index);
	}
	sn_cuda_batch_empty(batch);
	return true;
}

void sn_cuda_batch_release(struct sn_cuda_batch *batch)
{
	if (batch->samples.pcs)
		sn_pages_unmap(batch->samples.pcs,
			       batch->capacity * (batch->pc_bytes + row_bytes(batch)));
	*batch = (struct sn_cuda_batch){0};
}

bool sn_cuda_batch_lies_as_asked(const struct sn_cuda_batch *batch, size_t index)
{
	return sn_cuda_batch_pc(batch, index)->reasons == reasons_of(batch, index);
}
