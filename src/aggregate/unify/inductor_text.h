/* SPDX-License-Identifier: Apache-2.0 */
/* The Python that inductor generates, as text: which kernel or operator each line of it calls. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The contents of a file that belongs to the user or root, ended by NUL; NULL where it cannot be read. The
 * caller frees them. */
char *sn_inductor_read(const char *name, size_t *length);

/* Where a line of a text begins, or NULL; the first is 1. */
const char *sn_inductor_line(const char *text, uint32_t line);

enum sn_inductor_call {
	SN_INDUCTOR_NO_CALL,
	SN_INDUCTOR_CPP,      /* a kernel in C++: "cpp_fused_add_0(buf0, buf1)" */
	SN_INDUCTOR_KERNEL,   /* another kernel of inductor's: "triton_poi_fused_add_0.run(...)" */
	SN_INDUCTOR_OPERATOR, /* "extern_kernels.mm(...)", "torch.ops.mine.op.default(...)" */
};

struct sn_inductor_line {
	const char *name; /* of what it calls, in the text; not terminated */
	uint32_t length;
	enum sn_inductor_call call;
};

/* All zeroes is an empty text. */
struct sn_inductor_text {
	char *text;
	struct sn_inductor_line *lines; /* the first line's at 1 */
	uint32_t line_count;
};

/* Reads and releases. Where the file cannot be read, it has no text and no lines. */
void sn_inductor_text_read(struct sn_inductor_text *text, const char *file);
void sn_inductor_text_release(struct sn_inductor_text *text);

/* The line of that number; one that calls nothing where there is none. */
struct sn_inductor_line sn_inductor_text_line(const struct sn_inductor_text *text, uint32_t line);
