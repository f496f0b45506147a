/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples: which events interrupt a thread, and what happens then.
 *
 * CPU time comes from the thread's POSIX CPU-time timer, which needs no file descriptor and no
 * privilege but cannot be faster than the kernel's tick; beyond that rate, and for all other
 * events, from Linux perf events. Every sample charges what was really used since the last one, so
 * totals are exact whatever the rate. docs/design/sampling.md explains the choice and the signal.
 */
#ifndef SN_COLLECT_SAMPLE_H
#define SN_COLLECT_SAMPLE_H

#include "thread.h"

/*
 * The signal that samples arrive by: SIGURG, whose default action is to be ignored, so one that is
 * still pending when a program is executed, or whose handler a program replaced, harms nobody. In
 * Go programs, whose runtime uses SIGURG itself, the first real-time signal, which it leaves alone;
 * then only timers send it, whose pending signals end with them. Chosen by sn_sampling_init.
 */
extern int sn_sample_signal;

/* Parses sn_config.events, registers the metrics and installs the handler. 0 or negative errno. */
int sn_sampling_init(void);
/* Arms and disarms the calling thread's timers and events. Stopping charges what is left to the
 * root; in a record that stands for several threads it goes on to the next one. */
void sn_sampling_start(struct sn_thread *thread);
void sn_sampling_stop(struct sn_thread *thread);
/* Charges real time that the calling thread has waited in `call` to its call path; between sn_enter
 * and sn_leave. */
void sn_sampling_charge_wait(struct sn_thread *thread, const char *call, uint64_t waited_ns);
void sn_sampling_stop_self(void);
/* Charges to its root what a thread that still runs has used since its last sample, when no more
 * samples can come. From any thread. */
void sn_sampling_settle(struct sn_thread *thread);
/* The same for a record whose threads have all ended; while nobody can adopt it. */
void sn_sampling_settle_ended(struct sn_thread *thread);
/* Takes every timer, event and the handler away, once measuring has ended for good. */
void sn_sampling_release(void);
/* The program's own handling of SN_SAMPLE_SIGNAL, kept beside ours: see intercept_signal.c. */
int sn_sampling_sigaction(const struct sigaction *new_action, struct sigaction *old_action);
/* One line for the PROCESS section: how samples are taken. Static. */
const char *sn_sampling_status(void);

#endif
