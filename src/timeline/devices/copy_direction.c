/* SPDX-License-Identifier: Apache-2.0 */
/* See copy_direction.h. */
#include "copy_direction.h"

#include "frame/context_frame.h"

#include <string.h>

const char *sn_copy_direction_name(enum sn_copy_direction direction)
{
	static const char *const names[SN_COPY_DIRECTIONS] = {
	    [SN_COPY_TO_DEVICE] = "host to device",   [SN_COPY_TO_HOST] = "device to host",
	    [SN_COPY_ON_DEVICE] = "device to device", [SN_COPY_BETWEEN_DEVICES] = "between devices",
	    [SN_COPY_ON_HOST] = "host to host",	      [SN_COPY_UNKNOWN] = "not known",
	};
	return names[direction];
}

/* "Memcpy HtoD (Pinned -> Device)", "MEMORY_COPY_HOST_TO_DEVICE", our own "copy host->device". */
enum sn_copy_direction sn_copy_direction(const struct sonde_db *db, uint32_t context)
{
	static const struct {
		const char *part;
		enum sn_copy_direction direction;
	} parts[] = {{"HtoD", SN_COPY_TO_DEVICE},
		     {"HOST_TO_DEVICE", SN_COPY_TO_DEVICE},
		     {"DtoH", SN_COPY_TO_HOST},
		     {"DEVICE_TO_HOST", SN_COPY_TO_HOST},
		     {"DtoD", SN_COPY_ON_DEVICE},
		     {"DEVICE_TO_DEVICE", SN_COPY_ON_DEVICE},
		     {"PtoP", SN_COPY_BETWEEN_DEVICES},
		     {"HtoH", SN_COPY_ON_HOST},
		     {"HOST_TO_HOST", SN_COPY_ON_HOST},
		     {"Host-to-Device", SN_COPY_TO_DEVICE},
		     {"Device-to-Host", SN_COPY_TO_HOST},
		     {"Device-to-Device", SN_COPY_ON_DEVICE},
		     {"Peer-to-Peer", SN_COPY_BETWEEN_DEVICES},
		     {"host->device", SN_COPY_TO_DEVICE},
		     {"device->host", SN_COPY_TO_HOST},
		     {"device->device", SN_COPY_ON_DEVICE},
		     {"write", SN_COPY_TO_DEVICE},
		     {"read", SN_COPY_TO_HOST},
		     {"Write", SN_COPY_TO_DEVICE},
		     {"Read", SN_COPY_TO_HOST},
		     {"copy", SN_COPY_ON_DEVICE}};
	const char *name = sn_context_name(db, context);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strstr(name, parts[i].part))
			return parts[i].direction;
	return SN_COPY_UNKNOWN;
}
