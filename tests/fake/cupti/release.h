/* SPDX-License-Identifier: Apache-2.0 */
/* Which CUPTI this is: releases.def has what differs. Each library is linked with one release.c, compiled for its release. */
#ifndef FAKE_RELEASE_H
#define FAKE_RELEASE_H

#include "../device/device.h"

#include <cupti.h>

/* Without a driver: subscribing is refused by one of two errors; the process crashes in any function; all answer 999. */
enum fake_without_driver {
	FAKE_SUBSCRIBES_15,
	FAKE_SUBSCRIBES_999,
	FAKE_CRASHES,
	FAKE_ANSWERS_999
};

struct fake_release {
	uint32_t version;
	uint32_t kinds, runtime_calls, driver_calls;
	uint16_t kernel, copy, set, wait, graph, overhead, memory, pool, jit, device, pc, pc_data;
	enum fake_without_driver without_driver;
};

FAKE_LOCAL extern const struct fake_release *const fake_release;

/* Of a record of this kind; 0 where there is none. */
FAKE_LOCAL size_t fake_release_bytes(CUpti_ActivityKind kind);
/* False for kinds that the release does not have yet or any more. */
FAKE_LOCAL bool fake_release_has_kind(unsigned kind);
/* The number under which the release reports a call: launches had another one before 13.0; 0 where it does not know it. */
FAKE_LOCAL uint32_t fake_release_call(enum fake_domain domain, uint32_t cbid);
/* What a function answers before all others; `is_free`: it needs no driver where the release allows that. */
FAKE_LOCAL CUptiResult fake_refused(bool is_free);

#endif
