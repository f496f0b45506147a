/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the text of XLA's profiler about a kernel or a copy, in its protobuf and in its JSON:
 * "regs:32 static_shared:0 dynamic_shared:64 grid:16,1,1 block:128,1,1", "kind_src:pinned
 * kind_dst:device size:64".
 */
#pragma once

#include "import/core/track_sink.h"

#define SN_XLA_DETAILS_MAX 9

/* The up to three numbers behind "NAME:", which `name` is: how many. */
unsigned sn_xla_numbers(const char *text, size_t length, const char *name, uint64_t numbers[3]);

/* Makes attributes of it, under keys[enum sn_track_key]: how many. */
unsigned sn_xla_details(const char *text, size_t length, const uint32_t *keys,
			struct sn_attribute attributes[SN_XLA_DETAILS_MAX]);
