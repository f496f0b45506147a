/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From one frame to its caller with all registers, slowly and without caches: each frame's
 * information is decoded again. Used for frames whose rule does not fit in a word, and as the
 * reference for the fast walk of unwind.c.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include "unwind.h"

/* Steps from a frame of this process to its caller. */
enum sn_step sn_step(struct sn_unwind_cursor *cursor, struct sn_step_result *result);

/* The part of it for code without call frame information. */
enum sn_step sn_step_guess(struct sn_unwind_cursor *cursor, struct sn_step_result *result);

/* The part of it for the kernel's signal frame; the stack pointer is where the handler returned to.
 */
enum sn_step sn_step_signal(struct sn_unwind_cursor *cursor, struct sn_step_result *result);

/* Classifies the code at `pc`, which may have no call frame information. */
enum sn_code sn_code_at(uintptr_t pc);
