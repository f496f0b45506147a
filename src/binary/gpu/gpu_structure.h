/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU binaries in the form of structure.h: of each function the tree of its loops, inlined calls
 * and lines.
 */
#pragma once

#include "gpu_binary.h"
#include "binary/structure/structure.h"

/* Fills in `info` of a binary whose lines have been read; its texts live as long as the binary. */
void sn_gpu_structure_describe(const struct sn_gpu_binary *binary, struct sn_structure_info *info);

/* As sn_structure_write, but by one thread: of the options, only `function` and `no_lines` are
 * used. SN_ERR_MEMORY or 0. */
int sn_gpu_structure_write(const struct sn_gpu_binary *binary,
			   const struct sn_structure_options *options,
			   const struct sn_structure_writer *writer);
