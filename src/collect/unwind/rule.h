/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule of one pc, in one word: how the fast walk steps from a frame to its caller.
 *
 * A rule is compiled from the module's call frame information when its pc is first unwound, and
 * stored in a table that all threads share without a lock. Rules that do not fit in a word are left
 * to sn_step.
 *
 *   bits  0-2   enum sn_rule_kind
 *   bit   3     the caller's frame pointer was saved
 *   bit   4     ... at frame pointer + distance, not at CFA - distance
 *   bits  5-14  distance in words, at least 1 so that the address is always valid
 *   bits 15-28  module, SN_RULE_MODULE_NONE for none
 *   bits 29-39  added to the word of SN_RULE_WORD_*, signed
 *   bits 40-63  offset, signed
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum sn_rule_kind {
	SN_RULE_SP,	 /* CFA = stack pointer + offset */
	SN_RULE_FP,	 /* CFA = frame pointer + offset */
	SN_RULE_WORD_SP, /* CFA = the word at stack pointer + offset, + added */
	SN_RULE_WORD_FP,
	SN_RULE_SIGNAL, /* the kernel's signal frame */
	SN_RULE_END,	/* the thread's first frame; CFA = stack pointer + offset */
	SN_RULE_SLOW,	/* sn_step */
	SN_RULE_GUESS,	/* no information: sn_step_guess */
};

#define SN_RULE_KIND(rule)	 ((enum sn_rule_kind)((rule)&7))
#define SN_RULE_IS_SPECIAL(rule) ((rule)&6)
#define SN_RULE_BY_FP(rule)	 ((rule)&1)
#define SN_RULE_SAVED		 8u
#define SN_RULE_SAVED_BY_FP	 16u
#define SN_RULE_DISTANCE(rule)	 ((rule) >> 5 & 0x3ff)
#define SN_RULE_MODULE(rule)	 ((uint32_t)((rule) >> 15 & 0x3fff))
#define SN_RULE_ADDED(rule)	 ((int64_t)((rule) << 24) >> 53)
#define SN_RULE_OFFSET(rule)	 ((int64_t)(rule) >> 40)
#define SN_RULE_MODULE_NONE	 0x3fffu

/* The rule for code at `inside` (of a return address: one byte before it). `*lasting` is false if
 * the rule may change although no module is unloaded: unknown code. */
uint64_t sn_rule_find(uintptr_t inside, bool *lasting);

/* The same without the shared table; for tests. */
uint64_t sn_rule_compile(uintptr_t inside, bool *lasting);
