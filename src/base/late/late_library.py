#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes what loads a library when it is first needed, for loading takes time that every command would pay at its start.

NAME.h stands for the library's own header: it makes each function that SOURCE... call, and whose name FUNCTIONS matches, one
of struct sn_NAME, which sn_NAME_load() fills; none may be called before. NAME.c holds both.

Usage: late_library.py FOLDER NAME HEADER SONAME FUNCTIONS SOURCE...
"""
from __future__ import annotations

import re
import sys
from pathlib import Path

HEADER = """/* Made by late_library.py. */
#pragma once
#include <{header}>
#include <stdbool.h>

/* Functions of {soname}, once it is loaded. */
extern struct sn_{name} {{
{members}
}} sn_{name};

/* False where it cannot be loaded or lacks a function. MT: yes. */
bool sn_{name}_load(void);

{names}
"""
SOURCE = """/* Made by late_library.py. */
#include "{name}.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

struct sn_{name} sn_{name};

static const struct {{
	const char *name;
	void **function;
}} functions[] = {{
{entries}
}};

static bool is_loaded;

static void load(void)
{{
	void *library = dlopen("{soname}", RTLD_NOW | RTLD_LOCAL);
	is_loaded = library != NULL;
	for (size_t index = 0; is_loaded && index < sizeof(functions) / sizeof(*functions); index++)
		is_loaded = (*functions[index].function = dlsym(library, functions[index].name)) != NULL;
}}

bool sn_{name}_load(void)
{{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, load);
	return is_loaded;
}}
"""


def main(folder: str, name: str, header: str, soname: str, pattern: str, *sources: str) -> None:
    text = "".join(Path(source).read_text() for source in sources)
    functions = sorted(set(re.findall(rf"\b({pattern})\s*\(", text)))
    values = {
        "name": name, "header": header, "soname": soname,
        "members": "\n".join(f"\t__typeof__(&{function}) {function};" for function in functions),
        "names": "\n".join(f"#define {function} sn_{name}.{function}" for function in functions),
        "entries": "\n".join(f'\t{{"{function}", (void **)&{function}}},' for function in functions),
    }
    Path(folder, f"{name}.h").write_text(HEADER.format(**values))
    Path(folder, f"{name}.c").write_text(SOURCE.format(**values))


main(*sys.argv[1:])
