/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that test_module.c loads and unloads: two of them, which differ only in the size of a
 * frame, so that a rule of one is wrong for the other at the same address.
 */
#include <stddef.h>

void module_call(void (*function)(void));

void __attribute__((noinline)) module_call(void (*function)(void))
{
	volatile char frame[SN_FRAME_BYTES];
	frame[0] = 1;
	function();
	frame[sizeof(frame) - 1] = 2;
}
