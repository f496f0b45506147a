/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a store: flushes are appended to the current epoch, epochs are sealed, merged as they
 * age, and deleted in the end.
 *
 *	result = sn_epoch_writer_open(&writer, "/var/lib/sonde", &options, &error);
 *	for each flush
 *		origin = sn_epoch_writer_origin(writer, &(struct sn_epoch_origin){...});
 *		image = sn_epoch_writer_image(writer, &(struct sn_epoch_image){...});
 *		sn_epoch_writer_count(writer, origin, image, address, count);	... for each
 *		result = sn_epoch_writer_commit(writer, &flush, &error);
 *		sn_epoch_writer_tend(writer, &policy, NULL, &error);
 *	sn_epoch_writer_close(writer);
 *
 * A flush is on the disk when sn_epoch_writer_commit has returned 0 (written by one call, then
 * fdatasync); if it fails, the file is as before and the additions are kept: commit again, with
 * more of them, or discard them. A process that is killed at any time leaves a store without its
 * last flush at most, and whoever opens it next goes on behind the last whole flush.
 *
 * One writer at a time (flock on the folder); readers are not hindered and hinder nobody. One
 * thread. Functions that return int: 0 or a negative enum sn_err.
 */
#pragma once

#include "base/error.h"
#include "epoch.h"

#define SN_EPOCH_STORE_DEFAULT "/var/lib/sonde"

struct sn_epoch_writer;

struct sn_epoch_writer_options {
	/* The group of the folder may read: folder 0750, files 0640; else 0700 and 0600. */
	bool group_reads;
	bool no_sync; /* for tests: nothing is synchronized with the disk */
};

/*
 * Creates the folder if only its last component is missing. A folder that is another user's, or in
 * which others can change names, is refused, as are symbolic links that others may have planted.
 * SN_ERR_IO also if another process writes. `options` may be NULL. *writer is set only on success.
 */
int sn_epoch_writer_open(struct sn_epoch_writer **writer, const char *folder,
			 const struct sn_epoch_writer_options *options, struct sn_error *error);
/* Drops what is not committed. The epoch stays current, and the next writer goes on with it. NULL
 * is allowed. */
void sn_epoch_writer_close(struct sn_epoch_writer *writer);

/* ---- one flush ---- */

/* Numbers for the functions below. They are valid until the flush is committed or discarded. Equal
 * ones get the same number. SN_EPOCH_NONE without memory: other functions accept it and
 * sn_epoch_writer_commit reports it. Texts are copied. */
uint32_t sn_epoch_writer_origin(struct sn_epoch_writer *writer,
				const struct sn_epoch_origin *origin);
uint32_t sn_epoch_writer_image(struct sn_epoch_writer *writer, const struct sn_epoch_image *image);
/* To be given in each flush that has counts there, since an epoch ends unasked; what the epoch has
 * already is not written again. Of two names for one start the later one is kept. */
void sn_epoch_writer_name(struct sn_epoch_writer *writer, const struct sn_epoch_name *name);
/* In any order; those of one place are summed. */
void sn_epoch_writer_count(struct sn_epoch_writer *writer, uint32_t origin, uint32_t image,
			   uint64_t address, uint64_t count);
void sn_epoch_writer_stack(struct sn_epoch_writer *writer, const struct sn_epoch_stack *stack);
/* The memory that additions since the last commit take: for whoever cannot commit for long. */
uint64_t sn_epoch_writer_pending_bytes(const struct sn_epoch_writer *writer);

/* Of the flush, flushes and watched_ns are ignored. A flush without counts is one, too: it tells
 * that nothing ran, or what was lost. SN_ERR_IO: the additions are kept, for this flush or the next
 * one, whose times, samples and losses are then to cover both. SN_ERR_MEMORY: an addition may be
 * missing, or there is none now. SN_ERR_ARGUMENT: more than 2^22 counts; discard. */
int sn_epoch_writer_commit(struct sn_epoch_writer *writer, const struct sn_epoch_flush *flush,
			   struct sn_error *error);
/* Forgets all additions since the last commit. */
void sn_epoch_writer_discard(struct sn_epoch_writer *writer);

/* ---- what becomes of epochs ---- */

/* When epochs are sealed, merged and deleted. Ages are from the end of an epoch to now, or from that
 * of the hour or day. */
struct sn_epoch_policy {
	uint64_t epoch_ns;     /* an epoch is sealed when it has lasted as long */
	uint64_t hour_age_ns;  /* sealed epochs that began in one hour become one */
	uint64_t day_age_ns;   /* hours that began on one day (UTC) become one */
	uint64_t keep_ns;      /* older epochs are deleted; 0: none */
	uint64_t keep_bytes;   /* the oldest are deleted until all take as little; 0: no limit */
	uint64_t memory_bytes; /* of merging, approximately */
	/* Epochs from this id on are not merged while they are younger than so many ns, as their flushes are wanted one by one; 0
	 * ns: all are. */
	uint64_t unmerged_from, unmerged_ns;
};
#define SN_EPOCH_POLICY_DEFAULT                                                                    \
	((struct sn_epoch_policy){.epoch_ns = UINT64_C(900000000000),                              \
				  .hour_age_ns = UINT64_C(3600000000000),                          \
				  .day_age_ns = UINT64_C(10800000000000),                          \
				  .keep_ns = UINT64_C(2592000000000000),                           \
				  .keep_bytes = UINT64_C(1) << 30,                                 \
				  .memory_bytes = 8 << 20})

/* An instant by both clocks. */
struct sn_epoch_moment {
	uint64_t real_ns, boot_ns;
	uint8_t boot_id[16];
};
/* The present. */
void sn_epoch_now(struct sn_epoch_moment *now);

/*
 * Does whatever the policy asks for by now: seals, merges, deletes. Call it after each commit; it
 * mostly does nothing. After a failure the store is as before, or part of the work is done; the
 * rest is tried again when the next epoch is sealed. `now`: NULL, or for tests another instant.
 */
int sn_epoch_writer_tend(struct sn_epoch_writer *writer, const struct sn_epoch_policy *policy,
			 const struct sn_epoch_moment *now, struct sn_error *error);
/* Ends the current epoch now, whatever its age, and begins another; nothing happens if it has no
 * flush. What is not committed stays. */
int sn_epoch_writer_seal(struct sn_epoch_writer *writer, struct sn_error *error);
