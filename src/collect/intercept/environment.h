/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of programs that this process executes.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: yes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Stores the variables that a new program image needs to be measured. AS-safe: no.
 * MT: once. */
void sn_environment_keep(void);
/* What this process begins below, as it was started with it (start_path.h); NULL for nothing. The
 * program sees an empty variable in its place. */
const char *sn_environment_start_path(void);
/* From now on programs that this process executes start without the collector. Changes the
 * environment in place and makes no system call. AS-safe: no. */
void sn_environment_strip(void);

/* The same, but `environ` becomes a new list, which is never freed: what the program has of the old one, the list or its texts,
 * stays as it is. AS-safe: no. */
void sn_environment_replace(void);

/* The same without changing the environment, which the program may be changing at this moment: the
 * wrappers of exec remove the variables. */
void sn_environment_leave(void);

/* The environment completed for a program that this thread executes: the caller's own where there is
 * nothing to carry, or no memory. `path` is the program's, NULL where it is not known. Valid until
 * this thread's next call. MT: the thread itself. */
char *const *sn_environment_carried(const char *path, char *const *arguments,
				    char *const *environment);
/* Frees that environment's memory. MT: the thread itself, as it ends. */
void sn_environment_release(void);

/*
 * Puts the line that calls system(3) into `environ`, and takes it away again where that was done
 * (true). Only for the interpreter: it calls system(3) in no handler of a signal, which may have
 * interrupted setenv(3). Where several threads call it at a time from several lines, the later
 * ones' programs begin below none. AS-safe: no.
 */
bool sn_environment_show_line(const char *command, uintptr_t caller);
void sn_environment_hide_line(void);
/* In the child of a fork: other threads' calls of system(3) are not under way there. MT: the only
 * thread. */
void sn_environment_after_fork(void);
