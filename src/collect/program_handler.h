/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers of the program that must not meet what we added to its process. Two kinds are entered
 * through a gate of ours: those that ask for a signal stack (SA_ONSTACK), which in a thread that
 * has none run on its ordinary stack and not on ours; and those of a signal that was ours before,
 * which must not see a sample that was still on its way.
 */
#ifndef SN_COLLECT_PROGRAM_HANDLER_H
#define SN_COLLECT_PROGRAM_HANDLER_H

#include <signal.h>

/*
 * sigaction(2) as the program means it, for any signal but those whose action is ours: keeps the
 * handler and the whole mask for who asks, and gives the kernel what works. 0, or -1 and errno.
 * AS-safe: yes. MT: yes.
 */
int sn_program_sigaction(int signal, const struct sigaction *new_action,
			 struct sigaction *old_action);

#endif
