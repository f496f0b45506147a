/* SPDX-License-Identifier: Apache-2.0 */
/* Parallel coordinates (base/parallel/parallel.h) as data for the viewer. */
#pragma once

#include "base/parallel/parallel.h"
#include "show/json.h"

/*
 * The member "parallel" of an open object:
 *
 *	{"rows": N, "axes": [AXIS...], "pairs": [[BIN, BIN, ROWS, ...]...], "cells": [GROUP..., ROWS, ...]}
 *
 * AXIS: {"name", "unit", "scale": "linear" | "log" | "category", "bins": [BIN...], "group_count"}, and
 * "values" of an axis that has few different numbers: all of them, ascending; BIN:
 * {"low", "high"} or {"name"}, and "rows", "group". Bins are in the order in which they are shown:
 * "0 or less", numbers upwards, "missing"; categories by frequency, "other", "missing". `pairs` has a
 * list for each two adjacent axes, `cells` a group for each axis and the rows. Each row is counted
 * once in each. 0 or SN_ERR_MEMORY.
 */
int sn_parallel_json(const struct sn_parallel *parallel, const struct sn_parallel_names *names,
		     struct sn_json *json);
