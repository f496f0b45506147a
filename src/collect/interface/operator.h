/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators of frameworks that have no adapter's own way of telling them: a function that a hook stands in front of is an
 * operator frame while it runs, and with --trace an event.
 *
 * All functions here: AS-safe: no. MT: the thread itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where it is called: as for sn_context; `user` is in its shadow frame. */
struct sn_operator_start {
	const char *name;
	size_t length;
	uintptr_t stack, pc;
	uint32_t user;
};

#define SN_OPERATOR_NONE UINT32_MAX

/* Whether the user wants them. AS-safe: yes. */
bool sn_operators_wanted(void);
/* A token for sn_operator_end. Outside sn_enter. */
uint32_t sn_operator_begin(const struct sn_operator_start *start);
void sn_operator_end(uint32_t token, uint32_t user);
