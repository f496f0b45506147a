/* SPDX-License-Identifier: Apache-2.0 */
/* Times as people write them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * "90s", "15m", "1h30m", "2d", "1w": so long before `now_ns`; "2026-11-30", "2026-11-30T12:30",
 * "2026-11-30 12:30:15", with a Z in UTC, else in local time. Nanoseconds since the Unix epoch. False if it
 * is none of these.
 */
bool sn_moment_read(const char *text, uint64_t now_ns, uint64_t *time_ns);
