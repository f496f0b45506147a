/* SPDX-License-Identifier: Apache-2.0 */
/* A causal analysis as a drawing (drawing.h), and as a page of HTML with parallel coordinates of its rows. */
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

/* The rows as parallel coordinates of the largest causes and the target. 0 or SN_ERR_MEMORY; release them in either case. The analysis must live as long. */
struct sn_causal_rows {
	struct sn_parallel *parallel;
	struct sn_parallel_names names[SN_PARALLEL_AXES];
};
int sn_causal_rows_init(struct sn_causal_rows *rows, const struct sn_causal *causal);
void sn_causal_rows_release(struct sn_causal_rows *rows);

/* A page, which appears when it is whole, with the sentences of `page`. 0 or a negative enum sn_err. */
int sn_causal_write_html(const struct sn_causal_picture *picture, const struct sn_causal *causal,
			 const struct sn_page *page, const char *path, struct sn_error *error);
