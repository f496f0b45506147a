/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that runs Python inside itself, from a libpython that it opens with local symbols
 * (argument: its path) or was linked with (no argument). With the probe preloaded, a function that
 * Python calls returns the frames the probe reads, and the Python code compares them with its own.
 * The interpreter is finalised and started again in between.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct object object;

static void (*initialize)(int);
static int (*finalize)(void);
static int (*run_string)(const char *);
static object *(*import_module)(const char *);
static int (*add_object)(object *, const char *, object *);
static object *(*new_function)(void *, object *, object *);
static object *(*new_text)(const char *);
static const char *(*probe_raise)(int);
static int (*probe_attach)(void);
static const char *(*probe_status)(void);

#ifdef COPY_RELOCATION
/* Makes the linker place these objects of libpython in this program. */
extern char PyUnicode_Type[], PyCode_Type[];
static const void *volatile copied[2];
#endif

static object *look(object *self, object *unused)
{
	return new_text(probe_raise(SIGUSR1));
}

/* PyMethodDef */
static struct {
	const char *name;
	void *function;
	int flags;
	const char *text;
} method = {"look", look, 4 /* METH_NOARGS */, NULL};

static void *need(void *library, const char *name)
{
	void *address = dlsym(library, name);

	if (!address) {
		fprintf(stderr, "no %s\n", name);
		exit(2);
	}
	return address;
}

static void load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

#ifdef COPY_RELOCATION
	copied[0] = PyUnicode_Type;
	copied[1] = PyCode_Type;
#endif
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	initialize = need(library, "Py_InitializeEx");
	finalize = need(library, "Py_FinalizeEx");
	run_string = need(library, "PyRun_SimpleString");
	import_module = need(library, "PyImport_AddModule");
	add_object = need(library, "PyModule_AddObject");
	new_function = need(library, "PyCFunction_NewEx");
	new_text = need(library, "PyUnicode_FromString");
	probe_raise = need(RTLD_DEFAULT, "probe_raise");
	probe_attach = need(RTLD_DEFAULT, "probe_attach");
	probe_status = need(RTLD_DEFAULT, "probe_status");
	((void (*)(int))need(RTLD_DEFAULT, "probe_install"))(SIGUSR1);
}

static const char program[] =
    "import sys\n"
    "def truth(f):\n"
    "    out = []\n"
    "    while f:\n"
    "        c = f.f_code\n"
    "        out.append((c.co_filename, getattr(c, 'co_qualname', c.co_name),\n"
    "                    c.co_firstlineno, f.f_lineno))\n"
    "        f = f.f_back\n"
    "    return out\n"
    "def parse(t):\n"
    "    rows = [l.split('\\t') for l in t.splitlines()]\n"
    "    return [(r[0], r[1], int(r[2]), int(r[3])) for r in rows]\n"
    "def inner(x):\n"
    "    found, expected = look(), truth(sys._getframe())\n"
    "    print('same' if parse(found) == expected else 'different %r %r' % (found, expected),\n"
    "          len(expected), flush=True)\n"
    "    return x\n"
    "def outer():\n"
    "    return sorted([1], key=inner)\n"
    "outer()\n"
    "def g():\n"
    "    yield outer()\n"
    "list(g())\n";

int main(int argc, char **argv)
{
	int failed = 0;

	load(argc > 1 ? argv[1] : NULL);
	probe_attach();
	for (int i = 0; i < 2; i++) {
		initialize(0);
		object *module = import_module("__main__");
		add_object(module, "look", new_function(&method, NULL, NULL));
		failed |= run_string(program);
		finalize();
		if (probe_raise(SIGUSR1)[0]) {
			printf("frames where Python does not run\n");
			failed = 1;
		}
	}
	printf("%s\n", probe_status());
	return failed != 0;
}
