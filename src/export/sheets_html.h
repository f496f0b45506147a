/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sheets (report/sheet.h) as one self-contained page: sentences on top, then a table for each
 * sheet, shares as bars, values over time as curves. No scripts, nothing from elsewhere, light and
 * dark as the reader's system is.
 */
#ifndef SN_EXPORT_SHEETS_HTML_H
#define SN_EXPORT_SHEETS_HTML_H

#include "base/error.h"
#include "report/sheet.h"

/* Writes the file beside and renames it. 0 or a negative enum sn_err. */
int sn_sheets_html(const struct sn_page *page, const char *title, const char *path,
		   struct sn_error *error);

#endif
