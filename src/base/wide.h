/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SN_WIDE before a function with loops over arrays of numbers: the compiler generates several
 * versions, also for wider vectors (AVX2, AVX-512), and the best one for the processor is chosen
 * when the program starts. Elsewhere it has no effect.
 *
 * Only for GCC with the GNU C library on x86-64; sanitizers do not support it.
 */
#pragma once

#include <stdlib.h> /* for __GLIBC__ */

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) &&       \
    __GNUC__ >= 12 && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SN_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SN_WIDE
#endif
