/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts of one thread's tree made in another's. The source may grow meanwhile: what has been
 * published of it never changes.
 *
 * All functions here: AS-safe: yes. MT: the owner of `to`.
 */
#ifndef SN_COLLECT_CCT_COPY_H
#define SN_COLLECT_CCT_COPY_H

#include "cct.h"

#define SN_COPY_NODES 2048u

/* Turns the ids in a frame of `from` into those of `to`. False without memory or for a bad id. */
bool sn_cct_copy_frame(struct sn_cct *to, const struct sn_cct *from, struct sn_frame *frame);

/* The path to `node` of `from`, in `to`; SN_NODE_NONE where it cannot be made. `storage` is for the
 * work. */
uint32_t sn_cct_copy_path(struct sn_cct *to, const struct sn_cct *from, uint32_t node,
			  uint32_t storage[SN_COPY_NODES]);

#endif
