/* SPDX-License-Identifier: Apache-2.0 */
/* Names of system calls by number. syscalls.py makes the table. */
#include "syscall_name.h"

#include <stddef.h>

static const char *const names[] = {
#include "syscall_names.inc"
};

const char *sn_os_syscall_name(int64_t number)
{
	if (number < 0 || (uint64_t)number >= sizeof(names) / sizeof(*names))
		return NULL;
	return names[number];
}
