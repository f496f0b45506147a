/* SPDX-License-Identifier: Apache-2.0 */
/* The Python that inductor generates, as text: which kernel or operator a line of it calls. */
#ifndef SN_AGGREGATE_INDUCTOR_TEXT_H
#define SN_AGGREGATE_INDUCTOR_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum { SN_INDUCTOR_NAME = 256 };

/* The contents of a file that belongs to the user or root, ended by NUL; NULL where it cannot be read. The
 * caller frees them. */
char *sn_inductor_read(const char *name, size_t *length);

/* Where the line begins, or NULL; the first is 1. */
const char *sn_inductor_line(const char *text, uint32_t line);

enum sn_inductor_call {
	SN_INDUCTOR_NO_CALL,
	SN_INDUCTOR_CPP,      /* a kernel in C++: "cpp_fused_add_0(buf0, buf1)" */
	SN_INDUCTOR_KERNEL,   /* another kernel of inductor's: "triton_poi_fused_add_0.run(...)" */
	SN_INDUCTOR_OPERATOR, /* "extern_kernels.mm(...)", "torch.ops.mine.op.default(...)" */
};
/* What a line, as of sn_inductor_line, calls; and its name. */
enum sn_inductor_call sn_inductor_call(const char *text, const char *line,
				       char name[SN_INDUCTOR_NAME]);

#endif
