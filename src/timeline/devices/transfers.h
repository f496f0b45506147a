/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of devices added up: by direction and size, and by direction and node. */
#pragma once

#include "timeline/answers.h"
#include "timeline/devices/copies.h"

/* Sizes in steps of four times: below 1 KiB, up to 4 KiB, ... */
enum { SN_TRANSFER_SIZES = 12 };

struct sn_transfer_sum {
	double count, bytes, time_ns;
	double sized_ns; /* of those whose size is known */
};

struct sn_node_transfers {
	uint32_t node;
	enum sn_copy_direction direction;
	struct sn_transfer_sum sum;
};

struct sn_transfers {
	struct sn_transfer_sum sums[SN_COPY_DIRECTIONS];
	struct sn_transfer_sum by_size[SN_COPY_DIRECTIONS][SN_TRANSFER_SIZES];
	struct sn_node_transfers *nodes; /* by direction, most time first */
	size_t node_count, node_capacity;
	double count; /* of all */
};

/* 0 or a negative enum sn_err; free the nodes in either case. */
int sn_transfers(const struct sn_answers *answers, struct sn_transfers *transfers,
		 struct sn_error *error);
