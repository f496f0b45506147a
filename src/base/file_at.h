/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing all of some bytes of a file at a place of it, however many calls it takes. */
#ifndef SN_BASE_FILE_AT_H
#define SN_BASE_FILE_AT_H

#include <stddef.h>
#include <stdint.h>

/* 0 or an errno: ENODATA where the file ends before. MT: yes. */
int sn_read_at(int fd, void *bytes, size_t length, uint64_t offset);
/* 0 or an errno. MT: yes. */
int sn_write_at(int fd, const void *bytes, size_t length, uint64_t offset);

#endif
