/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of functions, for the analysis. */
#include "xla.h"

void sn_xla_program_keep(const void *executable)
{
	(void)executable;
}
