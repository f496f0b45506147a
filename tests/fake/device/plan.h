/* SPDX-License-Identifier: Apache-2.0 */
/* How long each operation takes: by FAKE_PLAN, a file of patterns of names, or else by its name and size. */
#ifndef FAKE_PLAN_H
#define FAKE_PLAN_H

#include "device.h"

FAKE_LOCAL void fake_plan_load(void);
FAKE_LOCAL uint64_t fake_plan_ns(const struct fake_operation *operation, int device);

#endif
