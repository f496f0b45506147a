/* SPDX-License-Identifier: Apache-2.0 */
/* Which frames of a database are the user's own code: what a reader can change. */
#ifndef SN_FRAME_USER_FRAME_H
#define SN_FRAME_USER_FRAME_H

#include "sonde/db.h"

#include <stdbool.h>

/*
 * Whether a frame is the user's own code: a Python frame outside the interpreter's library and the
 * package folders, or a native frame with a source file in a module outside the system's folders. What
 * a compiler of the program's has generated, headers of packages and console scripts are not.
 */
bool sn_frame_is_user(const struct sonde_db *db, const struct sonde_db_frame *frame);
/* The same, and a native function of which no source line is known: of a program without debugging
 * information. Not its _start. */
bool sn_frame_is_program(const struct sonde_db *db, const struct sonde_db_frame *frame);

#endif
