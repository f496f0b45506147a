#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""syscalls.py COMPILER... : the system calls that <asm/unistd.h> defines, as initialisers of a C array."""
import re
import subprocess
import sys

text = subprocess.run([*sys.argv[1:], "-dM", "-E", "-"], input="#include <asm/unistd.h>\n", text=True,
                      capture_output=True, check=True).stdout
found = re.findall(r"^#define __NR_(\w+) (\d+)$", text, re.M)
for name, number in sorted(found, key=lambda pair: int(pair[1])):
    print(f'[{number}] = "{name}",')
