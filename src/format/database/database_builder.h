/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the builder: database_builder.c collects, database_order.c puts everything in
 * canonical order for the writer (format/writer). Also used by analysis (src/aggregate), which has
 * values of its own; private to these.
 */
#pragma once

#include "base/arena.h"
#include "base/intern.h"
#include "base/vec.h"
#include "database.h"
#include "database_formulas.h"
#include "database_writer.h"
#include "database_graph_builder.h"
#include "database_held.h"

struct sn_db_context_key {
	uint32_t parent, frame;
};

struct sn_db_builder {
	int failed;		     /* the first enum sn_err */
	bool is_shared;		     /* see sn_db_builder_share */
	struct sn_db_events *events; /* owned; NULL */
	struct sn_intern strings;
	struct sn_intern modules, frames; /* the structs themselves */
	struct sn_intern contexts;	  /* struct sn_db_context_key; the root's parent is NONE */
	uint32_t root_frame;
	struct sn_graph_parts graph;
	struct sonde_db_metric *metrics;
	struct sonde_db_profile *profiles;
	struct sonde_db_drop *drops;
	struct sn_database_property *properties;
	struct sn_database_formula *formulas;
	struct sn_arena texts; /* of formulas */
	struct sn_db_values values;
	unsigned threads;				  /* that write */
	int (*complete)(void *context, const char *path); /* see sn_db_builder_set_complete */
	void *complete_context;
	struct sn_intern metric_names; /* numbered as the metrics are */
	size_t formula_count, formula_capacity;
	size_t metric_count, profile_count, drop_count, property_count;
	size_t metric_capacity, profile_capacity, drop_capacity, property_capacity;
};

/* Stores the first failure; returns SONDE_NONE. */
uint32_t sn_db_builder_fail(struct sn_db_builder *builder, enum sn_err code);
/* Appends to one of the builder's arrays. The item's number; SONDE_NONE without memory. */
#define SN_DB_BUILDER_PUSH(builder, items, count, capacity, item)                                  \
	({                                                                                         \
		int sn_failed = sn_vec_push(&(items), &(capacity), &(count), item);                \
		sn_failed ? sn_db_builder_fail(builder, SN_ERR_MEMORY) : (uint32_t)((count)-1);    \
	})

/* Everything in canonical order and with final numbers; arrays from malloc. */
struct sn_db_ordered {
	struct sn_db_numbers numbers; /* the final ones of the builder's; owned */
	uint32_t module_count, frame_count;
	uint32_t *string_at; /* builder's number of each final string */
	struct sonde_db_module *modules;
	struct sonde_db_frame *frames;
	struct sonde_db_context *contexts;
	struct sonde_db_metric *metrics;
	struct sonde_db_profile *profiles;
	struct sonde_db_drop *drops;
	struct sn_database_property *properties;
};

/* 0 or SN_ERR_MEMORY; release in either case. */
int sn_db_order(const struct sn_db_builder *builder, struct sn_db_ordered *ordered);
void sn_db_ordered_release(struct sn_db_ordered *ordered);
