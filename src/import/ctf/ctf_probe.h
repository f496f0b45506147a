/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds folders with traces of the Common Trace Format, nested ones too: those with a file
 * `metadata` that begins as the format says. LTTng writes one folder per domain and user.
 */
#pragma once

#include "import/core/import_files.h"

/* In order of their names. 0, or SN_ERR_MEMORY; release in either case. */
int sn_ctf_folders_find(struct sn_import_files *folders, const char *path);
bool sn_ctf_probe(const struct sn_import_input *input);
