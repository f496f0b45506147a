/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the probe's own files share.
 */
#ifndef PYTHON_PROBE_H
#define PYTHON_PROBE_H

/* Brings the module list up to date. Outside handlers. */
void probe_modules_read(void);

#endif
