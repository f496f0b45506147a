/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces that all text reports use. */
#pragma once

#include "show/label.h"
#include "show/table.h"
#include "view.h"

#include <stdbool.h>
#include <stdint.h>

/* A report that ended with its header. */
enum { SN_TEXT_NOTHING = 1 };

#define SN_BOLD	 "\033[1m"
#define SN_DIM	 "\033[2m"
#define SN_PLAIN "\033[0m"
/* Writes an escape sequence if the page has colours. */
void sn_text_style(const struct sn_terminal *page, const char *sequence);
/* The same, then text, and plain again. */
void sn_text_styled(const struct sn_terminal *page, const char *sequence, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

const char *sn_text_unit(const struct sn_view *view, uint32_t position);
/* Its name as it is shown. */
struct sn_text_name {
	char text[256];
};
struct sn_text_name sn_text_metric(const struct sn_view *view, uint32_t position);
/* Columns that a table of values needs for it. */
int sn_text_metric_width(const struct sn_view *view, uint32_t position);

/* Columns for the metrics from `first` on and for all formulas; and their values at a row. */
void sn_text_columns(const struct sn_view *view, uint32_t first, struct sn_text_table *table);
/* "-" for zero. */
void sn_text_cell(const struct sn_view *view, uint32_t position, double value,
		  struct sn_text_table *table);
void sn_text_formulas(const struct sn_view *view, const struct sn_derived *derived,
		      bool is_exclusive, struct sn_text_table *table);
/* The heads of a table stand out on the page: begins it, for columns to be added, and ends them
 * with the word for what follows the columns. */
struct sn_text_table sn_text_begin_heads(const struct sn_terminal *page);
void sn_text_end_heads(const struct sn_terminal *page, struct sn_text_table *table,
		       const char *rest);
/* Ends a row with a profile's name, shortened to at most `room` columns unless names are whole. */
void sn_text_profile(const struct sn_view *view, uint32_t profile, int room,
		     struct sn_text_table *table);

/* The source line of a frame of the user's code, if `wants_line` and it is available; else the
 * frame's place, in brackets; "" if its name contains that. Returns whether it is source. */
struct sn_source;
bool sn_text_place(const struct sn_view *view, struct sn_source *source, uint32_t frame,
		   bool wants_line, char text[SN_LABEL_CHARS]);

/* What was measured, how much, how completely: one or two lines, then an empty one. False, with a
 * message, if there is nothing to show. */
bool sn_text_header(const struct sn_view *view, const struct sn_terminal *page, double total,
		    double count);
/* "Next: ..." below an empty line. `frame` is the most expensive one, or SONDE_NONE. */
void sn_text_footer(const struct sn_view *view, const struct sn_terminal *page, uint32_t frame);

/* The end of the measurement, ns since the epoch. */
uint64_t sn_text_measured_ns(const struct sonde_db *db);

/* The source lines of the user's code that cost most; returns the lines printed, or an error. */
int sn_text_hot_lines(const struct sn_view *view, const struct sn_terminal *page,
		      struct sn_source *source, uint32_t limit, struct sn_error *error);
