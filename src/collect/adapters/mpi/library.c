/* SPDX-License-Identifier: Apache-2.0 */
/* Which MPI it is; see mpi.h. */
#include "mpi.h"

#include "collect/adapters/torch/torch.h"

#include <dlfcn.h>
#include <string.h>

#define REAL(name)                                                                                 \
	({                                                                                         \
		static _Atomic(void *) known;                                                      \
		sn_mpi_real(&known, name);                                                         \
	})

void *sn_mpi_real(_Atomic(void *) *known, const char *name)
{
	void *function = atomic_load_explicit(known, memory_order_relaxed);
	if (__builtin_expect(function != NULL, 1))
		return function;
	/* relaxed: whoever races here finds the same. Also in what Python loads for itself */
	function = sn_torch_real(name);
	atomic_store_explicit(known, function, memory_order_relaxed);
	return function;
}

static struct sn_mpi_library library;
static _Atomic int state_of_search; /* 0 not looked yet, 1 known, -1 none */

/* Where all have it: a program may have a copy of a library's variable, which then is the one. */
static void *variable(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);
	return found ? found : sn_torch_real(name);
}

static bool is_open_mpi(void)
{
	void *world = variable("ompi_mpi_comm_world");
	void *request = variable("ompi_request_null"), *null = variable("ompi_mpi_comm_null");
	if (!world || !request || !null)
		return false;
	library = (struct sn_mpi_library){
	    .world = (sn_word)world,
	    .no_communicator = (sn_word)null,
	    .no_request = (sn_word)request,
	    .handle_bytes = 8,
	    .status_bytes = 24,
	    .ignore_status = 0,
	    .any_source = -1,
	    .no_process = -2,
	    .source_at = 0,
	    .tag_at = 4,
	    .is_open_mpi = true,
	};
	return true;
}

/* What has the binary interface that MPICH and others agreed upon in 2013. */
static bool is_mpich(void)
{
	static const char *const names[] = {"MPICH", "MVAPICH", "Intel(R) MPI", "CRAY"};
	char text[8192];
	int length = 0;
	int (*version)(char *, int *) = (int (*)(char *, int *))REAL("PMPI_Get_library_version");
	if (!version || version(text, &length) || length <= 0 || length >= (int)sizeof(text))
		return false;
	text[length] = 0;
	bool is_known = false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		is_known |= strstr(text, names[i]) != NULL;
	library = (struct sn_mpi_library){
	    .world = 0x44000000,
	    .no_communicator = 0x04000000,
	    .no_request = 0x2c000000,
	    .handle_bytes = 4,
	    .status_bytes = 20,
	    .ignore_status = 1,
	    .any_source = -2,
	    .no_process = -1,
	    .source_at = 8,
	    .tag_at = 12,
	};
	return is_known;
}

const struct sn_mpi_library *sn_mpi_library(void)
{
	int state = atomic_load_explicit(&state_of_search, memory_order_acquire);
	if (__builtin_expect(!state, 0)) {
		/* whoever races here finds and writes the same */
		state = sizeof(void *) == 8 && (is_open_mpi() || is_mpich()) ? 1 : -1;
		atomic_store_explicit(&state_of_search, state, memory_order_release);
	}
	return state > 0 ? &library : NULL;
}

sn_word sn_mpi_handle(const struct sn_mpi_library *of, const void *handles, size_t index)
{
	uint32_t narrow;
	sn_word wide;
	const unsigned char *at = (const unsigned char *)handles + index * of->handle_bytes;
	if (of->handle_bytes == sizeof(wide)) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, at, sizeof(narrow));
	return narrow;
}

struct sn_mpi_status sn_mpi_status(const struct sn_mpi_library *of, const void *statuses,
				   size_t index)
{
	const unsigned char *at = (const unsigned char *)statuses + index * of->status_bytes;
	struct sn_mpi_status status;
	uint32_t halves[2];
	memcpy(&status.source, at + of->source_at, sizeof(int));
	memcpy(&status.tag, at + of->tag_at, sizeof(int));
	if (of->is_open_mpi) {
		memcpy(&status.bytes, at + 16, sizeof(status.bytes));
	} else {
		/* the low bit of the upper half tells whether it was cancelled */
		memcpy(halves, at, sizeof(halves));
		status.bytes = halves[0] | (uint64_t)(halves[1] >> 1) << 32;
	}
	return status;
}

uint64_t sn_mpi_type_bytes(sn_word type)
{
	int (*size)(sn_word, int *) = (int (*)(sn_word, int *))REAL("PMPI_Type_size");
	int bytes = 0;
	return size && !size(type, &bytes) && bytes > 0 ? (uint64_t)bytes : 0;
}
