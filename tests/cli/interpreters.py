# SPDX-License-Identifier: Apache-2.0
"""The interpreters of Python that this machine has: SONDE_TEST_PYTHONS, a list of paths with colons, and those in the usual places."""
from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys

ASK = ("import sys, sysconfig; v = sysconfig.get_config_var; print(*sys.version_info[:2], "
       "sysconfig.get_platform(), v('LIBDIR'), v('INSTSONAME') or '-', sys.base_prefix)")


def interpreters():
    """{real path: (version, shared library or None, prefix)}"""
    candidates = os.environ.get("SONDE_TEST_PYTHONS", "").split(":") + [sys.executable]
    for minor in range(8, 15):
        candidates.append(shutil.which("python3.%d" % minor) or "")
    for pattern in ("~/.pyenv/versions/3.*/bin/python3", "/opt/*/bin/python3", "/usr/bin/python3"):
        candidates += glob.glob(os.path.expanduser(pattern))
    found = {}
    for candidate in candidates:
        path = os.path.realpath(candidate) if candidate else ""
        if not path or path in found or ".pyenv/shims" in path:
            continue
        asked = subprocess.run([path, "-c", ASK], capture_output=True, text=True)
        if asked.returncode == 0:
            major, minor, _, libdir, library, prefix = asked.stdout.split()
            shared = os.path.join(libdir, library)
            found[path] = ((int(major), int(minor)), shared if os.path.exists(shared) else None, prefix)
    return found


PYTHONS = interpreters()
SUPPORTED = [path for path, (version, _, _) in PYTHONS.items() if (3, 9) <= version <= (3, 14)]
OLDER = [path for path, (version, _, _) in PYTHONS.items() if version < (3, 9)]
