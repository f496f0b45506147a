/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a CPython str object as UTF-8 without the interpreter.
 *
 * All functions here: AS-safe: yes. MT: the guard's owner.
 */
#ifndef SN_PYTHON_TEXT_H
#define SN_PYTHON_TEXT_H

#include "guard.h"
#include "layout.h"

#include <sys/types.h>

#define SN_PYTHON_TEXT_BYTES 4095

/* The text of the str object at `object` into out[0..capacity), cut at a character; its length in
 * bytes, or -EFAULT (not readable) or -EINVAL (not a str). Bytes of file names that were not UTF-8
 * (PEP 383) come out as the bytes they were. No terminator. */
ssize_t sn_python_text(const struct sn_python_layout *layout, struct sn_guard *guard,
		       uintptr_t object, char *out, size_t capacity);

#endif
