/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recorders have in common whatever the vendor: the file that the environment names, which functions there are, calls that may never
 * return, the vendor's clock, binaries, and the end. All functions: MT: yes, unless they say otherwise.
 */
#ifndef RECORD_TOOL_H
#define RECORD_TOOL_H

#include "file.h"

/* ---- tool.c ---- */

/* Opens a file in the folder that SONDE_RECORD names, of at most SONDE_RECORD_MIB. False: there is none. MT: once. */
bool record_begin(void);
/* A function of a library, whose presence is written; NULL. */
void *record_find(void *library, const char *name);
/* A call of the recorder's that begins, or has ended with a result. */
void record_step(const char *name, bool has_ended, int result);
/* What the vendor's clock says now. */
void record_clock(int (*read)(uint64_t *now));
/* A binary is written once, by its number, and as long as half of the file is left for all else. */
bool record_is_to_be_held(uint64_t number, size_t bytes);
/* Runs it on a thread of its own. False where it has not returned within some 3 seconds: it may go on. */
bool record_run_bounded(void (*function)(void));
/* Ends what the recorder has begun, waits for what comes late, and closes the file. */
void record_finish(void (*release)(void));

/* ---- facts.c ---- */

/* Of the system and the command. The machine's name is not written, and no environment. */
void record_facts(void);
/* The first line of a file, where that is there. */
void record_line_of(const char *key, const char *path);

#endif
