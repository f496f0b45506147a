/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders with traces of the Common Trace Format: those with a file `metadata` that begins as such
 * files do, at any depth, as LTTng lays them out.
 */
#ifndef SN_IMPORT_CTF_PROBE_H
#define SN_IMPORT_CTF_PROBE_H

#include "base/error.h"
#include "import/core/importer.h"

struct sn_ctf_folders {
	char **paths; /* in order of their names; from malloc */
	size_t count, capacity;
};

/* 0, or SN_ERR_MEMORY; release in either case. */
int sn_ctf_folders_find(struct sn_ctf_folders *folders, const char *path);
void sn_ctf_folders_release(struct sn_ctf_folders *folders);
bool sn_ctf_probe(const struct sn_import_input *input);

#endif
