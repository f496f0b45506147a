/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that become shorter while a command has them mapped: the kernel answers a read behind the
 * new end with SIGBUS. Whoever truncated it, the user is told which file it was, in one line, and
 * the command ends as after any other bad input.
 */
#ifndef SN_CMD_BUS_ERROR_H
#define SN_CMD_BUS_ERROR_H

/* From now on such a signal prints "sonde: ..." on stderr, removes unfinished outputs and exits
 * with SN_EXIT_FAILED. One that no mapped file caused ends the command as before. */
void sn_bus_error_init(void);

#endif
