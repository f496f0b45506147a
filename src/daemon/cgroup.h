/* SPDX-License-Identifier: Apache-2.0 */
/* Names of control groups: of services, sessions and containers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The path of a control group below the root of their tree ("/system.slice/cron.service"), by the kernel's number of it; "cgroup NUMBER" where it has gone, or is not shown here. */
void sn_cgroup_path(uint64_t number, char *path, size_t size);
