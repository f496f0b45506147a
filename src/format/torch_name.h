/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of a PyTorch operator from the symbol of its dispatcher entry point.
 *
 * libtorch_cpu exports `at::_ops::NAME_OVERLOAD::call` and `::redispatch` for every operator, and
 * both halves of Sonde read them: the collector where native frames are left out, analysis where
 * they are kept. The name given is the one that PyTorch's own profiler prints, "aten::add" for
 * add_Tensor.
 */
#pragma once

#include <stddef.h>

enum sn_torch_entry { SN_TORCH_NO_ENTRY, SN_TORCH_CALL, SN_TORCH_REDISPATCH };

/* Of a mangled symbol. AS-safe: yes. MT: yes. */
enum sn_torch_entry sn_torch_entry_of(const char *symbol);

/*
 * Takes a mangled symbol. Where it is an entry point, writes its operator's name with a terminating
 * NUL and gives its length through `length`; cut at `bytes`, which is at least 8. AS-safe: yes. MT:
 * yes.
 */
enum sn_torch_entry sn_torch_operator_name(const char *symbol, char *name, size_t bytes,
					   size_t *length);
