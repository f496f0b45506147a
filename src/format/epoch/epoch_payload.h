/* SPDX-License-Identifier: Apache-2.0 */
/* What is in the frames of an epoch (epoch_frame.h): encoding and decoding their payloads. */
#pragma once

#include "epoch.h"
#include "epoch_dictionary.h"

#define SN_EPOCH_ROWS_MAX     (1u << 22) /* counts of a frame */
#define SN_EPOCH_STACKS_MAX   (1u << 20) /* stacks of a frame */
#define SN_EPOCH_FRAMES_MAX   (1u << 22) /* of all stacks of a frame */
#define SN_EPOCH_LOSSES_MAX   256	 /* of a part */
#define SN_EPOCH_REPLACES_MAX (1u << 16)

/* What the parts of an epoch come to. */
struct sn_epoch_summary {
	uint64_t begin_ns,
	    end_ns; /* CLOCK_REALTIME; the begin is UINT64_MAX where there is no part */
	uint64_t parts, flushes, samples, lost;
	/* The end by CLOCK_BOOTTIME of a boot; all 0 where it is not of one boot. */
	uint64_t end_boot_ns;
	uint8_t boot_id[16];
};
void sn_epoch_summary_init(struct sn_epoch_summary *summary);
void sn_epoch_summary_add(struct sn_epoch_summary *summary, const struct sn_epoch_flush *flush);

/* The head of a file. */
struct sn_epoch_head {
	uint64_t id;			 /* grows with each new file of a store */
	uint32_t level;			 /* enum sn_epoch_level */
	struct sn_epoch_summary summary; /* that of no part in a file of level FLUSHES */
	uint64_t *replaces;		 /* ids of files that it was merged from; from malloc */
	uint32_t replace_count;
};
void sn_epoch_head_put(const struct sn_epoch_head *head, struct sn_buffer *buffer);
/* 0; SN_ERR_FORMAT; SN_ERR_VERSION; or SN_ERR_MEMORY. Free head->replaces after 0. */
int sn_epoch_head_get(struct sn_bytes payload, struct sn_epoch_head *head);

void sn_epoch_flush_put(const struct sn_epoch_flush *flush, struct sn_buffer *buffer);
/* Texts of the flush are those of the payload; `losses` has SN_EPOCH_LOSSES_MAX. The cursor fails
 * where it is damaged. */
void sn_epoch_flush_get(struct sn_cursor *cursor, struct sn_epoch_flush *flush,
			struct sn_epoch_loss *losses);

/* Counts and stacks of one frame. */
struct sn_epoch_rows {
	struct sn_epoch_count *counts;
	size_t count_count, count_capacity;
	struct sn_epoch_stack *stacks; /* frames: NULL; they are frames[first] on */
	size_t *firsts;		       /* by stack */
	size_t stack_count, stack_capacity, first_capacity;
	struct sn_epoch_frame *frames;
	size_t frame_count, frame_capacity;
};
void sn_epoch_rows_release(struct sn_epoch_rows *rows);
void sn_epoch_rows_clear(struct sn_epoch_rows *rows);
/* 0 or SN_ERR_MEMORY. */
int sn_epoch_rows_add_stack(struct sn_epoch_rows *rows, const struct sn_epoch_stack *stack);
/* Orders them as frames have them, and sums those of one place. */
void sn_epoch_rows_sum(struct sn_epoch_rows *rows);
/* The numbers in the file of the rows' origins and images; NULL: the same. */
struct sn_epoch_map {
	uint32_t *origins, *images;
};
/* The rows must be summed. */
void sn_epoch_rows_put(const struct sn_epoch_rows *rows, const struct sn_epoch_map *map,
		       struct sn_buffer *buffer);
/* Replaces the rows by those of the payload and points stacks at their frames. 0 or SN_ERR_MEMORY;
 * the cursor fails where it is damaged. */
int sn_epoch_rows_get(struct sn_epoch_rows *rows, const struct sn_epoch_dictionary *dictionary,
		      struct sn_cursor *cursor);
