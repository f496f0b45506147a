/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signal of samples: a real-time signal that the program does not use.
 *
 * At the start the highest one with the default disposition is chosen. As soon as the program uses
 * it (a handler, SIG_IGN, a set to wait for, or another process sends it), it becomes the program's
 * and another one is chosen; if none is left, threads are no longer sampled and only their totals
 * are known. A signal that once was the sample signal is "served": a sample may still be pending in
 * some thread, so each handler of that signal first calls sn_sampling_is_sample.
 *
 * Many programs block all signals. The sample signal stays unblocked in the kernel and is reported
 * to the program as blocked (sn_believed_*). docs/design/sampling.md gives the reasons.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: yes; sn_believed_*: each thread
 * for itself.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The kernel's set of signals; bit signal - 1. */
#define SN_SIGNAL_BIT(signal) (1ull << ((signal)-1))

/* The C library's set begins with it. MT: yes. */
static inline uint64_t sn_signal_bits(const sigset_t *set)
{
	uint64_t bits;
	memcpy(&bits, set, sizeof(bits));
	return bits;
}
static inline void sn_signal_set_bits(sigset_t *set, uint64_t bits)
{
	memcpy(set, &bits, sizeof(bits));
}

/*
 * Installs `handler` for the first sample signal; in Go programs SIGRTMIN of the C library, the
 * only one that their runtime does not use. 0, or -EBUSY if every signal is in use. AS-safe: no.
 * MT: once.
 */
int sn_sample_signal_init(void (*handler)(int, siginfo_t *, void *));
/* The current one; 0: none is left. MT: yes. */
int sn_sample_signal(void);
/* Its bit; 0 for none. MT: yes. */
uint64_t sn_sample_signal_bit(void);
/* True after one was chosen. MT: yes. */
bool sn_sample_signal_is_chosen(void);
/* True for one that is or was the sample signal. MT: yes. */
bool sn_sample_signal_is_served(int signal);
/* The program uses these signals: none of them is chosen again, and if the current one is among
 * them another is chosen. MT: yes. */
void sn_sample_signal_yield(uint64_t signals);
/* The kernel's action for a served signal as long as the program has none of its own. */
const struct sigaction *sn_sample_signal_action(void);

/* True if a set has every real-time signal that could be chosen: it was filled, and does not mean
 * the sample signal. */
bool sn_sample_signal_in_filled(uint64_t set);

/*
 * The bits of served signals that this thread's program believes blocked and that are unblocked in
 * the kernel.
 */
uint64_t sn_believed_blocked(uint64_t kernel_mask);
void sn_believed_set(uint64_t bits);
/* Sets them for as long as the kernel's mask has `companions`. */
void sn_believed_set_with(uint64_t bits, uint64_t companions);
/* The union over all threads so far: for a thread that was created unnoticed, by an unknown thread.
 * */
uint64_t sn_believed_anywhere(void);
/* A thread or a process inherits this from its creator. */
struct sn_belief {
	uint64_t blocked;
};
struct sn_belief sn_believed_get(void);
void sn_believed_inherit(struct sn_belief belief);
/* Sets the kernel's mask to what the program believes, before this image is replaced; returns the
 * argument of sn_believed_end, for the case that exec fails. */
uint64_t sn_believed_begin(void);
void sn_believed_end(uint64_t blocked);

/* Blocks samples in the calling thread between the two, for a call that undoes its work when a
 * signal arrives: restarted each time it might never end. Both keep errno. */
uint64_t sn_samples_hold(void);
void sn_samples_release(uint64_t held);

/*
 * A handler begins on this signal stack of the program, which has no room for a sample's frame
 * below its own: samples are blocked while it runs.
 */
void sn_samples_spare_stack(const stack_t *stack);
/* The bit of the sample signal if it is blocked for that on the caller's stack, which the program
 * must not see; 0 on every other stack. AS-safe: yes. MT: each thread for itself. */
uint64_t sn_samples_spared(void);
