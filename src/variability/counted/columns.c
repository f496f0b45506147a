/* SPDX-License-Identifier: Apache-2.0 */
/* What columns are of a launch, by the names that profilers give them; see counted.h. */
#include "counted.h"

#include "base/text.h"
#include "causal/table/role.h"

#include <math.h>
#include <string.h>

/* Names in lower case, letters and digits alone; the first that a table has counts. */
#define NAMES_MOST 6
struct known {
	const char *names[NAMES_MOST];
};

static const struct known sizes[SN_CONFIGURATION_SIZES] = {
    [SN_LAUNCH_GRID_X] = {{"gridx", "gridsizex", "grdx", "gridsize", "grd"}},
    [SN_LAUNCH_GRID_Y] = {{"gridy", "gridsizey", "grdy"}},
    [SN_LAUNCH_GRID_Z] = {{"gridz", "gridsizez", "grdz"}},
    [SN_LAUNCH_BLOCK_X] = {{"blockx", "blocksizex", "blkx", "workgroupsizex", "workgroupsize",
			    "wgr"}},
    [SN_LAUNCH_BLOCK_Y] = {{"blocky", "blocksizey", "blky", "workgroupsizey"}},
    [SN_LAUNCH_BLOCK_Z] = {{"blockz", "blocksizez", "blkz", "workgroupsizez"}},
    [SN_LAUNCH_SHARED] = {{"sharedmemory", "ldsblocksize", "ldsperworkgroup", "lds",
			   "groupsegmentsize"}},
};
static const struct known kernel = {{"kernelname", "kernel", "name"}};
static const struct known device = {{"device", "gpuid", "agentid"}};
static const struct known start = {{"startns"}};
static const struct known duration = {
    {"durationns", "gputimedurationsum", "gputimedurationavg", "gputimedurationmax", "duration"}};
/* Besides these: how a kernel was compiled, and on what it ran. */
static const char *const others[] = {"place",
				     "stream",
				     "cc",
				     "file",
				     "registers",
				     "regtrd",
				     "vgpr",
				     "sgpr",
				     "archvgpr",
				     "accumvgpr",
				     "vgprcount",
				     "sgprcount",
				     "scr",
				     "archvgprcount",
				     "accumvgprcount",
				     "scratchsize",
				     "scratchperworkitem",
				     "privatesegmentsize"};

static bool is_named(const struct known *known, const char *name)
{
	char simple[32];
	sn_role_simple_name(name, simple);
	for (size_t i = 0; i < NAMES_MOST && known->names[i]; i++)
		if (!strcmp(simple, known->names[i]))
			return true;
	return false;
}

static uint32_t find(const struct sn_causal_table *table, const struct known *known,
		     bool is_category)
{
	char simple[32];
	for (size_t i = 0; i < NAMES_MOST && known->names[i]; i++)
		for (uint32_t column = 0; column < table->column_count; column++) {
			sn_role_simple_name(table->columns[column].name, simple);
			if (!strcmp(simple, known->names[i]) &&
			    is_category == (table->columns[column].levels > 0))
				return column;
		}
	return UINT32_MAX;
}

bool sn_counted_is_set_outside(const char *name)
{
	char simple[32];
	bool is_set =
	    is_named(&kernel, name) || is_named(&device, name) || sn_text_begins(name, "launch__");
	for (size_t size = 0; size < SN_CONFIGURATION_SIZES; size++)
		is_set |= is_named(&sizes[size], name);
	sn_role_simple_name(name, simple);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		is_set |= !strcmp(simple, others[i]);
	return is_set;
}

uint32_t sn_counted_kernel(const struct sn_causal_table *table)
{
	return find(table, &kernel, true);
}

void sn_counted_find_columns(struct sn_counted *counted)
{
	const struct sn_causal_table *table = &counted->table;
	counted->kernel = find(table, &kernel, true);
	counted->device = find(table, &device, true);
	counted->start = find(table, &start, false);
	for (size_t size = 0; size < SN_CONFIGURATION_SIZES; size++)
		counted->sizes[size] = find(table, &sizes[size], false);
}

/* Of Nsight's page "details" one with the section behind its name, where there are several. */
static uint32_t find_in_section(const struct sn_causal_table *table)
{
	for (uint32_t column = 0; column < table->column_count; column++)
		if (sn_text_begins(table->columns[column].name, "Duration (") &&
		    !table->columns[column].levels)
			return column;
	return UINT32_MAX;
}

uint32_t sn_counted_find_duration(const struct sn_causal_table *table)
{
	uint32_t column = find(table, &duration, false);
	return column == UINT32_MAX && table->kind == SN_TABLE_NSIGHT ? find_in_section(table)
								      : column;
}

static uint64_t size_of(const struct sn_counted *counted, enum sn_launch_size size, size_t row)
{
	uint32_t column = counted->sizes[size];
	double value =
	    column == UINT32_MAX ? (double)NAN : counted->table.columns[column].values[row];
	return value >= 0 && value < 1e18 ? (uint64_t)value : SN_SIZE_UNKNOWN;
}

/* rocprof counts work items, where others count blocks. */
uint64_t sn_counted_size(const struct sn_counted *counted, enum sn_launch_size size, size_t row)
{
	uint64_t value = size_of(counted, size, row);
	if (size > SN_LAUNCH_GRID_Z || counted->table.kind != SN_TABLE_ROCPROF ||
	    value == SN_SIZE_UNKNOWN || !value)
		return value;
	uint64_t block = size_of(counted, size - SN_LAUNCH_GRID_X + SN_LAUNCH_BLOCK_X, row);
	return block == SN_SIZE_UNKNOWN || !block ? value : (value - 1) / block + 1;
}
