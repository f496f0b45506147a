/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU binaries inside other files: in NVIDIA's fatbins and clang's offload bundles, as separate
 * files or in a host's program or library (.nv_fatbin, .hip_fatbin), compressed by LZ4, zstd or
 * zlib or not at all. PTX, LLVM bitcode and code for the host are left out.
 */
#pragma once

#include "base/error.h"
#include "base/cursor.h"

#include <stdbool.h>
#include <stddef.h>

struct sn_gpu_image {
	char target[64];       /* "sm_90", "gfx90a:xnack-"; distinguishes images */
	struct sn_bytes bytes; /* an ELF file, aligned as malloc aligns */
	uint64_t offset;       /* in the file, of the packed image */
};

struct sn_gpu_bundle {
	struct sn_gpu_image *images; /* in the order of the file */
	size_t count;
	size_t capacity;
	uint64_t unpacked_bytes; /* of all images */
	size_t skipped;		 /* images that could not be unpacked: damaged, or a compression
				    that this build does not know */
};

/* Whether a file that is no ELF file begins as a fatbin or bundle. */
bool sn_gpu_is_bundle(struct sn_bytes file);

/*
 * Finds and copies the images of a file, which may be an ELF file or not. A file without any gives
 * count 0. 0 or SN_ERR_MEMORY; release in either case. Bounded: an image whose stated size exceeds
 * what its packed data can expand to is skipped, and all images together have at most 4 GiB.
 */
int sn_gpu_bundle_read(struct sn_bytes file, struct sn_gpu_bundle *bundle);
void sn_gpu_bundle_release(struct sn_gpu_bundle *bundle);
