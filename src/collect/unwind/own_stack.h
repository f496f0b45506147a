/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack of the collector's own for each measured thread.
 *
 * The program's stack may be small (a coroutine's), nearly full, or no stack at all: generated code
 * points the stack pointer into blocks of the heap. So our handlers run here, whatever the kernel
 * has put their frame on, and hooks that need more than a few hundred bytes come here as well.
 *
 * It is also the thread's signal stack in the kernel (sigaltstack(2)) for as long as the program
 * gives the thread none, so that the kernel's frame, 3 to 11 KiB, is not written below an arbitrary
 * stack pointer either. The program does not see this: sigaltstack returns what the program set,
 * and its handlers run on the stack that they would have had (program_handler.h).
 *
 * Nothing can interrupt code on this stack and use it too: our handlers block all signals, and so
 * does sn_on_own_stack.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: the thread itself, on its own
 * stack.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_OWN_STACK_BYTES (128u << 10)
/* The most that a handler of the collector uses of the stack with the kernel's frame. */
#define SN_HANDLER_BYTES   1024u

/*
 * Creates the calling thread's stack, once; false without memory: then no sample signal may be sent
 * to the thread. `for_signals`: it becomes the thread's signal stack too, unless the program has
 * set one.
 */
bool sn_own_stack_install(bool for_signals);
/* Unmaps it, in a thread that ends; not if the thread is running on it. */
void sn_own_stack_remove(void);
/* True for an address on the calling thread's. */
bool sn_own_stack_has(uintptr_t address);

/* Calls function(argument) on the calling thread's own stack, or on the present stack if it has
 * none or is there already. sn_on_own_stack is for hooks: it blocks all signals meanwhile, so that
 * no handler of the program runs on a stack that is not the program's (garbage collectors scan from
 * the stack pointer to the stack's end). sn_in_handler_on_own_stack is for the collector's
 * handlers, which run with all signals blocked. */
void sn_on_own_stack(void (*function)(void *argument), void *argument);
void sn_in_handler_on_own_stack(void (*function)(void *argument), void *argument);

/* True if `stack`, from the kernel, is the calling thread's own stack. */
bool sn_own_stack_is_signal_stack(const stack_t *stack);
/* Bytes from an address on it to its end; 0 elsewhere. */
size_t sn_own_stack_above(uintptr_t address);
/* From now on children may run in this process's memory beside it: their hooks stay on their
 * present stack. MT: yes. */
void sn_own_stacks_share(void);
/* True in such a child. MT: yes. */
bool sn_own_stacks_are_parents(void);
/* From now on hooks stay on their present stack: the collector may make no more system calls in
 * this process. MT: yes. */
void sn_own_stacks_retire(void);
