/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The KEY=VALUE lines of the PROCESS section, which describe this process image. Keys:
 * docs/format/measurement.md.
 *
 * All functions here, unless they say otherwise: AS-safe: no. MT: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SN_PROPERTY_MAX	       48u
#define SN_PROPERTY_LINE_BYTES 4608u

/* Of enum sn_source, in the order of its bits. */
#define SN_SOURCE_COUNT 4u
extern const char *const sn_source_names[SN_SOURCE_COUNT];

/* Reads command line, host, parallel rank and clocks of this process image. */
void sn_properties_init(void);
/* Adds a line, or replaces the line of that key. The strings are copied. */
void sn_property_set(const char *key, const char *value);
void sn_property_set_number(const char *key, uint64_t number);
bool sn_property_has(const char *key);
/* Writes property `index` with its terminating NUL into `line`; its length with the NUL, or 0 past
 * the last one. `exit_text` is the value of "exit". AS-safe: yes. MT: yes. */
size_t sn_property_line(uint32_t index, const char *exit_text, char line[SN_PROPERTY_LINE_BYTES]);
