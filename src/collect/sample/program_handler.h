/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's handlers are entered through a gate: code of the collector that leaves registers
 * and stack unchanged. It hides from them what the collector adds to the process:
 * - a handler that asks for a signal stack (SA_ONSTACK), in a thread of which the program has set
 * none, runs on the thread's ordinary stack and not on the collector's;
 * - a sample's frame is put on a signal stack of the program, below a handler that runs there, only
 * if there is plenty of room;
 * - a handler of a signal that was the sample signal before does not get a sample that was still
 * pending;
 * - a system call that the handler interrupted stays interrupted (interrupted_call.h).
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#include <signal.h>

/* sigaction(2) for the program, for any signal but the collector's: stores the program's handler
 * and full mask, to return them later, and passes the gate to the kernel. 0, or -1 and errno. */
int sn_program_sigaction(int signal, const struct sigaction *new_action,
			 struct sigaction *old_action);

/* Translates an action of `signal` from the kernel back to what the program has set. */
void sn_program_action_translate(int signal, struct sigaction *action);
