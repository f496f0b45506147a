/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the local symbols of jaxlib's file (.symtab) tell: where the functions and virtual tables
 * lie that the adapter uses, and whether they have the form that it knows. `sonde doctor` asks the
 * same of files that nothing has loaded.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The virtual functions that are looked for, by what is done with them. */
enum sn_xla_function {
	SN_XLA_LAUNCH,	      /* ifrt::PjRtLoadedExecutable::Execute */
	SN_XLA_NAME,	      /* its name */
	SN_XLA_DEVICES,	      /* its addressable_devices */
	SN_XLA_PROGRAM_TEXT,  /* its GetHumanReadableProgramText */
	SN_XLA_THUNK,	      /* cpu::...Thunk::Execute, many */
	SN_XLA_SCHEDULE,      /* Eigen's pool of threads: Schedule */
	SN_XLA_SCHEDULE_HINT, /* and ScheduleWithHint */
	SN_XLA_FUNCTION_COUNT
};

enum { SN_XLA_FUNCTIONS_MAX = 192, SN_XLA_TABLES_MAX = 128 };

/* Addresses as the file has them, before it is loaded. */
struct sn_xla_symbols {
	struct sn_xla_symbol {
		uintptr_t address;
		enum sn_xla_function function;
	} functions[SN_XLA_FUNCTIONS_MAX];
	struct {
		uintptr_t from, end;
	} tables[SN_XLA_TABLES_MAX];
	uint32_t function_count, table_count;
	uint32_t counts[SN_XLA_FUNCTION_COUNT]; /* of functions */
	uintptr_t jit_descriptor;		/* __jit_debug_descriptor; 0 where there is none */
};

/* Of the file's bytes, as mapped. 0, or -ENOEXEC where it has no local symbols; then `found` is
 * empty. */
int sn_xla_symbols_read(struct sn_xla_symbols *found, const void *file, size_t bytes);

/* Why calls are not seen where so many of each function are there; NULL where they are. */
const char *sn_xla_unknown_form(const uint32_t counts[SN_XLA_FUNCTION_COUNT]);
