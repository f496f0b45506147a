/* SPDX-License-Identifier: Apache-2.0 */
/* The adapter's line for `sonde info`. Threads of the program, CUPTI's and whoever writes the file meet here, in handlers too. */
#include "cuda.h"

#include "collect/core/keep.h"
#include "collect/core/line.h"

#include <stdarg.h>

static _Atomic(const char *) said;

void sn_cuda_say(const char *text, ...)
{
	char whole[384];
	struct sn_line line = SN_LINE(whole);
	va_list more;
	va_start(more, text);
	for (; text; text = va_arg(more, const char *))
		sn_line_add(&line, text);
	va_end(more);
	const char *kept = sn_keep_name(whole, line.length);
	/* release: the text is complete before a reader has it */
	if (kept)
		atomic_store_explicit(&said, kept, memory_order_release);
}

const char *sn_cuda_said(void)
{
	return atomic_load_explicit(&said, memory_order_acquire);
}
