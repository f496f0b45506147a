/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that hooks begin and end. */
#include "operator.h"

#include "collect/core/context.h"
#include "collect/record/trace.h"

#include <string.h>

bool sn_operators_wanted(void)
{
	return strcmp(sn_config.operators, "off") != 0 && sn_config.sources & SN_SOURCE_OPERATOR;
}

static void push(struct sn_thread *thread, const struct sn_operator_start *start)
{
	struct sn_frame frame = {.kind = SN_FRAME_OPERATOR,
				 .id = sn_cct_string(&thread->cct, start->name, start->length)};
	struct sn_shadow *shadow =
	    frame.id == SN_ID_NONE ? NULL : sn_shadow_push(thread, &frame, start->stack);
	if (!shadow)
		return;
	shadow->user = start->user;
	shadow->node = sn_context(thread, start->stack, start->pc, true);
	if (sn_trace_wants(SN_TRACE_SOURCE_OPERATORS))
		shadow->start_ns = sn_now_ns();
}

uint32_t sn_operator_begin(const struct sn_operator_start *start)
{
	struct sn_thread *thread = sn_operators_wanted() ? sn_enter() : NULL;
	if (!thread)
		return SN_OPERATOR_NONE;
	uint32_t token = thread->shadow_depth;
	push(thread, start);
	sn_leave(thread);
	return token;
}

void sn_operator_end(uint32_t token, uint32_t user)
{
	struct sn_thread *thread = token == SN_OPERATOR_NONE ? NULL : sn_enter();
	if (!thread)
		return;
	while (thread->shadow_depth > token) {
		const struct sn_shadow *shadow = sn_shadow_pop(thread);
		if (shadow && shadow->user == user && shadow->start_ns &&
		    shadow->node != SN_NODE_NONE)
			sn_trace_interval(thread, shadow->node, shadow->start_ns, sn_now_ns());
	}
	sn_leave(thread);
}
