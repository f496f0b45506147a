/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding tracefs, where the kernel describes its tracepoints.
 *
 * Usually it is mounted on /sys/kernel/tracing. If not, and the process may mount, it is mounted
 * without a mount point: no other process sees it, and it vanishes with the descriptor.
 */
#pragma once

#include "tracepoint.h"

/* A descriptor of its folder, to be closed; or a negative enum sn_err, with a text that says what
 * is missing: SN_ERR_MISSING it is not mounted, SN_ERR_IO it may not be read. */
int sn_tracefs_open(struct sn_error *error);

/* The tracepoint "SYSTEM/NAME". 0, SN_ERR_MISSING: this kernel has none; or another enum sn_err. */
int sn_tracefs_tracepoint(int tracefs, const char *path, struct sn_tracepoint *tracepoint,
			  struct sn_error *error);
