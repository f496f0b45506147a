/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the formats that know only a name for a frame call it: "train_step (train.py:42)" for
 * Python, the whole function name for native code.
 */
#ifndef SN_EXPORT_STACK_H
#define SN_EXPORT_STACK_H

#include "sonde/db.h"

#include <stddef.h>

void sn_stack_name(const struct sonde_db *db, uint32_t frame, char *text, size_t size);

#endif
