/* SPDX-License-Identifier: Apache-2.0 */
/* The picture that `sonde top` draws again and again: what ran in the last seconds, and where. */
#pragma once

#include "view.h"

enum sn_top_view {
	SN_TOP_FUNCTIONS,
	SN_TOP_LINES,
	SN_TOP_MODULES,
	SN_TOP_PROCESSES,
	SN_TOP_THREADS,
};

struct sn_top {
	const struct sonde_db *db; /* of those seconds */
	enum sn_top_view view;
	const char *what;	/* is sampled */
	const char *event;	/* by which */
	unsigned rate;		/* samples a second of each processor */
	unsigned processors;	/* of the machine, if all of it is sampled; else 0 */
	double seconds;		/* that were sampled */
	double own_seconds;	/* of processors, that sampling and drawing took */
	bool has_keys, is_held; /* held: it stays as it is */
	unsigned height;	/* lines; 0: of no screen */
};

/* 0 or a negative enum sn_err. */
int sn_top_draw(const struct sn_top *top, const struct sn_terminal *page, struct sn_error *error);
