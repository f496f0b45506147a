/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the exporters for compilers and binary optimizers have in common: one image of the database, all of its functions that have samples, and how often their blocks ran.
 *
 * Counts are those that annotate/frequency.h estimates, in units that make them large enough for whole numbers: an execution of a block that takes a cycle is one nanosecond of time, or
 * one cycle where cycles were counted. So their ratios mean something; their size is right up to the processor's frequency. Where nothing is known of a function's instructions (another
 * machine than x86-64, no disassembler), a block's count is its samples divided by its instructions.
 */
#pragma once

#include "annotate/annotate.h"
#include "base/error.h"
#include "export/exporter.h"

struct sn_pgo_image {
	struct sn_annotation annotation;
	const char *path; /* the database's */
};

/* The image that was asked for, or the one with most of the metric. SN_ERR_MISSING, SN_ERR_MEMORY or 0; release it in either case. */
int sn_pgo_image_open(struct sn_pgo_image *image, const struct sn_export_request *request,
		      struct sn_error *error);
void sn_pgo_image_release(struct sn_pgo_image *image);

/* Executions of a block, of an edge (0 where there are no frequencies), and calls of the function from elsewhere. */
double sn_pgo_block_count(const struct sn_annotated_function *function, uint32_t block);
double sn_pgo_edge_count(const struct sn_annotated_function *function, uint32_t edge);
double sn_pgo_entry_count(const struct sn_annotated_function *function);

/* The block of the function's code that holds an address, or SN_FLOW_NONE. */
uint32_t sn_pgo_block_at(const struct sn_annotated_function *function, uint64_t address);
