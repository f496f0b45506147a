/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's handlers are entered through a gate: code of ours that leaves registers and stack
 * as they were. It hides from them what the collector adds to the process:
 * - one that asks for a signal stack (SA_ONSTACK) runs, in a thread that has none, on the thread's
 *   ordinary stack and not on ours;
 * - no sample's frame is put on a signal stack of the program below a handler that runs there,
 * unless there is plenty of room;
 * - one of a signal that was ours before does not see a sample that was still on its way;
 * - where it interrupted a system call, that call stays interrupted (interrupted_call.h).
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#ifndef SN_COLLECT_PROGRAM_HANDLER_H
#define SN_COLLECT_PROGRAM_HANDLER_H

#include <signal.h>

/* sigaction(2) as the program means it, for any signal but those whose action is ours: keeps the
 * handler and the whole mask for who asks, and gives the kernel what works. 0, or -1 and errno. */
int sn_program_sigaction(int signal, const struct sigaction *new_action,
			 struct sigaction *old_action);

/* An action that the kernel had of `signal`, as the program gave it. */
void sn_program_action_translate(int signal, struct sigaction *action);

#endif
