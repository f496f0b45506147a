/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signal-safety checker, in the library libsonde-checked.so only: while a thread is in the
 * sample handler, a call of a function that is not async-signal-safe ends the program with a line
 * that names it. In libsonde.so these macros are empty.
 *
 * All functions here: AS-safe: yes. MT: yes.
 */
#pragma once

#ifdef SN_SIGNAL_CHECK
void sn_signal_check_enter(void);
void sn_signal_check_leave(void);
/* Ends the program, with a line that says why. */
void sn_signal_check_refuse(const char *why);
/* The same, in the handler only. */
void sn_signal_check_outside(const char *why);
#else
static inline void sn_signal_check_enter(void)
{
}
static inline void sn_signal_check_leave(void)
{
}
#endif
