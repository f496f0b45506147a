/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of profilers' tables; see role.h. */
#include "role.h"

#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>

struct named_role {
	const char *name; /* in lower case, letters and digits alone */
	enum sn_role role;
};

static const struct named_role nsight[] = {
    {"id", SN_ROLE_KEY},
    {"processid", SN_ROLE_KEY},
    {"processname", SN_ROLE_APART},
    {"hostname", SN_ROLE_KEY},
    {"kerneltime", SN_ROLE_APART},
    {"context", SN_ROLE_APART},
    {"stream", SN_ROLE_APART},
    {"device", SN_ROLE_CATEGORY},
    {"cc", SN_ROLE_CATEGORY},
    {"kernelname", SN_ROLE_CATEGORY},
    {"blocksize", SN_ROLE_TRIPLE},
    {"gridsize", SN_ROLE_TRIPLE},
    {"sectionname", SN_ROLE_SECTION},
    {"metricname", SN_ROLE_METRIC},
    {"metricunit", SN_ROLE_UNIT},
    {"metricvalue", SN_ROLE_METRIC_VALUE},
    {"rulename", SN_ROLE_APART},
    {"ruletype", SN_ROLE_APART},
    {"ruledescription", SN_ROLE_APART},
    {"estimatedspeedup", SN_ROLE_APART},
    {"estimatedspeeduptype", SN_ROLE_APART},
    {NULL, SN_ROLE_VALUE},
};

static const struct named_role rocprof[] = {
    {"index", SN_ROLE_KEY},
    {"dispatchid", SN_ROLE_KEY},
    {"processid", SN_ROLE_KEY},
    {"pid", SN_ROLE_KEY},
    {"gpuid", SN_ROLE_CATEGORY},
    {"agentid", SN_ROLE_CATEGORY},
    {"kernelname", SN_ROLE_CATEGORY},
    {"kernelid", SN_ROLE_APART},
    {"correlationid", SN_ROLE_APART},
    {"threadid", SN_ROLE_APART},
    {"tid", SN_ROLE_APART},
    {"queueid", SN_ROLE_APART},
    {"queueindex", SN_ROLE_APART},
    {"streamid", SN_ROLE_APART},
    {"kind", SN_ROLE_APART},
    {"guid", SN_ROLE_APART},
    {"nodeid", SN_ROLE_APART},
    {"sig", SN_ROLE_APART},
    {"obj", SN_ROLE_APART},
    {"starttimestamp", SN_ROLE_BEGIN},
    {"beginns", SN_ROLE_BEGIN},
    {"endtimestamp", SN_ROLE_END},
    {"endns", SN_ROLE_END},
    {"dispatchns", SN_ROLE_APART},
    {"completens", SN_ROLE_APART},
    {"durationns", SN_ROLE_APART}, /* computed, for all forms alike */
    {"countername", SN_ROLE_METRIC},
    {"countervalue", SN_ROLE_METRIC_VALUE},
    {NULL, SN_ROLE_VALUE},
};

void sn_role_simple_name(const char *name, char simple[32])
{
	size_t count = 0;
	for (; *name && count < 31; name++)
		if (isalnum((unsigned char)*name))
			simple[count++] = (char)tolower((unsigned char)*name);
	simple[*name ? 0 : count] = 0;
}

static enum sn_role role_of(const struct named_role *known, const char *name)
{
	char simple[32];
	sn_role_simple_name(name, simple);
	while (known->name && strcmp(known->name, simple) != 0)
		known++;
	return known->role;
}

static bool has_name(const char *const *names, size_t count, const char *wanted)
{
	char simple[32];
	for (size_t number = 0; number < count; number++) {
		sn_role_simple_name(names[number], simple);
		if (!strcmp(simple, wanted))
			return true;
	}
	return false;
}

bool sn_role_is_nsight(const char *line)
{
	return (sn_text_begins(line, "\"ID\",") || sn_text_begins(line, "ID,") ||
		sn_text_begins(line, "\"Process ID\",")) &&
	       strstr(line, "Kernel Name") &&
	       (strstr(line, "Process ID") || strstr(line, "Metric Name"));
}

