/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that the program passes to a wrapper, which reads it before the kernel does. For a pointer
 * that the kernel refuses with EFAULT the program must get that error, and not a fault in the
 * wrapper.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Copies `bytes` from the program's memory; false if they cannot be read. Keeps errno. */
bool sn_program_read(const void *from, void *into, size_t bytes);
/* Copies `bytes` to the program's memory; 0, or -1 and EFAULT. */
int sn_program_write(void *to, const void *from, size_t bytes);
/* True for a text that can be read up to its end, and for NULL. */
bool sn_program_text_is_readable(const char *text);
/* The same for a list of texts that ends with NULL, and for NULL. */
bool sn_program_list_is_readable(char *const *list);
