/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readable quantities: three significant digits with a suitable unit.
 */
#pragma once

#include <stddef.h>

enum { SN_NUMBER_CHARS = 32 };

/* "1.23 s", "4.50 MiB", "12.3k", "42.1%", "1.20 GiB/s" by the metric's unit ("ns", "bytes", "1",
 * "ratio", with "/s" behind it; else as a suffix). "-" if it is no finite number. Returns `text`.
 * */
const char *sn_number_format(double value, const char *unit, char text[SN_NUMBER_CHARS]);
/* A count with separated thousands: "12,345". */
const char *sn_number_count(double value, char text[SN_NUMBER_CHARS]);
/* "42.1%", of a share from 0 to 1. */
const char *sn_number_share(double share, char text[SN_NUMBER_CHARS]);
/* The same by value: of any unit, of counts, of times, and of parts of a whole (0 of nothing): sn_number_time(ns).text. */
struct sn_number {
	char text[SN_NUMBER_CHARS];
};
struct sn_number sn_number_text(double value, const char *unit);
struct sn_number sn_number_counted(double count);
struct sn_number sn_number_time(double ns);
struct sn_number sn_number_part(double part, double whole);
/* The shortest decimal that reads back as the same double; for data formats. */
const char *sn_number_exact(double value, char text[SN_NUMBER_CHARS]);
