/* SPDX-License-Identifier: Apache-2.0 */
/* Parses one event of a trace from a window of JSON; trace_json.h describes its fields. */
#pragma once

#include "json_shape.h"
#include "json_window.h"

/*
 * Parses the event at which parsing stands, white space before it as well; `args` has room for
 * SN_JSON_ARGS_MAX. By `shapes`, to which its shape is added where it is new; or without, where
 * that is NULL, with the same result.
 */
enum sn_json_result sn_json_event(struct sn_json_parse *parse, struct sn_json_shapes *shapes,
				  struct sn_json_arg *args, struct sn_json_event *event);
