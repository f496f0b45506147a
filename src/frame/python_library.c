/* SPDX-License-Identifier: Apache-2.0 */
/* Which Python is a library by its name; see python_library.h. */
#include "python_library.h"

#include <stdlib.h>
#include <string.h>

/* sys.stdlib_module_names of CPython 3.9 to 3.14, where they are Python, the frameworks, and
 * what runs notebooks. Sorted. */
/* clang-format off */
static const char *const names[] = {
    "IPython", "__future__", "_collections_abc", "_pydecimal", "_strptime",
    "_threading_local", "_weakrefset", "abc", "aifc", "annotationlib", "argparse", "ast",
    "asynchat", "asyncio", "asyncore", "base64", "bdb", "bisect", "bz2", "cProfile",
    "calendar", "cgi", "cgitb", "chunk", "cmd", "code", "codecs", "codeop",
    "colab_kernel_launcher", "collections", "colorsys", "compileall", "compression",
    "concurrent", "configparser", "contextlib", "contextvars", "copy", "copyreg", "crypt",
    "csv", "ctypes", "curses", "dataclasses", "datetime", "dbm", "decimal", "difflib",
    "dis", "distutils", "doctest", "email", "encodings", "enum", "filecmp", "fileinput",
    "fnmatch", "fractions", "ftplib", "functools", "functorch", "genericpath", "getopt",
    "getpass", "gettext", "glob", "graphlib", "gzip", "hashlib", "heapq", "hmac", "html",
    "http", "imaplib", "imghdr", "imp", "importlib", "inspect", "io", "ipaddress",
    "ipykernel", "ipykernel_launcher", "jax", "jaxlib", "json", "keras", "keyword",
    "linecache", "locale", "logging", "lzma", "mailbox", "mailcap", "mimetypes",
    "modulefinder", "multiprocessing", "netrc", "nntplib", "ntpath", "numbers", "numpy",
    "opcode", "operator", "optparse", "os", "pathlib", "pdb", "pickle", "pickletools",
    "pipes", "pkgutil", "platform", "plistlib", "poplib", "posixpath", "pprint", "profile",
    "pstats", "pty", "py_compile", "pyclbr", "pydoc", "queue", "quopri", "random", "re",
    "reprlib", "rlcompleter", "runpy", "sched", "secrets", "selectors", "shelve", "shlex",
    "shutil", "signal", "site", "smtpd", "smtplib", "sndhdr", "socket", "socketserver",
    "sqlite3", "ssl", "stat", "statistics", "string", "stringprep", "struct", "subprocess",
    "sunau", "symtable", "sysconfig", "tabnanny", "tarfile", "telnetlib", "tempfile",
    "tensorflow", "textwrap", "threading", "timeit", "token", "tokenize", "tomllib",
    "torch", "torchgen", "tornado", "tqdm", "trace", "traceback", "tracemalloc",
    "traitlets", "triton", "tty", "types", "typing", "unittest", "urllib", "uu", "uuid",
    "warnings", "wave", "weakref", "webbrowser", "wsgiref", "xdrlib", "xml", "xmlrpc",
    "zipapp", "zipfile", "zipimport", "zoneinfo",
};
/* clang-format on */

static int compare(const void *name, const void *at)
{
	return strcmp(name, *(const char *const *)at);
}

bool sn_is_python_library(const char *file)
{
	char module[64];
	size_t length = strcspn(file, "/\\.");
	if (length == 0 || length >= sizeof(module))
		return false;
	memcpy(module, file, length);
	module[length] = '\0';
	return bsearch(module, names, sizeof(names) / sizeof(*names), sizeof(*names), compare);
}
