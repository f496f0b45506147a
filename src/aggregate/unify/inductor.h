/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of what torch.compile generates. Inductor compiles each C++ kernel as a function "kernel"
 * in a module of its own, so that kernels of one source are compiled once; the name that people
 * know it by ("cpp_fused_add_relu_0") stands in the generated Python alone, on the line that calls
 * it. The module's functions get that name; of several kernels of one source, all of their names.
 */
#pragma once

#include "format/database/database_builder.h"

/* Renames the frames of a builder that has all its contexts. Where the generated Python is gone, or
 * is another user's, they keep their names. 0 or SN_ERR_MEMORY. */
int sn_name_inductor_kernels(struct sn_db_builder *builder);
