/* SPDX-License-Identifier: Apache-2.0 */
/* Names of frames in other tools; see stack.h. */
#include "stack.h"

#include "format/measurement.h"
#include "report/label.h"
#include "report/utf8.h"

#include <stdio.h>
#include <string.h>

void sn_stack_name(const struct sonde_db *db, uint32_t id, char *text, size_t size)
{
	const struct sonde_db_frame *frame = sonde_db_frame(db, id);
	const char *raw = sonde_db_string(db, frame->name);
	char label[SN_LABEL_CHARS];
	if (*raw == '\0') {
		sn_label_name(db, SN_GROUP_AUTO, id, label);
		snprintf(text, size, "%s", label);
		return;
	}
	sn_utf8_clean(raw, text, size);
	size_t used = strlen(text);
	if (frame->kind == SN_FRAME_PYTHON && frame->file != SONDE_NONE) {
		char file[512];
		const char *base = sn_label_base(sonde_db_string(db, frame->file));
		sn_utf8_clean(base, file, sizeof(file));
		uint32_t line = frame->line ? frame->line : frame->function_line;
		snprintf(text + used, size - used, " (%s:%u)", file, line);
	} else if (frame->flags & SN_FRAME_BACKWARD) {
		snprintf(text + used, size - used, " (backward)");
	}
}
