/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorFlow's operations and functions as operators: whatever Python executes eagerly, one operation (MatMul) or a whole
 * tf.function (__inference_train_step_42, also one that XLA compiles), goes through TFE_Execute of TensorFlow's C interface, which
 * its libraries reach by the symbol. What a function's operations are is not seen here; samples have the native frames.
 */
#include "collect/intercept/intercept.h"
#include "collect/intercept/real_symbol.h"
#include "collect/interface/operator.h"
#include "tensorflow.h"

#include <string.h>

#define EXECUTION 0x74666f70u /* the `user` of a shadow */
#define NAME_MOST 1024u

static _Atomic bool is_used;

bool sn_tf_executes(void)
{
	return atomic_load_explicit(&is_used, memory_order_relaxed);
}

/* (operation, results, their number, status) */
SN_PUBLIC(void, TFE_Execute, (void *operation, void *results, void *count, void *status))
{
	typedef void execute(void *, void *, void *, void *);
	typedef const char *name_of(const void *, void *);
	execute *real = (execute *)SN_REAL_SYMBOL("TFE_Execute");
	name_of *ask = sn_measuring() && sn_operators_wanted()
			   ? (name_of *)SN_REAL_SYMBOL("TFE_OpGetName")
			   : NULL;
	const char *name = ask ? ask(operation, status) : NULL;
	uint32_t token = SN_OPERATOR_NONE;
	if (name) {
		struct sn_operator_start start = {
		    .name = name,
		    .length = strnlen(name, NAME_MOST),
		    .stack = SN_CALLER_STACK,
		    .pc = (uintptr_t)__builtin_return_address(0),
		    .user = EXECUTION,
		};
		token = sn_operator_begin(&start);
		atomic_store_explicit(&is_used, true, memory_order_relaxed);
	}
	real(operation, results, count, status);
	sn_operator_end(token, EXECUTION);
}
