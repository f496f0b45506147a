/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the system calls of the machine that this is built for, from the kernel's own headers at
 * build time. NULL: the headers do not know that number.
 */
#pragma once

#include <stdint.h>

const char *sn_os_syscall_name(int64_t number);
