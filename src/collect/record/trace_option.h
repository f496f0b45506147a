/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's options for recording events.
 *
 * All functions here: AS-safe: no. MT: once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sn_trace_options {
	unsigned sources;      /* enum sn_trace_source; 0: nothing is recorded */
	uint64_t limit_chunks; /* of events; 0: no limit */
	uint64_t window_start_ns, window_end_ns;
	bool is_paused; /* at the start */
	int signal;	/* that starts and stops recording, 0 none */
};

/* From the environment. */
void sn_trace_options_read(struct sn_trace_options *options);
