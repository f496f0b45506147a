/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The continuous profiler: samples the whole machine until it is told to end, and writes a store of epochs (format/epoch). And how others talk to it: by a socket in the store's folder.
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"

#include "format/epoch/epoch_writer.h"
#include "pusher.h"

#include <stdbool.h>

struct sn_daemon_options {
	const char *store;
	unsigned rate;		/* samples a second of each processor, at most */
	unsigned stack_rate;	/* of these with their callers; 0: none */
	unsigned wait_rate;	/* how often a second threads that wait are looked for; 0: never */
	unsigned flush_seconds; /* between flushes: what is lost if the process is killed */
	double
	    cost_most; /* part of the machine's time that it may take: above, it samples less often */
	bool by_process; /* processes of one program are told apart */
	struct sn_epoch_writer_options writer;
	struct sn_epoch_policy policy;
	struct sn_pusher_options push;
};

/* What runs, once it runs. */
struct sn_daemon_running {
	const char *event; /* "cycles", "cpu-clock" */
	unsigned rate, processors;
};

/* Runs until SIGTERM, SIGINT or sn_daemon_ask(..., "stop", ...); fails also if the last flush did. `ready`, which may be NULL, is called once samples are counted. 0 or a negative enum sn_err. */
int sn_daemon_run(const struct sn_daemon_options *options,
		  void (*ready)(void *context, const struct sn_daemon_running *running),
		  void *context, struct sn_error *error);

/*
 * Asks the daemon of a store: "status", "flush", "epoch" or "stop", and waits until it has done so. Appends the answer to `answer`: lines "name value", names in groups ("lost.log-full 0"). 0;
 * SN_ERR_MISSING if there is none; or another negative enum sn_err.
 */
int sn_daemon_ask(const char *store, const char *request, struct sn_buffer *answer,
		  struct sn_error *error);
