/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Below which Python line a program began: the path at which a program executes another, handed on
 * as text in one variable of its environment (docs/design/python-frames.md).
 *
 * The text holds the path's Python frames and regions, outermost first, as many as fit:
 *
 *	p LINE , FIRST , SHARED , BYTES : FILE BYTES : NAME
 *	r FLAGS , BYTES : NAME
 *
 * without the blanks. SHARED bytes of the file's name are those of the frame before, and FILE is
 * the rest. An empty text is no path. Whoever can set the environment can write it, so a text is
 * used only if all of it can be read.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: the thread itself.
 */
#pragma once

#include "thread.h"

#define SN_START_PATH	    "SONDE_START_PATH="
/* Of the whole entry of the environment with its end. */
#define SN_START_PATH_BYTES 4096u

/* The context below which a program belongs that this thread executes now, SN_NODE_NONE where it
 * runs no Python. Between sn_enter and sn_leave. */
uint32_t sn_start_path_now(struct sn_thread *thread);
/* Bytes of memory that sn_start_path_write needs for a context. MT: yes. */
size_t sn_start_path_room(const struct sn_cct *cct, uint32_t node);
/* The variable with the path to `node`, in `room`. It is empty where no frame is the user's: what a
 * launcher starts (torchrun, an installer) is a program of its own. MT: yes. */
char *sn_start_path_write(const struct sn_cct *cct, uint32_t node, void *room);

/* True if a Python frame on the path to `node` is of a file whose name ends so. MT: yes. */
bool sn_start_path_passes(const struct sn_cct *cct, uint32_t node, const char *file_end);

/* The paths of the process's first thread begin below what `text`, the variable's value, says; at
 * the thread's root where that is NULL, malformed or longer than the variable can be. AS-safe: no.
 * MT: the only thread. */
void sn_start_path_begin(struct sn_thread *thread, const char *text);
/* Those of another thread, which begins and was started by no line of Python, as well. Between
 * sn_enter and sn_leave. */
void sn_start_path_begin_thread(struct sn_thread *thread);
