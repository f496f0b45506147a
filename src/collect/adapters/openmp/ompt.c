/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
bool sn_ompt_is_runtime(uintptr_t address)
{
	return false;
}
const char *sn_ompt_runtime(void)
{
	return NULL;
}
