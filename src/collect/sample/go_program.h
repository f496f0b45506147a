/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this process runs a program written in Go (docs/design/go-programs.md). A Go program is
 * recognised by the note that Go's linker writes.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: yes.
 */
#pragma once

enum sn_go {
	SN_GO_NONE,
	SN_GO_CGO, /* it uses the C library, which creates its threads */
	SN_GO_ALONE, /* without the C library: its threads lack the collector's thread-local storage */
};

/* Reads the main program's headers once. AS-safe: no at the first call, then yes. */
enum sn_go sn_go_program(void);
