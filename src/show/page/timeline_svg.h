/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture of a timeline as one SVG file that any browser shows: coloured by layer as the HTML
 * page is, paler where events take only part of a pixel; names and times are tooltips.
 */
#pragma once

#include "timeline_picture.h"

/* Writes a temporary file and renames it; a column is a pixel wide. 0 or a negative enum sn_err. */
int sn_timeline_svg(const struct sn_timeline_picture *picture, const char *path,
		    struct sn_error *error);
