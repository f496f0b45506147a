/* SPDX-License-Identifier: Apache-2.0 */
/* Names of code that a process makes while it runs (just-in-time compilers), from the list that it writes for perf: perf-PID.map. */
#pragma once

#include "ledger.h"

#include "format/epoch/epoch_writer.h"

/* Gives `image` of the writer's flush the names of the functions at the ascending addresses; none where the process has ended, or keeps no list. 0 or SN_ERR_MEMORY. */
int sn_made_code_name(struct sn_epoch_writer *writer, uint32_t image,
		      const struct sn_ledger_pair *pair, const uint64_t *addresses, size_t count);
