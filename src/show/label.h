/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Displayed names of frames. Data formats use the database's own strings instead.
 */
#pragma once

#include "frame/group.h"
#include "sonde/db.h"

#include <stdbool.h>
#include <stddef.h>

enum { SN_LABEL_CHARS = 1024 };

/*
 * The name: "train.py:42 train_step" for Python (where the grouping keeps lines, else with the line
 * the function begins at), the function without parameters and return type for C++ and for kernels
 * in it, otherwise the name. Never empty.
 */
void sn_label_name(const struct sonde_db *db, enum sn_grouping grouping, uint32_t frame,
		   char text[SN_LABEL_CHARS]);
/* As above, but whole: all of a C++ function's parameters. */
void sn_label_full(const struct sonde_db *db, enum sn_grouping grouping, uint32_t frame,
		   char text[SN_LABEL_CHARS]);
/* With its line, of a frame that has one: "train.py:42 train_step", "solver.c:10 step"; whole or not. */
void sn_label_line(const struct sonde_db *db, uint32_t frame, bool is_full,
		   char text[SN_LABEL_CHARS]);
/* Its place: "libtorch_cpu.so", "conv.cpp:120 libfoo.so", "kernel"; "" if the name contains it. */
void sn_label_place(const struct sonde_db *db, enum sn_grouping grouping, uint32_t frame,
		    char text[SN_LABEL_CHARS]);
/* The part of a path after the last slash. */
const char *sn_label_base(const char *path);
/* The same of a program's path; "kworker/0:1" is none, but a name. */
const char *sn_label_program(const char *program);

/* The path of the load module that a frame is in; NULL without one. */
const char *sn_label_module(const struct sonde_db *db, const struct sonde_db_frame *frame);

/* A C++ function's name without parameters, return type and noise. */
void sn_label_shorten(const char *name, char *text, size_t size);

/* How important a frame is in the middle of a chain, from -1 (not at all) to 5. */
int sn_label_weight(const struct sonde_db *db, uint32_t frame);

/* The escape sequence for a frame's layer; "" for native code. */
const char *sn_label_color(const struct sonde_db *db, uint32_t frame);
