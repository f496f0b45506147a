/* SPDX-License-Identifier: Apache-2.0 */
/* Names without the numbers of instances; see alike_name.h. */
#include "alike_name.h"

#include "base/text.h"
#include "format/measurement/measurement.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* The frame kinds whose instances are numbered. Kernels are not among them: their numbers are the
 * sizes of tiles. Of Python, only what PyTorch's profiler calls a module is. */
static bool is_numbered_kind(const struct sonde_db_frame *frame, const char *name)
{
	return frame->kind == SN_FRAME_REGION || frame->kind == SN_FRAME_OPERATOR ||
	       frame->kind == SN_FRAME_GRAPH_NODE ||
	       (frame->kind == SN_FRAME_PYTHON && sn_text_begins(name, "nn.Module: "));
}

/* The length of a number that stands by itself at `at`; 0: there is none. */
static size_t number_length(const char *name, const char *at)
{
	size_t length = strspn(at, "0123456789");
	bool begins = at == name || strchr("_./ #-", at[-1]);
	return length && begins && !isalnum((unsigned char)at[length]) ? length : 0;
}

bool sn_alike_name(const struct sonde_db *db, uint32_t id, char *text, size_t size)
{
	const struct sonde_db_frame *frame = sonde_db_frame(db, id);
	const char *name = sonde_db_string(db, frame->name);
	size_t used = 0;
	bool has_number = false;
	if (!is_numbered_kind(frame, name))
		return false;
	for (const char *at = name; *at && used + 1 < size;) {
		size_t length = number_length(name, at);
		text[used++] = length ? '*' : *at;
		at += length ? length : 1;
		has_number |= length > 0;
	}
	text[used] = '\0';
	return has_number;
}

void sn_alike_add(struct sn_alike_costs *costs, double cost)
{
	costs->count++;
	costs->sum += cost;
	costs->sum_squares += cost * cost;
}

bool sn_alike_near(const struct sn_alike_costs *costs)
{
	static const double most_deviation = 0.5;
	if (costs->count < SN_ALIKE_LEAST || costs->sum <= 0)
		return false;
	double mean = costs->sum / costs->count;
	double variance = costs->sum_squares / costs->count - mean * mean;
	return sqrt(variance > 0 ? variance : 0) <= most_deviation * mean;
}
