/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the columns of a profiler's table are: known by their names, in any case, with "_", "-", " " or nothing between words. The names are those of
 * Nsight Compute's two pages and of rocprof, rocprofv2 and rocprofv3.
 */
#pragma once

#include "causal/table.h"

enum sn_role {
	SN_ROLE_VALUE,	  /* a column of its own */
	SN_ROLE_CATEGORY, /* likewise, and its numbers are names: a device's */
	SN_ROLE_TRIPLE,	  /* a size in three dimensions, of which each is a column */
	SN_ROLE_APART,	  /* says which observation it is, or when; explains nothing */
	SN_ROLE_KEY,	  /* likewise, and rows that have the same are of one launch */
	SN_ROLE_BEGIN,	  /* a time in ns */
	SN_ROLE_END,
	SN_ROLE_SECTION, /* of the long form: a row is one metric of a launch */
	SN_ROLE_METRIC,
	SN_ROLE_UNIT,
	SN_ROLE_METRIC_VALUE,
};

struct sn_roles {
	enum sn_table_kind kind;
	bool is_long, has_units; /* has_units: the second row has them */
	uint32_t count;
	enum sn_role *of; /* of each field of the first row; owned */
	uint32_t
	    least_count; /* of fields, that a row must have: Nsight leaves out empty ones at the end */
	uint32_t section, metric, unit, value, begin, end; /* the field; UINT32_MAX: none */
};

/* Letters and digits of a name, in lower case; "" of one that is longer than any that is known. */
void sn_role_simple_name(const char *name, char simple[32]);
/* Whether a line is the first of Nsight Compute's table, which other lines may precede. */
bool sn_role_is_nsight(const char *line);
/* 0 or a negative enum sn_err: a summary, without single launches. Release it in either case. */
int sn_roles_find(struct sn_roles *roles, const char *const *names, size_t count,
		  struct sn_error *error);
void sn_roles_release(struct sn_roles *roles);
