/* SPDX-License-Identifier: Apache-2.0 */
/* Which copies and sets are of nothing: then the device does nothing, and there will be no record. */
#include "cuda.h"

#include "collect/core/line.h"
#include "collect/sample/program_memory.h"

#include <string.h>

/* Words of a call's parameters, as CUPTI gives them and the public headers declare them, whose product is how much is moved. */
struct extent {
	const char *name; /* without a version, and also with Async behind it */
	uint8_t words[3]; /* 0: no more */
	bool is_in_first; /* of what the first parameter points to */
};

static const struct extent extents[] = {
    {"cudaMemcpy", {2}, false},
    {"cudaMemcpyToSymbol", {2}, false},
    {"cudaMemcpyFromSymbol", {2}, false},
    {"cudaMemcpyPeer", {4}, false},
    {"cudaMemcpy2D", {4, 5}, false},
    {"cudaMemcpy2DToArray", {5, 6}, false},
    {"cudaMemcpy2DFromArray", {5, 6}, false},
    {"cudaMemcpy2DArrayToArray", {6, 7}, false},
    {"cudaMemcpy3D", {16, 17, 18}, true},
    {"cudaMemset", {2}, false},
    {"cudaMemset2D", {3, 4}, false},
    {"cudaMemset3D", {5, 6, 7}, false},
    {"cuMemcpy", {2}, false},
    {"cuMemcpyHtoD", {2}, false},
    {"cuMemcpyDtoH", {2}, false},
    {"cuMemcpyDtoD", {2}, false},
    {"cuMemcpyPeer", {4}, false},
    {"cuMemcpyHtoA", {3}, false},
    {"cuMemcpyAtoH", {3}, false},
    {"cuMemcpyDtoA", {3}, false},
    {"cuMemcpyAtoD", {3}, false},
    {"cuMemcpyAtoA", {4}, false},
    {"cuMemcpy2D", {14, 15}, true},
    {"cuMemcpy2DUnaligned", {14, 15}, true},
    {"cuMemcpy3D", {22, 23, 24}, true},
    {"cuMemsetD8", {2}, false},
    {"cuMemsetD16", {2}, false},
    {"cuMemsetD32", {2}, false},
    {"cuMemsetD2D8", {3, 4}, false},
    {"cuMemsetD2D16", {3, 4}, false},
    {"cuMemsetD2D32", {3, 4}, false},
};

#define CALLS 1024u
static const struct extent *of_calls[SN_CUPTI_RUNTIME + 1][CALLS];

static bool is_form_of(const char *name, const char *of)
{
	if (!sn_begins_with(name, of))
		return false;
	name += strlen(of);
	if (sn_begins_with(name, "Async"))
		name += strlen("Async");
	return !*name || *name == '_';
}

void sn_cuda_size_note_call(uint32_t domain, uint32_t cbid, const char *name)
{
	for (size_t at = 0; cbid < CALLS && at < sizeof(extents) / sizeof(*extents); at++)
		if (is_form_of(name, extents[at].name))
			of_calls[domain][cbid] = &extents[at];
}

bool sn_cuda_moves_nothing(uint32_t domain, uint32_t cbid, const void *parameters)
{
	const struct extent *extent = cbid < CALLS ? of_calls[domain][cbid] : NULL;
	bool is_nothing = false;
	if (!extent || !parameters)
		return false;
	const uint64_t *words = parameters;
	const uint64_t *first = (const uint64_t *)*words; /* the program's, which may be wrong */
	for (unsigned at = 0; at < 3 && extent->words[at] && !is_nothing; at++) {
		uint64_t size = 1;
		if (!extent->is_in_first)
			size = words[extent->words[at]];
		else
			sn_program_read(first + extent->words[at], &size, sizeof(size));
		is_nothing = !size;
	}
	return is_nothing;
}
