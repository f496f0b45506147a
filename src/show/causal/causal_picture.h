/* SPDX-License-Identifier: Apache-2.0 */
/* A causal analysis as pictures: SVG, Graphviz's language, and a page of HTML with parallel coordinates of its rows. */
#pragma once

#include "causal/causal.h"
#include "page.h"
#include "show/sheet.h"

/* The analysis and its table must live as long. 0 or SN_ERR_MEMORY; release it in either case. */
struct sn_causal_picture {
	struct sn_causal_drawing drawing;
	struct sn_causal_variable *variables;
	struct sn_causal_arrow *arrows;
};
int sn_causal_picture_init(struct sn_causal_picture *picture, const struct sn_causal *causal,
			   const char *title);
void sn_causal_picture_release(struct sn_causal_picture *picture);

/* Files that appear when they are whole. 0 or a negative enum sn_err. */
int sn_causal_write_svg(const struct sn_causal_picture *picture, const char *path,
			struct sn_error *error);
int sn_causal_write_dot(const struct sn_causal_picture *picture, const char *path,
			struct sn_error *error);
/* The sentences are those of the page. */
int sn_causal_write_html(const struct sn_causal_picture *picture, const struct sn_causal *causal,
			 const struct sn_page *page, const char *path, struct sn_error *error);
