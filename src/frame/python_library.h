/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognises Python's own library and the large frameworks by their names alone: some tools leave
 * the folder out of a path.
 */
#pragma once

#include <stdbool.h>

/* True for "torch/nn/modules/module.py", "threading.py"; false for "train.py", "vllm/utils.py" and
 * absolute paths. */
bool sn_is_python_library(const char *file);
