/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the pictures of `sonde top` in a thread of its own, since finding callers and names takes longer than rings have room, and Python's frames must be read at
 * once. One picture at a time.
 */
#pragma once

#include "base/error.h"
#include "show/tree/top.h"

#include <stdbool.h>

struct sn_painter;

/* `fd` becomes readable with each picture (an eventfd, which the caller reads). NULL without memory. */
struct sn_painter *sn_painter_start(int fd);
/* Waits for the picture under way. NULL does nothing. */
void sn_painter_free(struct sn_painter *painter);
bool sn_painter_is_busy(struct sn_painter *painter);
/* Begins a picture of a recording in the file `recording`, which the painter closes, or with -1 of the last one again; the painter must not be busy. top->db is not read; its texts must
 * stay. */
void sn_painter_begin(struct sn_painter *painter, int recording, const struct sn_top *top,
		      const struct sn_terminal *page);
/* The newest picture, which holds until the next one is begun; NULL before the first. It is NULL with an error too, which does not go away. */
const char *sn_painter_picture(struct sn_painter *painter, struct sn_error *error);
