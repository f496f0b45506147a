/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window of a trace as a picture: rows of boxes, a row for each track, devices first, because
 * below all threads they would be far down. timeline_svg.h and timeline_page.h draw it.
 */
#pragma once

#include "base/error.h"
#include "sonde/trace.h"

struct sn_timeline_window {
	uint64_t from_ns, to_ns; /* since the Unix epoch */
	unsigned width;		 /* columns into which the time is divided */
	unsigned rows;		 /* at most; the others are counted */
};

/* Columns first .. end - 1: one frame, busy for about the same part of each column. */
struct sn_timeline_box {
	uint32_t first, end;
	uint32_t frame;
	double busy; /* 0 to 1, on average */
};

struct sn_timeline_row {
	uint32_t profile;
	bool is_first;	/* of those of its profile that lie together */
	size_t end_box; /* its boxes are those from the end of the row before */
};

struct sn_timeline_picture {
	const struct sonde_db *db;
	struct sn_timeline_window window;
	struct sn_timeline_row *rows;
	size_t row_count, row_capacity;
	struct sn_timeline_box *boxes;
	size_t box_count, box_capacity;
	uint32_t left_out; /* rows */
};

/* 0 or a negative enum sn_err; release in either case. */
int sn_timeline_picture(const struct sonde_db *db, const struct sonde_trace *trace,
			const struct sn_timeline_window *window,
			struct sn_timeline_picture *picture, struct sn_error *error);
void sn_timeline_picture_release(struct sn_timeline_picture *picture);

/* The name of a row, without the program, which all rows share: "rank 3 · device 0 · stream 7",
 * "worker". */
struct sn_timeline_name {
	char text[128];
};
struct sn_timeline_name sn_timeline_name(const struct sonde_db *db, uint32_t profile);
