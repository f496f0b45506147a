/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this process runs a program written in Go (docs/design/go-programs.md). Its runtime is
 * told from others by the note that Go's linker leaves in it.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: yes.
 */
#ifndef SN_COLLECT_GO_PROGRAM_H
#define SN_COLLECT_GO_PROGRAM_H

enum sn_go {
	SN_GO_NONE,
	SN_GO_CGO,   /* it uses the C library, which makes its threads */
	SN_GO_ALONE, /* it does without: its threads have no thread-local storage of ours */
};

/* Reads the main program's headers, once. AS-safe: no at first, then yes. */
enum sn_go sn_go_program(void);

#endif
