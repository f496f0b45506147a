/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an accelerator is described to the collector, for whoever writes the description and whoever reads it.
 *
 * `sonde run` writes the description to SONDE_GPU_API as lines:
 *
 *	d DEVICE LIBRARY                       the calls below are of this library
 *	f FUNCTION WORDS STREAM BYTES NAME     a function with WORDS of arguments on the stack, and where three of its
 *	                                       arguments are: a register from 0 on, a word of the stack from
 *	                                       SN_CONFIGURED_REGISTERS on, or SN_CONFIGURED_NOWHERE
 */
#pragma once

enum {
	SN_CONFIGURED_REGISTERS = 6,
	SN_CONFIGURED_WORDS = 64,
	SN_CONFIGURED_CALLS = 64,
	SN_CONFIGURED_DEVICES = 4,
	SN_CONFIGURED_NOWHERE = 255,
};
