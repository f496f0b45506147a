/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SN_WIDE before a function whose loops go over arrays of numbers: the compiler makes it several
 * times, for processors with wider vectors as well (AVX2, AVX-512), and the one that this processor
 * can run is taken when the program starts. Elsewhere the function is what it would be without.
 *
 * Only GCC with the GNU C library on x86-64 does so; sanitizers do not bear it.
 */
#ifndef SN_BASE_WIDE_H
#define SN_BASE_WIDE_H

#include <stdlib.h> /* for __GLIBC__ */

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) &&       \
    __GNUC__ >= 12 && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SN_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SN_WIDE
#endif

#endif
