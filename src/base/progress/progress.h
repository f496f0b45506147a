/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What long work is doing, and how much of it is done: told here by whoever does it, for whoever
 * shows it to a person (src/cmd/progress.c). Where nobody watches all of this does nothing.
 *
 *	struct sn_progress outer = sn_progress_begin("reading", bytes);
 *	while (...)
 *		sn_progress_add(piece_bytes);
 *	sn_progress_resume(&outer);
 *
 * One step is shown at a time, the one that began last. A step within another one gives the display
 * back by sn_progress_resume; one that another step follows need not.
 * MT: yes. A step that begins while other threads add may get some of theirs: steps follow each
 * other. A child process tells the same watcher.
 */
#pragma once

#include <stdint.h>

struct sn_progress {
	const char *step; /* "reading events"; lasts as long as the program. NULL: none has begun */
	/* In a unit of the step's. The share is not known where there is no total, where nothing has
	 * been added yet, and where more has been than the total. */
	uint64_t done, total;
};

/* Returns the step that was shown before. */
struct sn_progress sn_progress_begin(const char *step, uint64_t total);
void sn_progress_resume(const struct sn_progress *outer);
void sn_progress_add(uint64_t done);

/* From now on the above is kept. 0 or SN_ERR_MEMORY. MT: no, and before other threads begin. */
int sn_progress_watch(void);
struct sn_progress sn_progress_now(void);
