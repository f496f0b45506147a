/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures of a function's control flow: its basic blocks from top to bottom with their instructions, samples, frequencies, cycles and culprits, and the edges between them, as wide as they are often taken (dcpicfg of Anderson et al., see
 * annotate/frequency.h).
 *
 *	result = sn_flow_picture_init(&picture, annotation, function, view);
 *	result = result ? result : sn_flow_svg(&picture, out);
 *	sn_flow_picture_release(&picture);
 */
#pragma once

#include "annotate_forms.h"
#include "show/page/layered.h"

/* Blocks of one picture: of more the first one is drawn, those with the most samples, and those between unless they are many. */
enum { SN_FLOW_DRAWN = 60 };

struct sn_flow_drawn {
	uint32_t block; /* of the function */
	uint32_t left_out,
	    left_before; /* blocks that it leads to, and that lead to it, and that are not drawn */
	double width, height;
	bool has_loop; /* it follows itself */
};

struct sn_flow_picture {
	const struct sn_annotation *annotation;
	const struct sn_annotated_function *function;
	const struct sn_annotate_view *view;
	struct sn_flow_drawn *drawn; /* by address */
	uint32_t drawn_count;
	uint32_t *edges; /* of each link, the function's edge */
	struct sn_layered_link
	    *links; /* between drawn blocks, not to themselves; is_backward: the edge leads back */
	uint32_t link_count;
	double most;	   /* the largest frequency of an edge */
	double left_value; /* of the blocks that are not drawn */
	struct sn_layered layered;
	struct sn_arena arena;
};

/* What it is given must live as long. 0 or SN_ERR_MEMORY; release it in either case. */
int sn_flow_picture_init(struct sn_flow_picture *picture, const struct sn_annotation *annotation,
			 const struct sn_annotated_function *function,
			 const struct sn_annotate_view *view);
void sn_flow_picture_release(struct sn_flow_picture *picture);

/* An SVG file, light or dark as the reader's system is. A block is an element with the id "block-N", an edge one with "edge-N", by their numbers in the function. */
void sn_flow_svg(const struct sn_flow_picture *picture, FILE *out);
/* For Graphviz. */
void sn_flow_dot(const struct sn_flow_picture *picture, FILE *out);
/* A page of the picture and of all blocks with all instructions and source lines; nothing of it is elsewhere. */
void sn_flow_html(const struct sn_flow_picture *picture, FILE *out);
