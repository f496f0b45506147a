/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sigaltstack: the program's signal stack, as if there were none of ours; see own_stack.h.
 */
#include "intercept.h"
#include "own_stack.h"

SN_REAL(int, sigaltstack, (const stack_t *, stack_t *))

SN_EXPORT int sigaltstack(const stack_t *new_stack, stack_t *old_stack)
{
	if (!sn_thread_self() || !sn_is_measured_process())
		return real_sigaltstack_get()(new_stack, old_stack);
	return sn_own_stack_sigaltstack(new_stack, old_stack);
}
