/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders with traces of the Common Trace Format: those with a file `metadata` that begins as such
 * files do, at any depth, as LTTng and Sonde lay them out.
 */
#ifndef SN_IMPORT_CTF_PROBE_H
#define SN_IMPORT_CTF_PROBE_H

#include "base/error.h"
#include "import/core/importer.h"

enum sn_ctf_kind {
	SN_CTF_ANY,
	SN_CTF_OWN,	/* Sonde's export, which holds all of it */
	SN_CTF_DERIVED, /* what Sonde wrote beside that for others */
};

struct sn_ctf_folders {
	char **paths; /* in order of their names; from malloc */
	enum sn_ctf_kind *kinds;
	size_t count, path_capacity, kind_capacity;
};

/* 0, or SN_ERR_MEMORY; release in either case. */
int sn_ctf_folders_find(struct sn_ctf_folders *folders, const char *path);
void sn_ctf_folders_release(struct sn_ctf_folders *folders);
bool sn_ctf_probe(const struct sn_import_input *input);

#endif
