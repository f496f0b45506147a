/* SPDX-License-Identifier: Apache-2.0 */
/* The function of rocprofiler-register by which runtimes show their tables of functions. */
#ifndef FAKE_REGISTER_H
#define FAKE_REGISTER_H

#include <stdint.h>

struct fake_register_id {
	uint64_t handle;
};

/* 0, or an error: 1 where there are no tools. */
int rocprofiler_register_library_api_table(const char *name, uint32_t (*import)(void),
					   uint32_t version, void **tables, uint64_t count,
					   struct fake_register_id *id);

#endif
