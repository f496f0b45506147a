/* SPDX-License-Identifier: Apache-2.0 */
/* The list of exporters. */
#include "exporter.h"

#include <stddef.h>

#define SN_EXPORTER(name) extern const struct sn_exporter sn_exporter_##name;
#include "exporters.def"
#undef SN_EXPORTER

const struct sn_exporter *const sn_exporters[] = {
#define SN_EXPORTER(name) &sn_exporter_##name,
#include "exporters.def"
#undef SN_EXPORTER
    NULL};
