/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where instructions of a program come from, as newer versions of XLA keep it: an index of stack
 * frames beside the computations, in four lists whose elements name each other by number from 1.
 */
#pragma once

#include "hlo.h"

struct sn_hlo_location {
	uint32_t file, function; /* numbers in their lists; 0 none */
	uint32_t line;
};

struct sn_hlo_frame {
	uint32_t location; /* number in its list */
	uint32_t parent;   /* the frame that called it; 0 none */
};

/* Zeroes are an index without anything. */
struct sn_hlo_places {
	uint32_t *files, *functions; /* builder's strings */
	struct sn_hlo_location *locations;
	struct sn_hlo_frame *frames;
	size_t file_count, function_count, location_count, frame_count;
	size_t file_capacity, function_capacity, location_capacity, frame_capacity;
};

/* Gives all instructions their file, line, function and callers. 0 or SN_ERR_MEMORY. */
int sn_hlo_place(struct sn_hlo *hlo, struct sn_db_builder *builder, struct sn_hlo_places *places);
void sn_hlo_places_release(struct sn_hlo_places *places);
