/* SPDX-License-Identifier: Apache-2.0 */
/* Records on their way: kept until what they tell of is over, then put into buffers that the subscriber gives. */
#ifndef FAKE_BUFFERS_H
#define FAKE_BUFFERS_H

#include "../device/device.h"

#include <cupti.h>

/* Copies it. What is over at `end_ns`, 0 for now, is given away no sooner, unless it is forced. MT: yes. */
FAKE_LOCAL void fake_buffers_add(const void *record, size_t bytes, uint64_t end_ns);
/* The subscriber is asked for its first buffer when there is something to tell. Without locks. */
FAKE_LOCAL void fake_buffers_open(void);
FAKE_LOCAL void fake_buffers_flush(bool is_forced);
/* On the clock that the subscriber chose: the real time, or what its callback says. */
FAKE_LOCAL uint64_t fake_cupti_time(uint64_t ns);
/* Generated: of the runtime's and the driver's functions; NULL where there is none. */
FAKE_LOCAL const char *fake_call_name(int domain, uint32_t cbid);

#endif
