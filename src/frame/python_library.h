/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Python's own library and the large frameworks, told by their names alone: some tools leave the
 * folder that they are in out of a path.
 */
#ifndef SN_FRAME_PYTHON_LIBRARY_H
#define SN_FRAME_PYTHON_LIBRARY_H

#include <stdbool.h>

/* Of "torch/nn/modules/module.py", "threading.py": true; of "train.py", "vllm/utils.py" and paths
 * that begin with a folder's slash: false. */
bool sn_is_python_library(const char *file);

#endif
