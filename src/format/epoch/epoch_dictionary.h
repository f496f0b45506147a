/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The origins, images and names of an epoch, each once. An entry is kept in the bytes that it has
 * in the file, so that what is new since the last frame is copied, and files are compared by bytes.
 *
 * Numbers are in the order of addition, which is that of the file.
 */
#pragma once

#include "base/buffer.h"
#include "base/cursor.h"
#include "base/intern.h"
#include "epoch.h"

/* All zeroes is an empty one. */
struct sn_epoch_dictionary {
	struct sn_intern origins, images, names;
	/* How many of each are in the file. */
	uint32_t stored_origins, stored_images, stored_names;
};

void sn_epoch_dictionary_release(struct sn_epoch_dictionary *dictionary);

/* The number of an entry, added if missing; SN_EPOCH_NONE without memory. */
uint32_t sn_epoch_dictionary_origin(struct sn_epoch_dictionary *dictionary,
				    const struct sn_epoch_origin *origin);
uint32_t sn_epoch_dictionary_image(struct sn_epoch_dictionary *dictionary,
				   const struct sn_epoch_image *image);
uint32_t sn_epoch_dictionary_name(struct sn_epoch_dictionary *dictionary,
				  const struct sn_epoch_name *name);
/* Fills in the entry of a number below the count; texts are valid until the next addition. */
void sn_epoch_dictionary_origin_at(const struct sn_epoch_dictionary *dictionary, uint32_t number,
				   struct sn_epoch_origin *origin);
void sn_epoch_dictionary_image_at(const struct sn_epoch_dictionary *dictionary, uint32_t number,
				  struct sn_epoch_image *image);
void sn_epoch_dictionary_name_at(const struct sn_epoch_dictionary *dictionary, uint32_t number,
				 struct sn_epoch_name *name);

/* Adds all of another dictionary; stores the number here of each of its origins and images. 0 or
 * SN_ERR_MEMORY. */
int sn_epoch_dictionary_merge(struct sn_epoch_dictionary *dictionary,
			      const struct sn_epoch_dictionary *from, uint32_t *origins,
			      uint32_t *images);

/* Appends what is not stored yet. sn_epoch_dictionary_stored then says that it is. */
void sn_epoch_dictionary_put(const struct sn_epoch_dictionary *dictionary,
			     struct sn_buffer *buffer);
void sn_epoch_dictionary_stored(struct sn_epoch_dictionary *dictionary);
/* Adds what a frame has; the cursor fails where that is damaged. 0 or SN_ERR_MEMORY. */
int sn_epoch_dictionary_get(struct sn_epoch_dictionary *dictionary, struct sn_cursor *cursor);
