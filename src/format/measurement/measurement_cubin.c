/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code of devices that the collector keeps in the measurement folder (CRC.sonde-cubin). The collector wrote where that was;
 * a folder that was moved, or that another machine reads, has it beside the measurement (measurement_reader.h).
 */
#include "measurement_reader.h"

#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where a module's cubin lies now, terminated, if that is not where it was; false for all others. */
static bool find_moved(const struct sn_measurement *measurement, uint32_t module, const char *path,
		       char found[PATH_MAX])
{
	char was[PATH_MAX], beside[2 * PATH_MAX];
	size_t length;
	const char *text = sn_measurement_string(&measurement->strings,
						 measurement->modules[module].path, &length);
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash + 1 - path) : 0;
	if (!text || length >= sizeof(was))
		return false;
	memcpy(was, text, length);
	was[length] = 0;
	if (!sn_text_ends(was, SN_CUBIN_FILE_SUFFIX) || !access(was, R_OK))
		return false;
	return snprintf(beside, sizeof(beside), "%.*s%s", folder, path, sn_text_base_name(was)) <
		   (int)sizeof(beside) &&
	       realpath(beside, found);
}

/* One more string, in copies of the tables. */
static int add_string(struct sn_measurement *measurement, const char *text, uint32_t *number)
{
	struct sn_measurement_strings *strings = &measurement->strings;
	uint32_t count = strings->count;
	size_t length = strlen(text), end = count ? strings->offsets[count] : 0;
	uint32_t *offsets =
	    sn_measurement_copy(measurement, strings->offsets, count ? count + 1ull : 0, 2);
	char *bytes = sn_measurement_copy(measurement, strings->bytes, end, length);
	if (measurement->arena.failed)
		return SN_ERR_MEMORY;
	memcpy(bytes + end, text, length);
	offsets[count + 1] = (uint32_t)(end + length);
	*strings = (struct sn_measurement_strings){count + 1, offsets, bytes};
	*number = count;
	return 0;
}

int sn_measurement_use_cubins(struct sn_measurement *measurement, const char *path)
{
	char found[PATH_MAX];
	for (uint32_t i = 0; i < measurement->module_count; i++) {
		uint32_t number;
		if (!find_moved(measurement, i, path, found))
			continue;
		if (add_string(measurement, found, &number) < 0)
			return SN_ERR_MEMORY;
		/* they lie in the copy of the file that the measurement owns */
		((struct sn_module_record *)measurement->modules)[i].path = number;
	}
	return 0;
}
