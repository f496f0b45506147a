/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results of `sonde doctor`: a list of checks, each with its verdict, the reason and one
 * command that would change it. Checks change nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sn_verdict {
	SN_VERDICT_OK,
	SN_VERDICT_LIMITED, /* works in part */
	SN_VERDICT_NO,
};

struct sn_check {
	const char *group; /* "Sampling", "Python", ... */
	char name[96];	   /* "CPU timers" */
	enum sn_verdict verdict;
	bool is_essential; /* without it nothing can be measured */
	char text[320];	   /* what works, or why it does not */
	char fix[200];	   /* a command, or "" */
};

enum { SN_MAX_CHECKS = 128 };

struct sn_diagnosis {
	struct sn_check checks[SN_MAX_CHECKS];
	size_t count;
	/* of the checks that follow */
	const char *group;
	bool is_essential;
};

/* Appends a check; the text is formatted, `fix` may be NULL. Checks beyond the list's size are left
 * out. */
void sn_diagnose(struct sn_diagnosis *diagnosis, const char *name, enum sn_verdict verdict,
		 const char *fix, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* SN_VERDICT_OK, or else SN_VERDICT_LIMITED. */
static inline enum sn_verdict sn_verdict_of(bool is_ok)
{
	return is_ok ? SN_VERDICT_OK : SN_VERDICT_LIMITED;
}

/* Why a perf event cannot be measured here: an errno, or 0. */
int sn_perf_event_error(uint32_t type, uint64_t config);

/* A group of checks each. */
void sn_diagnose_sampling(struct sn_diagnosis *diagnosis);  /* timers, perf events, the clock */
void sn_diagnose_collector(struct sn_diagnosis *diagnosis); /* libsonde.so and preloading */
void sn_diagnose_python(struct sn_diagnosis *diagnosis);    /* interpreters, PyTorch, JAX */
void sn_diagnose_devices(struct sn_diagnosis *diagnosis);   /* OpenCL, GPUs, accelerators */
void sn_diagnose_ranks(struct sn_diagnosis *diagnosis);	    /* MPI */
void sn_diagnose_os(struct sn_diagnosis *diagnosis);	    /* sonde run --os */
void sn_diagnose_system(struct sn_diagnosis *diagnosis);    /* debug files, disk, the daemon */

/* Adds what can be seen of programs of a jaxlib: the check's name, the file that it was found by and
 * the package's folder. */
void sn_diagnose_jax(struct sn_diagnosis *diagnosis, const char *name, const char *path,
		     const char *folder);

/* Of the group of devices: a vendor each. */
void sn_diagnose_nvidia(struct sn_diagnosis *diagnosis);
void sn_diagnose_amd(struct sn_diagnosis *diagnosis);
void sn_diagnose_intel(struct sn_diagnosis *diagnosis);

/* ---- doctor_places.c ---- */

/* Below the root that the checks of devices look at. Returns `path`. */
const char *sn_doctor_path(char *path, size_t size, const char *below);
/* Where a library is: of LD_LIBRARY_PATH, or else of the usual folders, the first that has it. */
bool sn_find_library(const char *name, char *path, size_t size);
/* The first of these names that is found; the list ends with NULL. */
bool sn_find_first(const char *const *names, char *path, size_t size);
/* Of a file below the root, "" where it cannot be read. */
bool sn_read_first_line(const char *below, char *text, size_t size);
/* Whether the user may read and write a device. */
bool sn_may_use(const char *path);
/* Appends a check of a device that the user may not use; joining its group is the fix where that would help. */
void sn_diagnose_refused(struct sn_diagnosis *diagnosis, const char *name, const char *path);
/* The release by a library's real name, "1.8.12" of libze_loader.so.1.8.12; "of unknown version". `real` has PATH_MAX bytes. */
const char *sn_library_version(const char *path, char *real);
