/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of the analyses of a timeline as sheets (show/sheet.h): a view for each question. A view
 * only lays out and computes nothing.
 *
 * To add a view: a file view_NAME.c with sn_view_NAME, a line in views.def, a paragraph in
 * docs/man/sonde-timeline.1.
 */
#pragma once

#include "show/number.h"
#include "show/sheet.h"
#include "show/timeline/names.h"

#include <math.h>

/* More devices than that are shown as lines of a table. */
enum { SN_FEW_DEVICES = 2 };

struct sn_timeline_view {
	const char *name, *summary;
	enum sn_answers_part needs;
	/* Adds its sheets. 0 or a negative enum sn_err. */
	int (*show)(const struct sn_answers *answers, struct sn_page *page, struct sn_error *error);
};
/* In the order of views.def; ends with a NULL name. */
extern const struct sn_timeline_view sn_timeline_views[];

/* Bytes a second; NAN if it took no time. */
static inline double sn_rate_of(double bytes, double ns)
{
	return ns > 0 ? bytes / ns * 1e9 : (double)NAN;
}

#define SN_VIEW(identifier, name, needs, summary)                                                  \
	int sn_view_##identifier(const struct sn_answers *answers, struct sn_page *page,           \
				 struct sn_error *error);
#include "show/timeline/views.def"
#undef SN_VIEW

/* A sheet of the parts of the trace that were not analysed completely; once, and only if there are
 * any. */
void sn_show_left_out(const struct sn_answers *answers, struct sn_page *page);
/* A sheet of the inferred data of the trace; once, and only if there is any. */
void sn_show_inferred(const struct sn_answers *answers, struct sn_page *page);
/* The runs that were recorded to explain others, if there are any. */
void sn_show_evidence(const struct sn_answers *answers, struct sn_page *page);

/* The activities of threads, as a sheet. 0 or SN_ERR_MEMORY. */
int sn_show_thread_times(const struct sn_thread_times *times, struct sn_page *page);

/* Findings as sentences of the page, of each rule at most so many. */
void sn_show_findings(const struct sn_answers *answers, const struct sn_findings *findings,
		      size_t most, struct sn_page *page);
