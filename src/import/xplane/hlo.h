/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of XLA (HLO), as profiles carry them and as --xla_dump_to writes them: protobuf messages
 * HloProto and HloModuleProto (xla/service/hlo.proto; numbers of fields as of 2019 to 2026).
 *
 * Of a module its computations are read, with their instructions, the operands of each, and where
 * in the source each comes from: the operation's path ("jit(loss)/dot_general"), and file, line and
 * function, which newer versions keep in an index of stack frames beside the computations.
 */
#pragma once

#include "base/error.h"
#include "base/intern.h"
#include "format/database/database_writer.h"
#include "import/core/protobuf.h"

struct sn_hlo_instruction {
	uint32_t name, opcode;	 /* builder's strings */
	uint32_t path;		 /* of the original operation; SONDE_NONE */
	uint32_t target;	 /* of a custom call; SONDE_NONE */
	uint32_t file, function; /* SONDE_NONE */
	uint32_t line;		 /* 0 unknown */
	uint32_t computation;	 /* the index of the one that it is in */
	uint32_t frame;		 /* of the module's index of stack frames; 0 none */
	uint32_t callers; /* "main.py:12 <module> > main.py:10 step", outermost first; SONDE_NONE */
	size_t first_operand, operand_count; /* in `ids` */
	size_t first_called, called_count;   /* in `ids` */
	uint64_t id;
	uint64_t bytes; /* of its result, as far as the shape says */
};

struct sn_hlo_computation {
	uint32_t name; /* builder's string */
	uint64_t id;
	size_t first, count; /* in `instructions` */
};

struct sn_hlo {
	uint32_t name;	     /* builder's string */
	uint32_t entry_name; /* builder's string, of what is run; SONDE_NONE */
	uint64_t id;	     /* what profiles call the program's id */
	uint64_t entry;
	bool is_text; /* ids of instructions are ours, not the program's */
	struct sn_hlo_computation *computations;
	struct sn_hlo_instruction *instructions;
	uint64_t *ids;
	size_t computation_count, computation_capacity, instruction_count, instruction_capacity,
	    id_count, id_capacity;
	struct sn_intern instruction_ids, computation_ids;
};

/* An HloProto, or an HloModuleProto where that is what the bytes are. `hlo` is uninitialised; free
 * it with sn_hlo_release in any case. 0, SN_ERR_FORMAT (it is neither, or damaged) or
 * SN_ERR_MEMORY. */
int sn_hlo_read(struct sn_hlo *hlo, struct sn_db_builder *builder, const void *bytes,
		size_t length);
/* The same of the text that XLA makes of a module, which begins at *text and is over where the next
 * one begins or at `end`, to which *text is moved. */
int sn_hlo_read_text(struct sn_hlo *hlo, struct sn_db_builder *builder, const char **text,
		     const char *end);
void sn_hlo_release(struct sn_hlo *hlo);

/* The instruction of that id in a computation, or SN_INTERN_NONE. */
uint32_t sn_hlo_instruction(const struct sn_hlo *hlo, uint32_t computation, uint64_t id);
/* The computation of that id, or SN_INTERN_NONE. */
uint32_t sn_hlo_computation(const struct sn_hlo *hlo, uint64_t id);
