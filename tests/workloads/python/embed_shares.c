/* SPDX-License-Identifier: Apache-2.0 */
/* A C program with an interpreter in it: embed_shares SCRIPT LIBRARY runs the script in
 * run_script(). */
#include <Python.h>

#include <stdio.h>

__attribute__((noinline)) int run_script(const char *path)
{
	FILE *file = fopen(path, "r");
	volatile int status = file ? PyRun_SimpleFileExFlags(file, path, 1, NULL) : 1;
	return status; /* volatile: the call above is not a tail call, so that this frame exists */
}

int main(int argc, char **argv)
{
	PyConfig config;
	PyConfig_InitPythonConfig(&config);
	PyConfig_SetBytesArgv(&config, argc, argv);
	config.parse_argv = 0;
	Py_InitializeFromConfig(&config);
	PyRun_SimpleString("import sys; sys.argv = sys.argv[1:]");
	int status = argc > 1 ? run_script(argv[1]) : 1;
	return Py_FinalizeEx() || status;
}
