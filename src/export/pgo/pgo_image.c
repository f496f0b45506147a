/* SPDX-License-Identifier: Apache-2.0 */
/* See pgo_image.h. */
#include "pgo_image.h"

#include "base/search.h"
#include "binary/structure/flow_graph.h"

#include <math.h>

/* Counts are whole numbers: of one sample this many cycles at least, so that rare blocks are above 0. */
enum { CYCLES_LEAST = 1000 };
/* Whole numbers that a double tells apart; sums of them still fit into 64 bits. */
#define COUNT_MOST 1e15

static int refuse(const struct sn_pgo_image *image, const struct sn_export_request *request,
		  struct sn_error *error)
{
	const struct sn_annotation *annotation = &image->annotation;
	const char *why =
	    annotation->gap_count ? annotation->gaps[0].why : "no function of it has samples";
	return sn_fail(error, SN_ERR_MISSING, "cannot write a profile of '%s': %s%s", image->path,
		       why, request->image ? "" : " (--image NAME chooses another one)");
}

static int choose(struct sn_pgo_image *image, const struct sn_export_request *request,
		  struct sn_error *error)
{
	image->path = sn_annotate_hottest_image(request->db, request->metrics[0], request->image);
	if (image->path)
		return 0;
	if (!request->image)
		return sn_fail(error, SN_ERR_MISSING, "'%s' has no samples in machine code",
			       request->path);
	return sn_fail(error, SN_ERR_MISSING,
		       "no image is called '%s', or it has no samples of its own (sonde report "
		       "'%s' --by module lists them)",
		       request->image, request->path);
}

int sn_pgo_image_open(struct sn_pgo_image *image, const struct sn_export_request *request,
		      struct sn_error *error)
{
	*image = (struct sn_pgo_image){0};
	int result = choose(image, request, error);
	if (result)
		return result;
	struct sn_annotate_request wanted = {
	    .db = request->db, .metric = request->metrics[0], .image = image->path};
	result = sn_annotate(&image->annotation, &wanted, error);
	if (!result && !image->annotation.function_count)
		result = refuse(image, request, error);
	return result;
}

void sn_pgo_image_release(struct sn_pgo_image *image)
{
	sn_annotation_release(&image->annotation);
	*image = (struct sn_pgo_image){0};
}

static double count_of(const struct sn_annotated_function *function, double frequency)
{
	double scale = function->samples > 0 ? function->value / function->samples : 0;
	return fmin(frequency * fmax(scale, CYCLES_LEAST), COUNT_MOST);
}

double sn_pgo_block_count(const struct sn_annotated_function *function, uint32_t block)
{
	const struct sn_annotated_block *own = &function->blocks[block];
	if (function->is_modelled)
		return count_of(function, own->frequency);
	return own->count ? count_of(function, own->samples / own->count) : 0;
}

double sn_pgo_edge_count(const struct sn_annotated_function *function, uint32_t edge)
{
	return function->is_modelled ? count_of(function, function->edges[edge].frequency) : 0;
}

double sn_pgo_entry_count(const struct sn_annotated_function *function)
{
	uint32_t entry = sn_pgo_block_at(function, function->start);
	if (entry == SN_FLOW_NONE)
		return 0;
	double count = sn_pgo_block_count(function, entry);
	for (uint32_t edge = 0; edge < function->edge_count; edge++)
		if (function->edges[edge].to == entry)
			count -= sn_pgo_edge_count(function, edge);
	return fmax(count, 0);
}

uint32_t sn_pgo_block_at(const struct sn_annotated_function *function, uint64_t address)
{
	uint32_t low =
	    (uint32_t)sn_search(i, function->block_count, function->blocks[i].start <= address);
	/* where blocks overlap, the one before may hold it */
	while (low-- > 0)
		if (address < function->blocks[low].end)
			return low;
	return SN_FLOW_NONE;
}
