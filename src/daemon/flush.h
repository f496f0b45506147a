/* SPDX-License-Identifier: Apache-2.0 */
/* From the ledger and the paths to the store: pairs become origins and images, addresses get names where no file will have them. */
#pragma once

#include "kernel_image.h"
#include "ledger.h"
#include "paths.h"

#include "format/epoch/epoch_writer.h"

struct sn_flush_source {
	struct sn_ledger *ledger;
	const struct sn_paths *paths;
	struct sn_kernel_images *kernel;
	bool by_process; /* whose time it is are processes, not programs */
};

/* Adds all that there is to the writer's next flush, and clears the ledger. 0, or SN_ERR_MEMORY: the rest stays in the ledger. Counts of pairs that the kernel has not told of become those of an
 * unknown image. */
int sn_flush_add(const struct sn_flush_source *from, struct sn_epoch_writer *writer);
