/* SPDX-License-Identifier: Apache-2.0 */
/* From the ledger to the store: pairs become origins and images, addresses get names where no file will have them. */
#pragma once

#include "kernel_image.h"
#include "ledger.h"

#include "format/epoch/epoch_writer.h"

/* Adds all that the ledger has to the writer's next flush, and clears it; `by_process`: whose time it is are processes, not programs. 0, or SN_ERR_MEMORY: the rest stays in the ledger. Counts of pairs that the kernel has not told of become those of an
 * unknown image. */
int sn_flush_add(struct sn_ledger *ledger, bool by_process, struct sn_kernel_images *kernel,
		 struct sn_epoch_writer *writer);
