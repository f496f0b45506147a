/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of `sonde timeline`: sentences, a picture, and the sheets as tables and curves, drawn by
 * the viewer (viewer.h) from data.
 */
#pragma once

#include "show/sheet.h"
#include "timeline_picture.h"

/* Writes a temporary file and renames it. 0 or a negative enum sn_err. */
int sn_timeline_page(const struct sn_page *page, const char *title,
		     const struct sn_timeline_picture *picture, const char *path,
		     struct sn_error *error);
