/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that was mapped while perf recorded: which one on this machine it is, and where its bytes
 * are in its own addresses.
 */
#pragma once

#include "binary/elf/elf_code.h"
#include "binary/recorded/recorded_image.h"

#include <stddef.h>
#include <stdint.h>

#define SN_PERF_BUILD_ID_MAX 20

/* A file that code lies in, once for each path and build id. */
struct sn_perf_object {
	uint32_t module; /* of the merge */
	uint32_t flags;	 /* enum sn_module_flags */
	struct sn_elf_code code;
	char *path; /* of the file that was found, or what perf calls it */
	uint8_t id[SN_PERF_BUILD_ID_MAX];
	uint32_t id_bytes; /* 0: not known */
	bool was_tried;	   /* to make the image */
	struct sn_recorded_image image;
};

/*
 * Finds the file: the one at `path` if it is of that build (`length` 0: not known), else the copy
 * that perf keeps. One that is not found, or whose flags say that it is none, has no code. 0 or
 * SN_ERR_MEMORY.
 */
int sn_perf_object_open(struct sn_perf_object *object, const uint8_t *id, uint32_t length,
			const char *path);
void sn_perf_object_release(struct sn_perf_object *object);
/* The file's image, made when it is first asked for; NULL if there is none. */
const struct sn_recorded_image *sn_perf_object_image(struct sn_perf_object *object);
