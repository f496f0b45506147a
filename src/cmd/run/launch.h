/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a program with the collector: sets the environment that preloads it, and waits as a shell
 * does. Used by `sonde run`. Prints nothing.
 */
#pragma once

#include "base/error.h"
#include "base/safe_path.h"

#include <stdbool.h>
#include <stddef.h>

/* Settings of the collector; NULL and 0 leave its defaults (src/collect/core/init.c). */
struct sn_launch_request {
	const char *events;    /* SONDE_EVENTS */
	const char *call_path; /* SONDE_CALL_PATH */
	const char *operators; /* SONDE_OPERATORS */
	bool tensor_memory;    /* SONDE_MEMORY */
	const char *graph;     /* SONDE_GRAPH: "1" or "all" */
	bool gpu_migrations, gpu_hardware_times;
	const char *gpu_graphs; /* SONDE_GPU_GRAPHS */
	const char *gpu_api;	/* SONDE_GPU_API */
	bool shadow;		/* SONDE_SHADOW */
	bool not_preloaded;	/* the program would not start with the library */
	bool is_shared;	 /* files by the user's umask, SONDE_SHARE; else for the user alone */
	bool no_command; /* SONDE_COMMAND */
	unsigned long checkpoint_ms;
	const char *gpu_samples;    /* SONDE_GPU_SAMPLES */
	const char *gpu_samples_in; /* SONDE_GPU_SAMPLES_IN */
	const char *gpu_counters;   /* SONDE_GPU_COUNTERS */
	const char *gpu_metrics;    /* SONDE_GPU_METRICS */
	unsigned long memory_limit_mb;
	/* Called, if not NULL, when there is a process that is about to execute the program; it
	 * waits for the return. */
	void (*on_start)(void *context, int pid);
	void *start_context;
	/* Set by sn_launch_folder; everything of the folder is opened by its descriptor. */
	struct sn_path place; /* where its name is */
	int directory;
	char folder[4096];  /* absolute, without links */
	char identity[192]; /* SONDE_FOLDER: what the collector must find there */
	char library[4096]; /* set by sn_launch_library */
};

/* The file that `command` names, by PATH where it has no slash. 0, or -1 with errno. */
int sn_launch_find(const char *command, char *path, size_t path_bytes);

/* Makes a folder that nobody has for sn_launch_folder to take; 0 or a negative errno, or as
 * sn_path_open. */
int sn_launch_reserve(const struct sn_launch_request *launch, const char *folder);

/*
 * Makes the measurement folder, for the user alone, or empties one that an earlier run left; a
 * folder with anything else in it is refused, and so is one into which another `sonde run`
 * measures: a lock on the folder tells, which is held until this process ends. The ranks of one
 * parallel run share a folder that the first of them makes. A folder of another user, and one that
 * others can write to, is refused: what is in it, and what its names lead to, would be theirs to
 * choose.
 */
int sn_launch_folder(struct sn_launch_request *launch, const char *folder, struct sn_error *error);

/* Its first part: the folder, open, without looking into it. *is_new: there was none. */
int sn_launch_open_folder(struct sn_launch_request *launch, const char *folder, bool *is_new,
			  struct sn_error *error);
/* Whether its name still leads to it; removes it, empty, if so. */
bool sn_launch_is_in_place(const struct sn_launch_request *launch, const char *folder);
void sn_launch_remove_folder(const struct sn_launch_request *launch, const char *folder);

/* Finds libsonde.so beside this program: installed, or in the build tree. */
int sn_launch_library(struct sn_launch_request *launch, struct sn_error *error);

/*
 * Runs the command to its end. *status is its exit status, or 128 + N where signal N ended it.
 * Interrupts from the terminal go to the program, which decides; SIGTERM and SIGHUP are passed on.
 */
int sn_launch_program(const struct sn_launch_request *launch, char *const *command, int *status,
		      struct sn_error *error);

/* The signal that ended the command that was run; 0: it exited, or could not be run. */
int sn_launch_signal(void);

/* True where no process wrote anything into the folder. */
bool sn_launch_is_empty(const struct sn_launch_request *launch);
/*
 * Waits a moment for processes that outlive the program by an instant, as Python's resource tracker
 * does. Returns how many still run.
 */
unsigned sn_launch_settle(const struct sn_launch_request *launch);
/*
 * Keeps what just-in-time compilers of the measured processes wrote of their code to
 * /tmp/perf-PID.map: it would be gone, or another process's, when it is asked for. Returns a
 * process whose map was left alone because another user owns it, or 0.
 */
int sn_launch_keep_perf_maps(const struct sn_launch_request *launch);
/* True inside mpirun, srun or torchrun: others measure into the same folder. */
bool sn_launch_is_joined(void);
