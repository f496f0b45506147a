/* SPDX-License-Identifier: Apache-2.0 */
/* Pushing what is new in a store: each flush once, however often the command is killed. docs/design/push.md says how. */
#pragma once

#include "send.h"

struct sn_push_follow {
	const struct sn_push_target *target;
	const char *store;
	const char
	    *cursor; /* path of the file that tells how far it got; NULL: in the store's folder */
	bool is_endless; /* goes on, until SIGTERM or SIGINT */
	bool resends;	 /* sends again what may have arrived */
	bool is_quiet;
};

/* The exit status. */
int sn_push_follow(const struct sn_push_follow *follow);
