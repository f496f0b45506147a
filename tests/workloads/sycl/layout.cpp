/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what the adapter of SYCL declares of XPTI (xpti.h) with the headers. It is compiled, and never run. */
#include "collect/adapters/sycl/xpti.h"

#include <cstddef>
#include <xpti/xpti_trace_framework.h>

static_assert(SN_XPTI_NODE_CREATE == (int)xpti::trace_point_type_t::node_create);
static_assert(SN_XPTI_TASK_BEGIN == (int)xpti::trace_point_type_t::task_begin);
static_assert(SN_XPTI_TASK_END == (int)xpti::trace_point_type_t::task_end);
static_assert(offsetof(sn_xpti_payload, name) == offsetof(xpti::payload_t, name));
static_assert(offsetof(sn_xpti_payload, stack) == offsetof(xpti::payload_t, stack_trace));
static_assert(offsetof(sn_xpti_payload, file) == offsetof(xpti::payload_t, source_file));
static_assert(offsetof(sn_xpti_payload, line) == offsetof(xpti::payload_t, line_no));
static_assert(offsetof(sn_xpti_payload, column) == offsetof(xpti::payload_t, column_no));
