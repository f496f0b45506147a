/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sheets (show/sheet.h) as one self-contained page: sentences on top, a picture, then a table for
 * each sheet, shares as bars, values over time as curves. No scripts, nothing from elsewhere, light
 * and dark as the reader's system is.
 */
#ifndef SN_SHOW_SHEETS_HTML_H
#define SN_SHOW_SHEETS_HTML_H

#include "base/error.h"
#include "base/output.h"
#include "show/sheet.h"

/* What is drawn between the sentences and the tables, as SVG. 0 or a negative enum sn_err. */
struct sn_figure {
	int (*draw)(void *context, struct sn_output *output, struct sn_error *error);
	void *context;
};

/* Writes the file beside and renames it. 0 or a negative enum sn_err. */
int sn_sheets_html(const struct sn_page *page, const char *title, const struct sn_figure *figure,
		   const char *path, struct sn_error *error);

#endif
