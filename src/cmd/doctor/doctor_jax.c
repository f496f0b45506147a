/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of a jaxlib, by its file's symbols: what `sonde run` would see of its programs. Nothing
 * is loaded or run.
 */
#include "doctor.h"

#include "collect/adapters/xla/symbols.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The library in a folder: since jaxlib 0.7, and before. -1 where there is none. */
static int open_library(const char *folder)
{
	static const char *const names[] = {"libjax_common.so", "xla_extension.so"};
	char path[2048];
	int fd = -1;
	for (size_t i = 0; fd < 0 && i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%.1900s/%s", folder, names[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	}
	return fd;
}

/* The reason why calls of compiled functions are not seen, NULL where they are. */
static const char *read_library(struct sn_xla_symbols *found, const char *folder)
{
	struct stat status;
	void *file = MAP_FAILED;
	int fd = open_library(folder);
	if (fd < 0)
		return "neither libjax_common.so nor xla_extension.so can be opened beside it";
	if (!fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_size > 0)
		file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (file == MAP_FAILED)
		return "its library cannot be read";
	int result = sn_xla_symbols_read(found, file, (size_t)status.st_size);
	munmap(file, (size_t)status.st_size);
	return result ? "its library has no local symbols" : sn_xla_unknown_form(found->counts);
}

void sn_diagnose_jax(struct sn_diagnosis *diagnosis, const char *name, const char *path,
		     const char *folder)
{
	struct sn_xla_symbols *found = calloc(1, sizeof(*found));
	const char *why = found ? read_library(found, folder) : "out of memory";
	bool has_computations = found && found->counts[SN_XLA_THUNK];
	if (why)
		sn_diagnose(diagnosis, name, SN_VERDICT_LIMITED,
			    "pip install --upgrade jax, for that Python",
			    "%s: compiled functions are no operators, as %s; its programs show as "
			    "Python and C functions",
			    path, why);
	else
		sn_diagnose(diagnosis, name, sn_verdict_of(has_computations), NULL,
			    "%s: compiled functions as operators, %s", path,
			    has_computations
				? "and what they run on CPUs"
				: "not what they run on CPUs, whose form is not known");
	free(found);
}
