/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file laid out in memory as the loader lays it, to be read only: tables of call frame
 * information refer to code and to each other by distances, which hold in such an image and not in
 * the file.
 */
#pragma once

#include "unwind/module.h"

#include <stddef.h>

#define SN_RECORDED_ID_MOST 64

struct sn_recorded_image {
	struct sn_module module; /* bias: what to add to an address of the file */
	void *memory;		 /* NULL: there is no image */
	size_t bytes;
	uint64_t offsets[SN_MODULE_RANGES]; /* in the file, of module.readable */
};

/* `path` is of this build (`length` 0: not known); "[vdso]" is this process's own. False where it
 * is not to be had, is of another processor, or is damaged. */
bool sn_recorded_image_open(struct sn_recorded_image *image, const char *path, const uint8_t *id,
			    uint32_t length);
/* The one of this process, which all others have on the same kernel. */
bool sn_recorded_image_open_vdso(struct sn_recorded_image *image);
/*
 * The same for an open file, whatever its build, which another process may truncate at any time: whoever reads the image gets an error then, not SIGBUS.
 */
bool sn_recorded_image_open_file(struct sn_recorded_image *image, int file);
/* Where a byte of the file lies in the image; 0: in no part of it that is loaded. */
uintptr_t sn_recorded_image_at(const struct sn_recorded_image *image, uint64_t offset);
/* The build id of an open file, into `id`. Its length; 0 if it has none or is not of this processor. */
uint32_t sn_recorded_build_id(int file, unsigned char id[SN_RECORDED_ID_MOST]);
void sn_recorded_image_close(struct sn_recorded_image *image);
