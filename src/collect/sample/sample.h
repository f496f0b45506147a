/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples: which events interrupt a thread, and what happens then.
 *
 * CPU time comes from the thread's POSIX CPU-time timer, which needs no file descriptor and no
 * privilege but cannot be faster than the kernel's tick; beyond that rate, where the kernel misses
 * the timer's periods, and for all other events, from Linux perf events. Each sample charges the time actually used since the last one, so
 * totals are exact at any rate. docs/design/sampling.md explains the choice and the signal.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: the thread itself.
 */
#pragma once

#include "collect/core/thread.h"

#include <signal.h>
#include <ucontext.h>

/* Parses sn_config.events, registers the metrics and installs the handler. 0 or negative errno.
 * AS-safe: no. MT: once. */
int sn_sampling_init(void);
/* Arms and disarms the calling thread's timers and events. Stopping charges the remainder to the
 * root; in a record that stands for several threads it is carried over to the next one. */
void sn_sampling_start(struct sn_thread *thread);
void sn_sampling_stop(struct sn_thread *thread);
/* Charges real time that the calling thread has waited in `call` to its call path; between sn_enter
 * and sn_leave. */
void sn_sampling_charge_wait(struct sn_thread *thread, const char *call, uint64_t waited_ns);
/* Charges the time that a running thread has used since its last sample to the thread's root, when
 * no more samples can come. MT: yes. */
void sn_sampling_settle(struct sn_thread *thread);
/* The same for a record whose threads have all ended, while no thread can adopt it. MT: yes. */
void sn_sampling_settle_ended(struct sn_thread *thread);
/* Takes every timer, event and the handler away, once measuring has ended for good. MT: once. */
void sn_sampling_release(void);
/* True where a signal is a sample of ours, whatever its number. MT: yes. */
bool sn_sampling_is_sample(const siginfo_t *info);
/* The calling thread's samples come by the current signal from now on, where another was taken. In
 * a handler `context` is what the kernel takes the mask from afterwards; elsewhere NULL. */
void sn_sampling_renew(ucontext_t *context);
/* A signal that carried samples, and is the program's since, has come to the calling thread. Where that believes it blocked: blocks it, sends
 * it once more, to be pending there, and returns true. */
bool sn_sampling_keep_blocked(int signal, siginfo_t *info, ucontext_t *context);
/* Sends no signal to the calling thread until told otherwise. */
void sn_sampling_suspend(bool suspended);
/* Has the calling thread sampled once, now. */
void sn_sampling_provoke(void);
/* Takes what is pending of samples away, if the calling thread stands on a signal stack of the
 * program's with samples blocked. */
void sn_sampling_drain(void);
/*
 * Before an image is replaced, or one is started: nothing of perf's may be pending then, for it
 * would end the new image, which does not begin with samples blocked where this thread has them so
 * (sn_samples_spared). The second goes back where the image was not replaced. AS-safe: yes.
 */
struct sn_sampling_pause {
	bool is_paused, keeps_timer;
	uint64_t spared;
};
struct sn_sampling_pause sn_sampling_pause_for_exec(void);
void sn_sampling_resume_after_exec(struct sn_sampling_pause pause);
/*
 * Room for pending signals below which no perf event sends any: where none is left the kernel sends
 * SIGIO in its place. Timers have theirs from the start.
 */
#define SN_LEAST_SIGPENDING 1024u
/* From now on no perf event sends signals; timers go on. MT: yes. */
void sn_sampling_spare_queue(void);
/* True for a SIGIO that the kernel sends because there was no room for a sample of perf's; false
 * for one that the program asked for. In a handler with all signals blocked. */
bool sn_sampling_is_overflow(const siginfo_t *info);
/* One line for the PROCESS section: how samples are taken. Static. MT: yes. */
const char *sn_sampling_status(void);
