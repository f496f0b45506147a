/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing the measurement file (format/measurement/measurement.h): checkpoints while the program
 * runs, and the last snapshot when it ends.
 *
 * The sample that finds a checkpoint due writes it, inside the signal handler: programs would
 * notice a thread of the collector. A checkpoint takes no lock that a program's thread could hold;
 * it is skipped while another one is being written. Only the last snapshot waits for that, up to two seconds.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: yes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Creates this process image's file in sn_config.output, in the child of a fork a new one; if that
 * fails, losses (losses.h) are still counted in the parent's. 0 or negative errno.
 * MT: the only thread. */
int sn_checkpoint_open(void);
/* Writes a snapshot if one is due at `now_ns`. */
void sn_checkpoint_if_due(uint64_t now_ns);
/* Writes a snapshot now. `exit_text` is "" while the program runs; else it says how the program
 * ended, and the snapshot is final and compact. */
void sn_checkpoint_now(const char *exit_text);
