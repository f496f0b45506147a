/* SPDX-License-Identifier: Apache-2.0 */
/* Determines the MPI implementation, and so the sizes of handles and statuses. */
#include "collect/unwind/own_stack.h"
#include "mpi.h"

#include "collect/core/line.h"

#include <dlfcn.h>
#include <string.h>

static struct sn_mpi_library library;
static _Atomic int state_of_search; /* 0 not looked yet, 1 known, -1 none */

/* Where all have it: a program may have a copy of a library's variable, which then is the one. */
static void *variable(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);
	return found ? found : sn_real_symbol(name);
}

static bool is_open_mpi(void)
{
	void *world = variable("ompi_mpi_comm_world"), *self = variable("ompi_mpi_comm_self");
	void *request = variable("ompi_request_null"), *null = variable("ompi_mpi_comm_null");
	void *type = variable("ompi_mpi_datatype_null");
	if (!world || !self || !request || !null)
		return false;
	library = (struct sn_mpi_library){
	    .world = (sn_word)world,
	    .self = (sn_word)self,
	    .no_communicator = (sn_word)null,
	    .no_request = (sn_word)request,
	    .no_type = (sn_word)type,
	    .handle_bytes = 8,
	    .status_bytes = 24,
	    .in_place = 1,
	    .any_source = -1,
	    .any_tag = -1,
	    .no_process = -2,
	    .cartesian = 1,
	    .graph = 2,
	    .truncated = 15,
	    .failed_status = 18,
	    .tag_at = 4,
	    .error_at = 8,
	    .status = SN_MPI_STATUS_OPEN_MPI,
	};
	return true;
}

/* The library's own words; false for none. */
static bool read_version(char *text, size_t size)
{
	int length = 0;
	typedef int ask(char *, int *);
	ask *version = SN_MPI_REAL(ask, "PMPI_Get_library_version");
	if (!version || version(text, &length) || length <= 0 || length >= (int)size)
		return false;
	text[length] = 0;
	return true;
}

/* The interface that the MPI Forum has agreed upon since: other handles, whoever made the library.
 */
static bool has_forum_interface(void)
{
	int major = -1, minor = -1;
	typedef int ask(int *, int *);
	ask *version = SN_MPI_REAL(ask, "PMPI_Abi_get_version");
	return version && !version(&major, &minor) && major > 0;
}

/* MPI 5.0, chapter 20. */
static bool is_forum(void)
{
	if (!has_forum_interface())
		return false;
	library = (struct sn_mpi_library){
	    .world = 0x101,
	    .self = 0x102,
	    .no_communicator = 0x100,
	    .no_request = 0x180,
	    .no_type = 0x200,
	    .handle_bytes = 8,
	    .status_bytes = 32,
	    .in_place = 1,
	    .any_source = -1,
	    .any_tag = -2,
	    .no_process = -3,
	    .cartesian = 211,
	    .graph = 212,
	    .truncated = 15,
	    .failed_status = 19,
	    .tag_at = 4,
	    .error_at = 8,
	    .status = SN_MPI_STATUS_ASKED,
	};
	return true;
}

/* What has the binary interface that MPICH and others agreed upon in 2013. */
static bool is_mpich(void)
{
	static const char *const names[] = {"MPICH", "MVAPICH", "Intel(R) MPI", "CRAY"};
	char text[8192];
	if (!read_version(text, sizeof(text)))
		return false;
	bool is_known = false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		is_known |= strstr(text, names[i]) != NULL;
	library = (struct sn_mpi_library){
	    .world = 0x44000000,
	    .self = 0x44000001,
	    .no_communicator = 0x04000000,
	    .no_request = 0x2c000000,
	    .no_type = 0x0c000000,
	    .handle_bytes = 4,
	    .status_bytes = 20,
	    .ignore_status = 1,
	    .in_place = (sn_word)-1,
	    .any_source = -2,
	    .any_tag = -1,
	    .no_process = -1,
	    .cartesian = 2,
	    .graph = 1,
	    .truncated = 14,
	    .failed_status = 17,
	    .source_at = 8,
	    .tag_at = 12,
	    .error_at = 16,
	    .status = SN_MPI_STATUS_MPICH,
	};
	return is_known;
}

static void search(void *is_known)
{
	*(bool *)is_known = sizeof(void *) == 8 && (is_open_mpi() || is_forum() || is_mpich());
}

