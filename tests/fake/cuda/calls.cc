/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles where the places in calls.def are those of a release's headers, by the System V ABI for x86-64: six registers, then words of the
 * stack; what has more than two words, or does not fit into the registers that are left, is on the stack. */
#include "collect/adapters/configured/description.h"

#define __CUDA_API_VERSION_INTERNAL
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <type_traits>

/* Declared for what nvcc makes of a launch alone; the arguments are the same. */
#define __cudaLaunchKernel cudaLaunchKernel

enum { NOWHERE = SN_CONFIGURED_NOWHERE };

struct places {
	unsigned words, stream, bytes; /* of the first argument that is a stream, or a size */
};

template <class Result, class... Arguments> constexpr places places_of(Result (*)(Arguments...))
{
	constexpr unsigned bytes[] = {sizeof(Arguments)..., 0};
	constexpr bool are_streams[] = {std::is_same_v<Arguments, cudaStream_t>..., false};
	constexpr bool are_sizes[] = {std::is_same_v<Arguments, size_t>..., false};
	places found = {0, NOWHERE, NOWHERE};
	unsigned registers = 0;
	for (unsigned at = 0; at < sizeof...(Arguments); at++) {
		unsigned words = (bytes[at] + 7) / 8;
		bool fits = words <= 2 && registers + words <= SN_CONFIGURED_REGISTERS;
		unsigned place = fits ? registers : SN_CONFIGURED_REGISTERS + found.words;
		(fits ? registers : found.words) += words;
		if (are_streams[at] && found.stream == NOWHERE)
			found.stream = place;
		if (are_sizes[at] && found.bytes == NOWHERE)
			found.bytes = place;
	}
	return found;
}

#define SN_CUDA_CALL(name, words_, stream_, bytes_)                                                \
	static_assert(places_of(name).words == words_ && places_of(name).stream == stream_ &&      \
		      (bytes_ == NOWHERE || places_of(name).bytes == bytes_), #name);
#define SN_CUDA_STREAM_CALL SN_CUDA_CALL
#define SN_CUDA_ZERO_CALL SN_CUDA_CALL
#define SN_CUDA_RUNTIME
#define SN_CUDA_DRIVER
#include "collect/adapters/cuda/calls.def"

/* What the driver hands out of other versions has the same places, but sizes of 32 bits. */
#define SAME_PLACES(name, version)                                                                 \
	static_assert(places_of(PFN_##name##_v##version{}).words == 0 &&                           \
		      places_of(PFN_##name##_v##version{}).stream == places_of(name).stream, #name);
SAME_PLACES(cuMemAlloc, 2000)
SAME_PLACES(cuMemFree, 2000)
SAME_PLACES(cuMemcpyHtoD, 2000)
SAME_PLACES(cuMemcpyDtoH, 2000)
SAME_PLACES(cuMemcpyHtoDAsync, 2000)
SAME_PLACES(cuMemcpyDtoHAsync, 2000)
SAME_PLACES(cuMemcpyDtoDAsync, 3000)
SAME_PLACES(cuCtxSynchronize, 13000)
