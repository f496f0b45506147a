/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a CPython str object as UTF-8 without the interpreter.
 *
 * All functions here: AS-safe: yes. MT: the guard's owner.
 */
#pragma once

#include "guard.h"
#include "unwind/python/layout.h"

#include <sys/types.h>

#define SN_PYTHON_TEXT_BYTES 4095

/* Stores the text of the str object at `object` in out[0..capacity), truncated at a character,
 * without a terminator. Returns its length in bytes, -EFAULT (not readable) or -EINVAL (not a str).
 * Bytes of file names that are not UTF-8 (PEP 383) are restored. */
ssize_t sn_python_text(const struct sn_python_layout *layout, struct sn_guard *guard,
		       uintptr_t object, char *out, size_t capacity);
