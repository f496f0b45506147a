/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file laid out in memory as the loader lays it, to be read only: tables of call frame
 * information refer to code and to each other by distances, which hold in such an image and not in
 * the file.
 */
#pragma once

#include "unwind/module.h"

#include <stddef.h>

struct sn_recorded_image {
	struct sn_module module; /* bias: what to add to an address of the file */
	void *memory;		 /* NULL: there is no image */
	size_t bytes;
};

/* `path` is of this build (`length` 0: not known); "[vdso]" is this process's own. False where it
 * is not to be had, is of another processor, or is damaged. */
bool sn_recorded_image_open(struct sn_recorded_image *image, const char *path, const uint8_t *id,
			uint32_t length);
void sn_recorded_image_close(struct sn_recorded_image *image);
