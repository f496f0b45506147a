/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing the measurement file (format/measurement/measurement.h): checkpoints while the program
 * runs, and the last snapshot when it ends.
 *
 * A checkpoint is taken by whichever thread's sample finds it due, inside the signal handler: a
 * thread of our own would be one the program did not make, and programs notice. It takes no lock
 * that a program thread could hold: if another checkpoint is under way it is left alone.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: yes.
 */
#ifndef SN_COLLECT_CHECKPOINT_H
#define SN_COLLECT_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

/* Creates this process image's file in sn_config.output; in the child of a fork one of its own,
 * where losses (losses.h) go on being counted in the parent's if that fails. 0 or negative errno.
 * MT: the only thread. */
int sn_checkpoint_open(void);
/* Writes a snapshot where `now_ns` says that it is time. */
void sn_checkpoint_if_due(uint64_t now_ns);
/* Writes a snapshot now. `exit_text` is "" while the program runs on; else how it ended, and the
 * snapshot is final and compact. */
void sn_checkpoint_now(const char *exit_text);

#endif
