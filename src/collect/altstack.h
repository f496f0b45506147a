/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack of its own for the signal handlers of each measured thread (sigaltstack(2)).
 *
 * Without one the kernel puts a signal's frame, of 11 KiB where there is AMX, below wherever the
 * stack pointer is. That is not always a stack with room below: oneDNN's generated matrix products
 * (in JAX, TensorFlow and others) point it into a block of the heap, and any signal, a profiler's
 * above all, overwrites what lies before the block. See docs/design/sampling.md.
 */
#ifndef SN_COLLECT_ALTSTACK_H
#define SN_COLLECT_ALTSTACK_H

/*
 * Gives the calling thread such a stack, unless the program gave it one already: that stays.
 * Returns what sn_altstack_remove takes, or NULL where nothing was done. MT: each its own thread's.
 * AS-safe: yes.
 */
void *sn_altstack_install(void);
/* Takes it away again, by the thread that has it; NULL is nothing. It stays where the thread stands
 * on it. MT, AS-safe: as above. */
void sn_altstack_remove(void *stack);

#endif
