/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls that are heard (calls.def), and what is done before and after each.
 *
 * All functions here: AS-safe: no. MT: yes.
 */
#pragma once

#include "levelzero.h"

enum sn_ze_api {
#define SN_ZE_APPEND(name, kind, place)	  SN_ZE_API_##name,
#define SN_ZE_WAIT(name)		  SN_ZE_API_##name,
#define SN_ZE_CALL(name)		  SN_ZE_API_##name,
#define SN_ZE_EXECUTE(name)		  SN_ZE_API_##name,
#define SN_ZE_OBJECT(name, before, after) SN_ZE_API_##name,
#include "calls.def"
#undef SN_ZE_APPEND
#undef SN_ZE_WAIT
#undef SN_ZE_CALL
#undef SN_ZE_EXECUTE
#undef SN_ZE_OBJECT
	SN_ZE_API_COUNT
};

struct sn_ze_append {
	enum sn_ze_api api;
	enum sn_gpu_kind kind;
	uint32_t event; /* the place of the parameter */
};

/* ---- call.c ---- */

void sn_ze_append_begins(const struct sn_ze_append *append, void **parameters);
void sn_ze_append_ended(const struct sn_ze_append *append, void **parameters, sn_ze_result result);
void sn_ze_wait_ended(void);

/* ---- callbacks.c ---- */

/* Registers for all calls that the loader knows. */
void sn_ze_register(void *library, void *tracer);
/* While this thread is inside, what it calls of Level Zero is not heard. False where it is inside already. */
bool sn_ze_enter(void);
void sn_ze_leave(void);
