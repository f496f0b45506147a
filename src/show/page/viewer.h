/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of HTML: the viewer (viewer/dist/page.html, embedded at build time) with its data. A page
 * is one file that loads nothing, and names in it are escaped.
 */
#pragma once

#include "base/buffer.h"
#include "base/error.h"

#include <stdio.h>

/* Appends a page's payload (docs/format/html.md): a header in JSON, and the data of its columns.
 * Failure is sticky in `payload`. */
void sn_viewer_payload(struct sn_buffer *payload, const void *header, size_t header_bytes,
		       const struct sn_buffer *data);

/* Writes the page "TITLE – Sonde". The payload is compressed in place if this build can. 0 or
 * SN_ERR_MEMORY. */
int sn_viewer_write(FILE *out, const char *title, struct sn_buffer *payload,
		    struct sn_error *error);
