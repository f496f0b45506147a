/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that pushes the daemon's store to a store of many machines: `sonde push --follow`, without the daemon's
 * privileges, so that no network code runs with them (docs/design/push.md). It is started anew where it ends, after longer and longer
 * times. The daemon itself only reads cursors, whoever pushes: to leave unmerged what is not pushed yet, and to tell how it goes.
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"
#include "format/epoch/epoch_writer.h"

#include <sys/types.h>

struct sn_pusher_options {
	const char *url;  /* NULL: the daemon starts no such process */
	const char *form; /* "otlp", "pprof" */
	const char *user; /* as whom; NULL: as the daemon */
	const char *header_file;
	const char *const *labels; /* "KEY=VALUE" */
	size_t label_count;
};

struct sn_pusher {
	const struct sn_pusher_options *options;
	const char *store;
	bool changes_user;
	uid_t user;
	gid_t group;
	pid_t process;	   /* 0: none runs */
	unsigned starts;   /* that ended soon */
	unsigned seconds;  /* since the last start, or until the next one */
	char failure[128]; /* why it has ended; "" it has not */
};

/* The store exists. With a user its group is that one's, and may read it. 0 or a negative enum sn_err. */
int sn_pusher_open(struct sn_pusher *pusher, const struct sn_pusher_options *options,
		   const char *store, struct sn_error *error);
/* Called once a second: starts the process. */
void sn_pusher_tend(struct sn_pusher *pusher);
/* Ends it, with what it has not pushed left in the store. */
void sn_pusher_close(struct sn_pusher *pusher);

/* Makes the policy leave unmerged what is not pushed yet, by any of the cursors in the store's folder `push`. */
void sn_pusher_hold(const struct sn_pusher *pusher, struct sn_epoch_policy *policy);
/* Appends how it goes by the cursor in its usual place to a status, lines "push.NAME VALUE"; nothing where nobody pushes. */
void sn_pusher_tell(const struct sn_pusher *pusher, struct sn_buffer *answer);
