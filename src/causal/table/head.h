/* SPDX-License-Identifier: Apache-2.0 */
/* Where a table begins in its file, and what separates its fields. */
#pragma once

#include "base/csv/csv_read.h"

#include <stdbool.h>

/* Opens the file, also a pipe, at the row of names, whose fields csv_next gives next; `is_quoted`: that row begins with a quote. 0 or a negative
 * enum sn_err; close it in either case. */
int sn_table_open(struct sn_csv_reader *csv, const char *path, bool *is_quoted,
		  struct sn_error *error);
