/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading one epoch's file, piece by piece: memory holds one piece and the dictionary.
 *
 *	result = sn_epoch_reader_open(&reader, fd, &error);
 *	while ((result = sn_epoch_reader_next(reader, &piece, &error)) > 0)
 *		... piece.counts, with numbers of sn_epoch_reader_dictionary(reader)
 *	if (!result && sn_epoch_reader_damage(reader)) ... what follows was not read
 *	sn_epoch_reader_close(reader);
 *
 * Nothing behind the first damaged byte is used.
 */
#pragma once

#include "base/error.h"
#include "epoch.h"
#include "epoch_dictionary.h"
#include "epoch_payload.h"

struct sn_epoch_reader;

/* Some of the counts of a part. All is valid until the next piece is read. */
struct sn_epoch_piece {
	bool begins_part; /* the first piece of its part */
	const struct sn_epoch_flush *flush;
	const struct sn_epoch_count *counts; /* by origin, image, address; each once in a piece */
	size_t count_count;
	const struct sn_epoch_stack *stacks;
	size_t stack_count;
};

/* Reads the file's head. The reader owns `fd` from then on, also after a failure. SN_ERR_FORMAT:
 * it is no epoch, or damaged within its head. */
int sn_epoch_reader_open(struct sn_epoch_reader **reader, int fd, struct sn_error *error);
void sn_epoch_reader_close(struct sn_epoch_reader *reader);
/* Goes back to the first piece, and takes notice of what was appended meanwhile. */
int sn_epoch_reader_rewind(struct sn_epoch_reader *reader, struct sn_error *error);

const struct sn_epoch_head *sn_epoch_reader_head(const struct sn_epoch_reader *reader);
/* What the pieces until now refer to. */
const struct sn_epoch_dictionary *sn_epoch_reader_dictionary(const struct sn_epoch_reader *reader);
/* The dictionary is the caller's from now on, who has copied the struct; nothing more is read. */
void sn_epoch_reader_leave_dictionary(struct sn_epoch_reader *reader);
/* 1; 0 at the end or where the damage begins; or a negative enum sn_err. */
int sn_epoch_reader_next(struct sn_epoch_reader *reader, struct sn_epoch_piece *piece,
			 struct sn_error *error);

/* After sn_epoch_reader_next returned 0: a phrase with how much was not read, or NULL. */
const char *sn_epoch_reader_damage(const struct sn_epoch_reader *reader);
/* Whether the file ends within a frame, as one does that is being written. */
bool sn_epoch_reader_is_cut(const struct sn_epoch_reader *reader);
/* The bytes of whole frames until now, and those of the file. */
uint64_t sn_epoch_reader_whole_bytes(const struct sn_epoch_reader *reader);
uint64_t sn_epoch_reader_file_bytes(const struct sn_epoch_reader *reader);
