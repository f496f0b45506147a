/* SPDX-License-Identifier: Apache-2.0 */
/* The importer of CTF in a build without libbabeltrace2: it recognises traces and refuses them
 * with that reason. */
#include "ctf_probe.h"

static int read_all(const struct sn_import_request *request, struct sn_db_builder *builder,
		    struct sn_error *error)
{
	return sn_fail(
	    error, SN_ERR_UNSUPPORTED,
	    "cannot read '%s': this Sonde is built without babeltrace2 (libbabeltrace2-dev)",
	    request->paths[0]);
}

const struct sn_importer sn_importer_ctf = {
    .name = "ctf",
    .probe = sn_ctf_probe,
    .read = read_all,
};
