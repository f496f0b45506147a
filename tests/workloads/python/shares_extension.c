/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An extension module of CPython with the functions of shares.c: alpha(seed), beta(seed), ..., and
 * through(callable, seed), which calls back into Python. For tests/cli/collect/test_shares.py.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define main unused_main
#include "../collect/shares.c"
#undef main

#define FUNCTION(name)                                                                             \
	static PyObject *call_##name(PyObject *module, PyObject *seed)                             \
	{                                                                                          \
		(void)module;                                                                      \
		unsigned long value = PyLong_AsUnsignedLongMask(seed);                             \
		if (PyErr_Occurred())                                                              \
			return NULL;                                                               \
		return PyLong_FromUnsignedLong(name(value));                                       \
	}
FUNCTION(alpha)
FUNCTION(beta)
FUNCTION(gamma_)
FUNCTION(delta)

static PyObject *through(PyObject *module, PyObject *arguments)
{
	PyObject *callable, *seed;
	(void)module;
	if (!PyArg_ParseTuple(arguments, "OO", &callable, &seed))
		return NULL;
	return PyObject_CallFunctionObjArgs(callable, seed, NULL);
}

static PyMethodDef methods[] = {
    {"alpha", call_alpha, METH_O, NULL},      {"beta", call_beta, METH_O, NULL},
    {"gamma_", call_gamma_, METH_O, NULL},    {"delta", call_delta, METH_O, NULL},
    {"through", through, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "shares_extension", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_shares_extension(void);
PyMODINIT_FUNC PyInit_shares_extension(void)
{
	return PyModule_Create(&module);
}
