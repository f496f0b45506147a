/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the builder: what database_builder.c collects, database_order.c puts in canonical order
 * and database_writer.c computes and lays out. Analysis (src/aggregate) looks inside too, because
 * it writes values by itself; nobody else includes this.
 */
#ifndef SN_FORMAT_DATABASE_BUILDER_H
#define SN_FORMAT_DATABASE_BUILDER_H

#include "base/intern.h"
#include "database.h"
#include "database_formulas.h"
#include "database_writer.h"
#include "database_graph_builder.h"

struct sn_db_value {
	uint32_t profile, metric, context;
	uint32_t reserved;
	struct sonde_db_stat stat;
};

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
	struct sn_database_formula *formulas; /* texts from malloc */
	struct sn_db_value *values;
	struct sn_intern metric_names; /* numbered as the metrics are */
	size_t formula_count, formula_capacity;
	size_t metric_count, profile_count, drop_count, property_count, value_count;
	size_t metric_capacity, profile_capacity, drop_capacity, property_capacity, value_capacity;
};

/* Everything in canonical order and with final numbers; arrays from malloc. */
struct sn_db_ordered {
	uint32_t string_count, module_count, frame_count, context_count;
	uint32_t *string_at; /* builder's number of each final string */
	struct sonde_db_module *modules;
	struct sonde_db_frame *frames;
	struct sonde_db_context *contexts;
	struct sonde_db_metric *metrics;
	struct sonde_db_profile *profiles;
	struct sonde_db_drop *drops;
	struct sn_database_property *properties;
	struct sn_db_value *values; /* by profile, metric, context; no two alike */
	size_t value_count;
	/* the final number of each of the builder's; profiles the other way round, too */
	uint32_t *string_rank, *context_rank, *metric_rank, *profile_rank, *profile_at;
};

/* 0 or SN_ERR_MEMORY; release in either case. */
int sn_db_order(const struct sn_db_builder *builder, struct sn_db_ordered *ordered);
void sn_db_ordered_release(struct sn_db_ordered *ordered);
/* Asks for the sections of events, which are empty where the builder has none. */
int sn_db_events_sections(const struct sn_db_builder *builder, const struct sn_db_ordered *ordered,
			  struct sn_db_section events[SN_DB_EVENT_SECTIONS],
			  struct sn_error *error);
/* The strings section, from malloc; NULL without memory. */
unsigned char *sn_db_lay_strings(const struct sn_db_builder *builder,
				 const struct sn_db_ordered *ordered, size_t *length);

#endif
