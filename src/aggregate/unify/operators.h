/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deep-learning operators in native call paths: PyTorch's dispatcher has one entry point for each
 * operator, `at::_ops::NAME::call`, and its backward graph one function for each kind of node,
 * `torch::autograd::generated::NAME::apply`. An operator without a callback is recognised by that
 * name, at no cost to the program.
 *
 * `at::_ops::NAME::redispatch` continues the running operator and is not a new one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct sn_operator {
	char name[256]; /* as PyTorch's profiler prints it: "aten::add", "AddmmBackward0" */
	bool is_backward;
};

/*
 * True where a function enters an operator; then *found is filled in. `name` is demangled, without
 * parameters; `linkage_name` is its symbol, or NULL where that is the same.
 */
bool sn_operator_from_symbol(const char *name, const char *linkage_name, struct sn_operator *found);

/*
 * The region that a Python function stands for, or NULL: a compilation by torch.compile. `file` and
 * `function` may be NULL.
 */
const char *sn_region_from_python(const char *file, const char *function);
