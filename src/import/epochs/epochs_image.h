/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What code of an image is called: where there is a file, by the symbolizer, if it is still the one
 * that ran; else by the names that the store has. Private to the importer of stores.
 */
#pragma once

#include "aggregate/unify/merge.h"
#include "aggregate/unify/resolve.h"
#include "base/arena.h"
#include "binary/elf/elf_code.h"
#include "format/epoch/epoch_dictionary.h"

struct sn_epochs_image {
	struct sn_epoch_image image; /* texts are the dictionary's */
	uint32_t label;		     /* builder's string: how people call it */
	uint32_t module;	     /* of the merge; SONDE_NONE: code is named without one */
	uint32_t function;	     /* of Python: a code of the merge */
	struct sn_elf_code code;     /* of a file that is still the one that ran */
	/* What is said of its code where it has no name: "[libz.so.1, replaced]"; NULL: the offset. */
	const char *nameless;
	uint32_t first_name, name_count; /* of `names` */
};

struct sn_epochs_images {
	struct sn_merge *merge;
	const struct sn_epoch_dictionary *dictionary;
	struct sn_epochs_image *items; /* by number in the dictionary */
	uint32_t count;
	struct sn_epoch_name *names; /* by image and start; of equal ones the last is valid */
	size_t name_count;
	uint32_t *of_modules; /* by number in the merge: an image; SONDE_NONE */
	size_t module_capacity;
	struct sn_arena arena;
};

/* `dictionary` must be complete, and outlive them. 0 or SN_ERR_MEMORY; release in either case. */
int sn_epochs_images_init(struct sn_epochs_images *images, struct sn_merge *merge,
			  const struct sn_epoch_dictionary *dictionary);
void sn_epochs_images_release(struct sn_epochs_images *images);

/* Whether that is how the user calls the image. */
bool sn_epochs_image_is(const struct sn_epoch_image *image, const char *wanted);
/* "libc.so.6", "[kernel]", "[nvme]": into `text`. */
void sn_epochs_image_label(const struct sn_epoch_image *image, char *text, size_t size);
/* The frame of code. */
struct sn_frame sn_epochs_frame(struct sn_epochs_images *images, uint32_t image, uint64_t address,
				bool is_return);
/* Names what the symbolizer could not: after sn_resolve, before sn_expand. 0 or SN_ERR_MEMORY. */
int sn_epochs_name_rest(struct sn_epochs_images *images, struct sn_resolved *resolved);
