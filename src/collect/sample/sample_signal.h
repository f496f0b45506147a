/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signal that samples arrive by: a real-time signal that the program does not use.
 *
 * The highest one that is at its default disposition is taken at the start. As soon as the program
 * asks for it (a handler, SIG_IGN, a set to wait for, or simply somebody who sends it), it becomes
 * the program's and another one is taken; where none is left, threads are no longer sampled, only
 * their totals are known. A signal that once was ours is "served": one of our samples may still be
 * on its way to some thread, so whatever handles that signal passes through
 * sn_sample_signal_is_sample.
 *
 * Many programs fill a mask with all signals. Ours stays open in the kernel, and the program is
 * told that it is blocked (sn_believed_*). docs/design/sampling.md gives the reasons.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: yes; what is believed, each
 * thread its own.
 */
#ifndef SN_COLLECT_SAMPLE_SIGNAL_H
#define SN_COLLECT_SAMPLE_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The kernel's set of signals; bit signal - 1. */
#define SN_SIGNAL_BIT(signal) (1ull << ((signal)-1))

/* It is what the C library's set begins with. MT: yes. */
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
 * Installs `handler` for the first signal of ours; in Go programs SIGRTMIN of the C library, the
 * only one that their runtime leaves alone. 0, or -EBUSY where every signal is in use. AS-safe: no.
 * MT: once.
 */
int sn_sample_signal_init(void (*handler)(int, siginfo_t *, void *));
/* The current one; 0: none is left. MT: yes. */
int sn_sample_signal(void);
/* Its bit; 0 for none. MT: yes. */
uint64_t sn_sample_signal_bit(void);
/* True once one was taken. MT: yes. */
bool sn_sample_signal_is_chosen(void);
/* True for one that is or was ours. MT: yes. */
bool sn_sample_signal_is_served(int signal);
/* The program wants these signals: none of them is taken any more, and where the current one is
 * among them another is taken. MT: yes. */
void sn_sample_signal_yield(uint64_t signals);
/* The kernel's action for a served signal as long as the program has none of its own. */
const struct sigaction *sn_sample_signal_action(void);

/* True where a set names every real-time signal we could take: it was filled, and does not mean
 * ours. */
bool sn_sample_signal_in_filled(uint64_t set);

/*
 * What this thread's program believes blocked and the kernel has open; bits of served signals.
 */
uint64_t sn_believed_blocked(uint64_t kernel_mask);
void sn_believed_set(uint64_t bits);
/* The same for as long as the kernel's mask holds `companions`. */
void sn_believed_set_with(uint64_t bits, uint64_t companions);
/* What any thread has believed so far: for one that was made unseen, by a thread that is not
 * known. */
uint64_t sn_believed_anywhere(void);
/* A thread or a process starts with the beliefs of the one that made it. */
struct sn_belief {
	uint64_t blocked;
};
struct sn_belief sn_believed_get(void);
void sn_believed_inherit(struct sn_belief belief);
/* Makes the kernel's mask what the program believes, before this image is replaced; returns what
 * to give to sn_believed_end where that failed. */
uint64_t sn_believed_begin(void);
void sn_believed_end(uint64_t blocked);

/* No sample comes to the calling thread between the two, for a call that undoes what it did when a
 * signal comes: made again it might never end. Both keep errno. */
uint64_t sn_samples_hold(void);
void sn_samples_release(uint64_t held);

/*
 * A handler begins on this signal stack of the program's, which has no room for a sample's frame
 * below its own: the kernel keeps samples blocked there.
 */
void sn_samples_spare_stack(const stack_t *stack);
/* The bit of samples that are blocked for that where the caller stands; the program knows nothing
 * of it. 0 on every other stack. AS-safe: yes. MT: each thread its own. */
uint64_t sn_samples_spared(void);

#endif
