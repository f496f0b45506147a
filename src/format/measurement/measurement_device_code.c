/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code of devices that the collector keeps in the measurement folder. The collector wrote where that was;
 * a folder that was moved, or that another machine reads, has it beside the measurement (measurement_reader.h).
 */
#include "measurement_reader.h"

#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where a module's code lies now, terminated, if that is not where it was; false for all others. */
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
	bool is_kept = sn_text_ends(was, SN_CUBIN_FILE_SUFFIX) ||
		       sn_text_ends(was, SN_CODE_OBJECT_FILE_SUFFIX);
	if (!is_kept || !access(was, R_OK))
		return false;
	return snprintf(beside, sizeof(beside), "%.*s%s", folder, path, sn_text_base_name(was)) <
		   (int)sizeof(beside) &&
	       realpath(beside, found);
}

/* The tables of strings, in copies with room for more. */
struct room {
	uint32_t *offsets;
	char *bytes;
	uint32_t count; /* that may come */
	size_t left;	/* of their bytes */
};

static int make_room(struct sn_measurement *measurement, struct room *room)
{
	struct sn_measurement_strings *strings = &measurement->strings;
	uint32_t count = strings->count;
	size_t end = count ? strings->offsets[count] : 0;
	room->offsets = sn_measurement_copy(measurement, strings->offsets, count ? count + 1ull : 0,
					    room->count + 1ull);
	room->bytes = sn_measurement_copy(measurement, strings->bytes, end, room->left);
	if (measurement->arena.failed)
		return SN_ERR_MEMORY;
	*strings = (struct sn_measurement_strings){count, room->offsets, room->bytes};
	return 0;
}

static uint32_t add_string(struct sn_measurement *measurement, struct room *room, const char *text)
{
	uint32_t number = measurement->strings.count++;
	size_t length = strlen(text), end = number ? room->offsets[number] : 0;
	memcpy(room->bytes + end, text, length);
	room->offsets[number + 1] = (uint32_t)(end + length);
	room->count--;
	room->left -= length;
	return number;
}

int sn_measurement_use_device_code(struct sn_measurement *measurement, const char *path)
{
	char found[PATH_MAX];
	struct room room = {0};
	for (uint32_t i = 0; i < measurement->module_count; i++)
		if (find_moved(measurement, i, path, found)) {
			room.count++;
			room.left += strlen(found);
		}
	if (room.count && make_room(measurement, &room) < 0)
		return SN_ERR_MEMORY;
	/* one that has come meanwhile has no room */
	for (uint32_t i = 0; i < measurement->module_count && room.count; i++)
		if (find_moved(measurement, i, path, found) && strlen(found) <= room.left)
			/* they lie in the copy of the file that the measurement owns */
			((struct sn_module_record *)measurement->modules)[i].path =
			    add_string(measurement, &room, found);
	return 0;
}
