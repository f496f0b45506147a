/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The "stackFrames" of Chrome's trace format: each frame once, with the number of its caller, so
 * that a sample names a whole call path by one number. Numbered from 1 as samples need them, equal
 * frames of one caller being one, so that the same events give the same numbers.
 */
#pragma once

#include "base/error.h"
#include "base/intern.h"
#include "export/shown_callers.h"
#include "sonde/trace.h"

#include <stdio.h>

struct sn_chrome_stack {
	const struct sonde_db *db;
	uint32_t *numbers; /* of frames, by context; 0 none */
	struct sn_intern frames;
	/* while they are found: */
	struct sn_trace_export *export;
	struct sn_shown_callers callers;
	bool is_device;
	uint32_t *path;
	size_t path_capacity;
};

/* Finds the frames of all events whose paths must be written: samples, and others by
 * shown_callers.h. 0 or a negative enum sn_err. To be released in either case, before the export is
 * closed. */
int sn_chrome_stack_init(struct sn_chrome_stack *stack, struct sn_trace_export *export,
			 struct sn_error *error);
void sn_chrome_stack_release(struct sn_chrome_stack *stack);
/* ,"KEY":"TEXT" */
void sn_chrome_put_text(FILE *out, const char *key, const char *text);
/* ,"stackFrames":{...}; nothing where there are none. */
void sn_chrome_stack_write(const struct sn_chrome_stack *stack, FILE *out);
