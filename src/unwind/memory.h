/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading this process's own memory without ever faulting.
 *
 * Memory that is certainly mapped (the thread's own stack, from the interrupted stack pointer up)
 * is read directly. Everything else (a coroutine's stack, a signal handler's, code, headers of
 * files) is copied by the kernel, which returns an error for unmapped memory.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies the readable bytes at the start of [address, address + bytes); returns their number. Keeps
 * errno. */
size_t sn_memory_read(uintptr_t address, void *into, size_t bytes);

#define SN_WINDOW_BYTES 8192u

/* A copy of the last read piece of another stack. */
struct sn_window {
	uintptr_t start;
	size_t bytes;
	unsigned char copy[SN_WINDOW_BYTES];
};

struct sn_stack {
	uintptr_t low, high;	  /* may be read directly; equal: no memory may */
	struct sn_window *window; /* NULL: no other memory may be read */
};

/* As sn_stack_read for memory outside [low, high). */
bool sn_stack_read_foreign(struct sn_stack *stack, uintptr_t address, uintptr_t *word);

static inline bool sn_stack_is_own(const struct sn_stack *stack, uintptr_t address)
{
	return address >= stack->low && address < stack->high && stack->high - address >= 8;
}

/* A word that is certainly mapped, aligned or not. */
__attribute__((no_sanitize("address"))) static inline uintptr_t sn_word_at(uintptr_t address)
{
	typedef uintptr_t __attribute__((aligned(1), may_alias)) word;
	return *(const word *)address;
}

/* The word at `address`; false if it cannot be read. */
__attribute__((no_sanitize("address"))) static inline bool
sn_stack_read(struct sn_stack *stack, uintptr_t address, uintptr_t *word)
{
	if (!sn_stack_is_own(stack, address))
		return sn_stack_read_foreign(stack, address, word);
	*word = sn_word_at(address);
	return true;
}