static enum sn_table_kind kind_of(const char *const *names, size_t count)
{
	bool is_dispatch = has_name(names, count, "dispatchid") || has_name(names, count, "index");
	if (!has_name(names, count, "kernelname"))
		return SN_TABLE_PLAIN;
	if ((has_name(names, count, "processid") || has_name(names, count, "metricname")) &&
	    (!strcmp(names[0], "ID") || !strcmp(names[0], "Process ID")))
		return SN_TABLE_NSIGHT;
	if (is_dispatch && (has_name(names, count, "gpuid") || has_name(names, count, "agentid")))
		return SN_TABLE_ROCPROF;
	return SN_TABLE_PLAIN;
}

/* The text of NVTX, of which there is a column for each domain's ranges. */
static bool is_nvtx(const char *name)
{
	return sn_text_begins(name, "thread Domain:") || sn_text_begins(name, "Id:Domain:");
}

static void place(struct sn_roles *roles, uint32_t field)
{
	switch (roles->of[field]) {
	case SN_ROLE_SECTION:
		roles->section = field;
		break;
	case SN_ROLE_METRIC:
		roles->metric = field;
		break;
	case SN_ROLE_UNIT:
		roles->unit = field;
		break;
	case SN_ROLE_METRIC_VALUE:
		roles->value = field;
		break;
	case SN_ROLE_BEGIN:
		roles->begin = field;
		break;
	case SN_ROLE_END:
		roles->end = field;
		break;
	default:
		break;
	}
}

static void find_roles(struct sn_roles *roles, const char *const *names)
{
	const struct named_role *known = roles->kind == SN_TABLE_NSIGHT ? nsight : rocprof;
	roles->section = roles->metric = roles->unit = roles->value = UINT32_MAX;
	roles->begin = roles->end = UINT32_MAX;
	for (uint32_t field = 0; field < roles->count; field++) {
		if (roles->kind != SN_TABLE_PLAIN)
			roles->of[field] = role_of(known, names[field]);
		if (roles->kind == SN_TABLE_NSIGHT && is_nvtx(names[field]))
			roles->of[field] = SN_ROLE_APART;
		place(roles, field);
	}
	roles->is_long = roles->metric != UINT32_MAX && roles->value != UINT32_MAX;
	roles->has_units = roles->kind == SN_TABLE_NSIGHT && !roles->is_long;
}

/* A row of the long form may end before the fields that only rules have, and not before one that is read. */
static uint32_t least_count(const struct sn_roles *roles)
{
	const uint32_t read[] = {roles->section, roles->metric, roles->unit,
				 roles->value,	 roles->begin,	roles->end};
	uint32_t least = 0;
	for (size_t number = 0; number < sizeof(read) / sizeof(*read); number++)
		if (read[number] != UINT32_MAX && read[number] >= least)
			least = read[number] + 1;
	return roles->is_long ? least : roles->count;
}

/* What begins with a metric or a time, but has no other part, is a value like any. */
static void drop_halves(struct sn_roles *roles)
{
	bool has_time = roles->begin != UINT32_MAX && roles->end != UINT32_MAX;
	for (uint32_t field = 0; field < roles->count; field++) {
		enum sn_role role = roles->of[field];
		if (!roles->is_long && role >= SN_ROLE_SECTION)
			roles->of[field] = SN_ROLE_VALUE;
		if (!has_time && (role == SN_ROLE_BEGIN || role == SN_ROLE_END))
			roles->of[field] = SN_ROLE_APART;
	}
	if (!has_time)
		roles->begin = roles->end = UINT32_MAX;
	roles->least_count = least_count(roles);
}

int sn_roles_find(struct sn_roles *roles, const char *const *names, size_t count,
		  struct sn_error *error)
{
	*roles = (struct sn_roles){.count = (uint32_t)count, .kind = kind_of(names, count)};
	roles->of = calloc(count + 1, sizeof(*roles->of));
	if (!roles->of || count >= UINT32_MAX)
		return sn_fail_memory(error);
	if (roles->kind == SN_TABLE_NSIGHT && !has_name(names, count, "id"))
		return sn_fail(error, SN_ERR_UNSUPPORTED,
			       "it is a summary of Nsight Compute; a table without "
			       "--print-summary has one row for each launch");
	find_roles(roles, names);
	drop_halves(roles);
	return 0;
}

void sn_roles_release(struct sn_roles *roles)
{
	free(roles->of);
	*roles = (struct sn_roles){0};
}
