/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binary interface by which SYCL's runtime tells its tools what it does (XPTI), as far as the adapter uses it: as of the
 * frameworks that have xptiLookupPayload: others have other payloads. tests/workloads/sycl/layout.cpp compares it with the headers.
 */
#pragma once

#include <stdint.h>

enum sn_xpti_point { SN_XPTI_NODE_CREATE = 4, SN_XPTI_TASK_BEGIN = 10, SN_XPTI_TASK_END = 11 };

/* Where in the user's code something was submitted. */
struct sn_xpti_payload {
	const char *name, *stack, *file;
	uint32_t line, column;
};

typedef void (*sn_xpti_callback)(uint16_t point, void *parent, void *event, uint64_t instance,
				 const void *data);

/* Functions by the names under which the framework exports them. */
#define SN_XPTI_FUNCTIONS(X)                                                                       \
	X(uint8_t, xptiRegisterStream, (const char *stream))                                       \
	X(int32_t, xptiRegisterCallback,                                                           \
	  (uint8_t stream, uint16_t point, sn_xpti_callback callback))                             \
	X(const struct sn_xpti_payload *, xptiQueryPayload, (void *event))
