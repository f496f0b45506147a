/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window of a trace as a picture: a row for each track, coloured by layer as the HTML page is,
 * paler where events take only part of a pixel. One SVG file that any browser shows; the name and
 * time of what is under the pointer come up as its title.
 */
#ifndef SN_SHOW_TIMELINE_SVG_H
#define SN_SHOW_TIMELINE_SVG_H

#include "base/error.h"
#include "base/output.h"
#include "sonde/trace.h"

struct sn_timeline_picture {
	uint64_t from_ns, to_ns; /* since the Unix epoch */
	unsigned width;		 /* pixels, of the rows */
	unsigned rows;		 /* at most; the others are counted below */
};

/* Writes the file beside and renames it. 0 or a negative enum sn_err. */
int sn_timeline_svg(const struct sonde_db *db, const struct sonde_trace *trace,
		    const struct sn_timeline_picture *picture, const char *path,
		    struct sn_error *error);

/* The picture alone, as a part of a page that is being written. 0 or a negative enum sn_err. */
int sn_timeline_svg_draw(const struct sonde_db *db, const struct sonde_trace *trace,
			 const struct sn_timeline_picture *picture, struct sn_output *output,
			 struct sn_error *error);

#endif
