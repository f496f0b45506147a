/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From one frame to its caller with every register, the slow and sure way: no cache is asked, each
 * frame's information is decoded anew. It serves frames whose rule is not simple, and as the
 * reference that the fast walk of unwind.c is compared with.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#ifndef SN_COLLECT_STEP_H
#define SN_COLLECT_STEP_H

#include "unwind.h"

/* Of a frame of this process. */
enum sn_step sn_step(struct sn_unwind_cursor *cursor, struct sn_step_result *result);

/* The part of it for code without call frame information. */
enum sn_step sn_step_guess(struct sn_unwind_cursor *cursor, struct sn_step_result *result);

/* The part of it for the kernel's signal frame; the stack pointer is where the handler returned to.
 */
enum sn_step sn_step_signal(struct sn_unwind_cursor *cursor, struct sn_step_result *result);

/* What begins at `pc`, where code without information may be. */
enum sn_code sn_code_at(uintptr_t pc);

#endif
