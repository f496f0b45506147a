/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting a program under the collector: the environment that preloads it, and waiting as a shell
 * would. Used by `sonde run`. Prints nothing.
 */
#ifndef SN_CMD_LAUNCH_H
#define SN_CMD_LAUNCH_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* What the collector is told; NULL and 0 leave its defaults (src/collect/init.c). */
struct sn_launch {
	const char *events;    /* SONDE_EVENTS */
	const char *call_path; /* SONDE_CALL_PATH */
	const char *operators; /* SONDE_OPERATORS */
	bool tensor_memory;    /* SONDE_MEMORY */
	const char *graph;     /* SONDE_GRAPH: "1" or "all" */
	bool shadow;	       /* SONDE_SHADOW */
	bool not_preloaded;    /* the program would not start with the library */
	unsigned long checkpoint_ms;
	unsigned long memory_limit_mb;
	/* Called, if not NULL, when there is a process that is about to execute the program; it
	 * waits for the return. */
	void (*on_start)(void *context, int pid);
	void *start_context;
	char folder[4096];  /* absolute; set by sn_launch_folder */
	char library[4096]; /* set by sn_launch_library */
};

/* The file that `command` names, by PATH where it has no slash. 0, or -1 with errno. */
int sn_launch_find(const char *command, char *path, size_t path_bytes);

/*
 * Makes the measurement folder, or empties one that an earlier run left; a folder with anything
 * else in it is refused, and so is one into which another `sonde run` measures: a lock on the
 * folder tells, which is held until this process ends. The ranks of one parallel run share a folder
 * that the first of them makes.
 */
int sn_launch_folder(struct sn_launch *launch, const char *folder, struct sn_error *error);

/* Finds libsonde.so beside this program: installed, or in the build tree. */
int sn_launch_library(struct sn_launch *launch, struct sn_error *error);

/*
 * Runs the command to its end. *status is its exit status, or 128 + N where signal N ended it.
 * Interrupts from the terminal go to the program, which decides; SIGTERM and SIGHUP are passed on.
 */
int sn_launch_program(const struct sn_launch *launch, char *const *command, int *status,
		      struct sn_error *error);

/* The signal that ended the command that was run; 0: it exited. */
int sn_launch_signal(void);

/* True where no process wrote anything into the folder. */
bool sn_launch_is_empty(const char *folder);
/*
 * Waits a moment for processes that outlive the program by an instant, as Python's resource tracker
 * does. Returns how many still run.
 */
unsigned sn_launch_settle(const char *folder);
/*
 * Keeps what just-in-time compilers of the measured processes wrote of their code to
 * /tmp/perf-PID.map: it would be gone, or another process's, when it is asked for.
 */
void sn_launch_keep_perf_maps(const char *folder);
/* True inside mpirun, srun or torchrun: others measure into the same folder. */
bool sn_launch_is_joined(void);

#endif
