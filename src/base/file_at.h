/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing bytes at an offset of a file completely, by as many calls as needed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* 0 or an errno: ENODATA if the file ends before. MT: yes. */
int sn_read_at(int fd, void *bytes, size_t length, uint64_t offset);
/* 0 or an errno. MT: yes. */
int sn_write_at(int fd, const void *bytes, size_t length, uint64_t offset);