const struct sn_mpi_library *sn_mpi_library(void)
{
	int state = atomic_load_explicit(&state_of_search, memory_order_acquire);
	if (__builtin_expect(!state, 0)) {
		/* threads that race find and write the same */
		bool is_known;
		sn_on_own_stack(search, &is_known);
		state = is_known ? 1 : -1;
		atomic_store_explicit(&state_of_search, state, memory_order_release);
	}
	return state > 0 ? &library : NULL;
}

/* From "MPICH Version:\t4.0.2\n..." and "Open MPI v4.1.4, package: ..." */
static struct {
	char text[96];
} named;

static void find_name(void *unused)
{
	char text[8192];
	if (!read_version(text, sizeof(text)))
		return;
	text[strcspn(text, "\n,")] = 0;
	struct sn_line line = SN_LINE(named.text);
	/* without strspn: a sanitizer would take it for the program's */
	for (char *word = text; *word; word += strcspn(word, " \t")) {
		while (*word == ' ' || *word == '\t')
			word++;
		size_t length = strcspn(word, " \t");
		char part[64] = "";
		bool is_version = *word == 'v' && word[1] >= '0' && word[1] <= '9';
		if (!length || length >= sizeof(part) || !strncmp(word, "Version:", 8))
			continue;
		memcpy(part, word + is_version, length - is_version);
		SN_LINE_ADD(&line, line.length ? " " : NULL, part);
	}
}

const char *sn_mpi_library_name(void)
{
	if (!named.text[0])
		sn_on_own_stack(find_name, NULL);
	return named.text[0] ? named.text : "an MPI without a name";
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

/* Bytes, and whether it was cancelled: calls that look at nothing but the status. */
static void ask_status(const void *from, struct sn_mpi_status *status)
{
	enum { BYTE = 0x247 }; /* MPI_BYTE */
	typedef int ask_count(const void *, sn_word, int64_t *);
	typedef int ask_cancelled(const void *, int *);
	ask_count *count = SN_MPI_REAL(ask_count, "PMPI_Get_elements_x");
	ask_cancelled *cancelled = SN_MPI_REAL(ask_cancelled, "PMPI_Test_cancelled");
	int64_t bytes = 0;
	int flag = 0;
	if (count && !count(from, BYTE, &bytes) && bytes > 0)
		status->bytes = (uint64_t)bytes;
	if (cancelled && !cancelled(from, &flag))
		status->is_cancelled = flag != 0;
}

struct sn_mpi_status sn_mpi_status(const struct sn_mpi_library *of, const void *statuses,
				   size_t index)
{
	const unsigned char *at = (const unsigned char *)statuses + index * of->status_bytes;
	struct sn_mpi_status status = {0};
	uint32_t halves[2];
	memcpy(&status.source, at + of->source_at, sizeof(int));
	memcpy(&status.tag, at + of->tag_at, sizeof(int));
	memcpy(&status.error, at + of->error_at, sizeof(int));
	if (of->status == SN_MPI_STATUS_ASKED) {
		ask_status(at, &status);
	} else if (of->status == SN_MPI_STATUS_OPEN_MPI) {
		memcpy(halves, at + 12, sizeof(*halves));
		status.is_cancelled = halves[0] != 0;
		memcpy(&status.bytes, at + 16, sizeof(status.bytes));
	} else {
		/* the low bit of the upper half tells whether it was cancelled */
		memcpy(halves, at, sizeof(halves));
		status.is_cancelled = halves[1] & 1;
		status.bytes = halves[0] | (uint64_t)(halves[1] >> 1) << 32;
	}
	return status;
}

int sn_mpi_error_class(int result)
{
	int class = result;
	typedef int ask(int, int *);
	ask *find = SN_MPI_REAL(ask, "PMPI_Error_class");
	return find && !find(result, &class) ? class : result;
}

uint64_t sn_mpi_type_bytes(sn_word type)
{
	/* MPI_Count, which is a word: derived types may be larger than an int can tell */
	typedef int ask(sn_word, int64_t *);
	ask *size = SN_MPI_REAL(ask, "PMPI_Type_size_x");
	int64_t bytes = 0;
	if (library.handle_bytes == sizeof(uint32_t))
		type = (uint32_t)type;
	return size && type != library.no_type && !size(type, &bytes) && bytes > 0 ? (uint64_t)bytes
										   : 0;
}
