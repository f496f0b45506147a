/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples by instruction: the functions of an image (an executable or shared library) where a database has its values, with all of their instructions, blocks and source
 * lines. A value of an instruction is that of the samples that found it as the next to be executed.
 *
 * The image's file is read where the database says it is, and only if it has the build id that was measured.
 */
#pragma once

#include "culprit.h"
#include "frequency.h"
#include "issue.h"

#include "base/arena.h"
#include "base/error.h"
#include "binary/disassemble.h"
#include "binary/structure/insn.h"
#include "sonde/db.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sn_annotate_request {
	const struct sonde_db *db;
	uint32_t metric;
	const char *image;    /* path or file name, as a pattern of the shell; NULL: any */
	const char *function; /* name or symbol, as a pattern; NULL: any */
	uint32_t limit;	      /* functions, the most expensive ones; 0: all that have values */
	enum sn_syntax syntax;
	const char *debug_path; /* as in struct sn_symbolizer_options */
	bool no_mca;		/* does not ask llvm-mca */
};

struct sn_annotated_instruction {
	uint64_t address;
	const char *text; /* "" where it cannot be decoded */
	const char *file; /* the innermost source line; NULL unknown */
	uint32_t line;
	const char *inlined; /* the function that this line is of; NULL: that of the listing */
	uint8_t control;     /* enum sn_insn_kind */
	uint64_t target;     /* where its operand says that it goes, if it does; 0 unknown */
	bool begins_block;   /* control may come from elsewhere, or the one before goes elsewhere */
	double value, samples;
	struct sn_insn_effect effect;
	struct sn_issue issue;	    /* zeroes where nothing is known of its block */
	const char *assembly;	    /* its text as LLVM reads it; NULL unknown */
	struct sn_insn_blame blame; /* cycles, stalls and their culprits */
	double frequency;	    /* executions; see struct sn_annotation */
	uint8_t confidence;	    /* enum sn_confidence */
};

/* Blocks and edges of one class run equally often (equivalence.h); classes count from 0 in each function. */
struct sn_annotated_block {
	uint64_t start, end; /* addresses; end is one past the last byte */
	uint32_t class;
	uint32_t first, count; /* its instructions */
	double value, samples;
	double frequency;
	uint8_t confidence;
	struct sn_issue_block issue;
};

struct sn_annotated_edge {
	uint32_t from, to; /* blocks of the function */
	uint32_t class;	   /* SN_EQUIVALENCE_NONE: it is taken by exceptions alone */
	double frequency;
	uint8_t confidence;
};

struct sn_annotated_function {
	const char *name;  /* readable; of code without a symbol "image+0x1234" */
	const char *image; /* path */
	const char *file;  /* where it is declared; NULL unknown */
	uint32_t line;
	uint64_t start;
	double value, samples;
	double parts[SN_CAUSE_COUNT],
	    rest; /* of its samples, by what they are spent on; unexplained */
	struct sn_annotated_instruction *instructions; /* by address */
	size_t count, capacity;
	struct sn_annotated_block *blocks; /* by address; they may overlap */
	struct sn_annotated_edge *edges;
	uint32_t block_count, edge_count, class_count;
	bool
	    is_modelled; /* the effects of its instructions are known: it has frequencies, cycles and culprits */
};

/* Why values are not shown: of an image, or of what is none. */
struct sn_annotate_gap {
	const char *image;
	const char *why;
	double value;
};

struct sn_annotation {
	struct sn_arena texts;
	struct sn_annotated_function *functions; /* the most expensive first */
	size_t function_count, function_capacity;
	struct sn_annotate_gap *gaps; /* the largest first */
	size_t gap_count, gap_capacity;
	struct sn_annotate_gap *others; /* values that are of no machine code; without image */
	size_t other_count, other_capacity;
	double value;	    /* of the metric in all of the database */
	double not_shown;   /* of functions that fit but are beyond the limit */
	size_t left_out;    /* their number */
	const char *no_mca; /* why cycles are not llvm-mca's; NULL: they are */
	bool has_image;	    /* one that fits has values, */
	bool is_read;	    /* and its file could be read */
};

/* 0 or a negative enum sn_err; release it in either case. Where nothing fits it is 0, too, and has_image, is_read and the gaps say why. */
int sn_annotate(struct sn_annotation *annotation, const struct sn_annotate_request *request,
		struct sn_error *error);
/* Whether a module of the database fits the pattern of an image. */
bool sn_annotate_has_image(const struct sonde_db *db, const char *image);
/* Of the images that fit the pattern (NULL: all) the path of the one whose own code has most of the metric; NULL: none has any, or there is no memory. The database's. */
const char *sn_annotate_hottest_image(const struct sonde_db *db, uint32_t metric,
				      const char *image);
void sn_annotation_release(struct sn_annotation *annotation);
