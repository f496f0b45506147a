/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kind of an executable file, with regard to preloading a library into it.
 *
 * Reads headers only; resolves no symbols and executes nothing.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>

enum sn_elf_kind {
	SN_ELF_DYNAMIC,	   /* 64-bit, of this machine, has a dynamic loader: can be measured */
	SN_ELF_GO_ALONE,   /* written in Go without cgo: a loader, but no use of the C library */
	SN_ELF_OTHER_LIBC, /* its loader is musl's: it would not start with a library for glibc */
	SN_ELF_STATIC,	   /* no dynamic loader, so no preloading */
	SN_ELF_32BIT,	   /* a 32-bit program: needs a 32-bit libsonde.so */
	SN_ELF_FOREIGN,	   /* another machine's or byte order's program */
	SN_ELF_NOT_ELF,	   /* neither ELF nor a script (a jar, a damaged file, ...) */
	SN_ELF_SCRIPT_LOOP /* more than four interpreters in a row */
};

struct sn_elf_kind_info {
	enum sn_elf_kind kind; /* of the program that will run: a script's interpreter */
	bool is_script;	       /* `program` is the interpreter that #! names, not the given file */
	/* The loader ignores preloads here: set-user-id or set-group-id to another identity than
	 * ours, or file capabilities. `secure_reason` names which: "setuid", "setgid",
	 * "capabilities". */
	bool is_secure;
	const char *secure_reason; /* static; NULL unless is_secure */
	char program[4096];	   /* the file of this kind */
	char loader[4096];	   /* its PT_INTERP, "" without one */
};

/*
 * `path` is a path, not a name to search $PATH for. SN_ERR_IO if a file cannot be opened or read
 * (the text names it), else 0.
 */
int sn_elf_kind_read(const char *path, struct sn_elf_kind_info *info, struct sn_error *error);

/* A phrase: "a statically linked program". */
const char *sn_elf_kind_text(enum sn_elf_kind kind);
