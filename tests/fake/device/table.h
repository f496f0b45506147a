/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The truth: how often what ran, how long, with how many bytes, and which line launched it. Each process leaves parts beside
 * the file that FAKE_TABLE names (NAME.PID.NUMBER), which tests/fake/run.sh joins; also one that is killed.
 */
#ifndef FAKE_TABLE_H
#define FAKE_TABLE_H

#include "device.h"

/* Where the calling thread is, if what it calls launches something. Without the lock: it may wait for Python's. */
FAKE_LOCAL void fake_table_call(const char *name);
/* With the lock. */
FAKE_LOCAL void fake_table_add(const struct fake_run *run);
/* The same, of a graph as a whole: in the table only where FAKE_TABLE_GRAPHS is set, since its operations are as well. */
FAKE_LOCAL void fake_table_add_graph(const struct fake_run *whole);

/* Where the calling thread's call is, as fake_table_call found it: malloc'd. */
FAKE_LOCAL char *fake_table_here(void);
/* What became of managed memory that was allocated at `place`. With the lock. */
FAKE_LOCAL void fake_table_add_managed(const struct fake_managed *what, const char *place,
				       uint64_t bytes);
/* In the child of a fork: what ran until now is the parent's. With the lock. */
FAKE_LOCAL void fake_table_forget(void);

#endif
