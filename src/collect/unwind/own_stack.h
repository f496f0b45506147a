/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack of the collector's own for each measured thread.
 *
 * The program's stack may be small (a coroutine's), nearly full, or no stack at all: generated code
 * points the stack pointer into blocks of the heap. So our handlers run here, whatever the kernel
 * has put their frame on, and hooks that need more than a few hundred bytes come here as well.
 *
 * It is also the thread's signal stack in the kernel (sigaltstack(2)) for as long as the program
 * gives the thread none, so that even the kernel's frame, 3 to 11 KiB, does not land on whatever
 * the stack pointer is at. The program does not notice: sigaltstack tells what it set itself, and
 * its own handlers are taken to the stack that they would have had (program_handler.h).
 *
 * At most one thing runs here: our handlers block all signals, and so does sn_on_own_stack.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: the thread itself, on its own
 * stack.
 */
#ifndef SN_COLLECT_OWN_STACK_H
#define SN_COLLECT_OWN_STACK_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_OWN_STACK_BYTES (128u << 10)
/* What a handler of ours uses at most of the stack that the kernel has put its frame on. */
#define SN_HANDLER_BYTES   1024u

/*
 * Makes the calling thread's, once; false without memory: then no signal of ours may be sent to it.
 * `for_signals`: it is the thread's signal stack too, unless the program gave it one.
 */
bool sn_own_stack_install(bool for_signals);
/* Gives it back, by a thread that ends. It stays where the thread stands on it. */
void sn_own_stack_remove(void);
/* True for an address on the calling thread's. */
bool sn_own_stack_has(uintptr_t address);

/* Calls function(argument) on the calling thread's own stack; where it has none, or is there
 * already, as it stands. sn_on_own_stack is for hooks: it blocks all signals meanwhile, so that no
 * handler of the program finds itself on a stack that is not the program's (garbage collectors
 * scan from the stack pointer to the stack's end). sn_in_handler_on_own_stack is for our handlers,
 * whose mask is full. */
void sn_on_own_stack(void (*function)(void *argument), void *argument);
void sn_in_handler_on_own_stack(void (*function)(void *argument), void *argument);

/* True for the calling thread's as the kernel tells of it. */
bool sn_own_stack_is_signal_stack(const stack_t *stack);
/* Bytes from an address on it to its end; 0 elsewhere. */
size_t sn_own_stack_above(uintptr_t address);
/* From now on children may run on this process's memory beside it: their hooks call as they stand.
 * MT: yes. */
void sn_own_stacks_share(void);
/* From now on hooks call as they stand: the process may make no system calls of ours any more.
 * MT: yes. */
void sn_own_stacks_retire(void);

#endif
