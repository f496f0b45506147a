/* SPDX-License-Identifier: Apache-2.0 */
/* What all steps of an analysis share; see pipeline.h. */
#include "pipeline.h"

#include <stdarg.h>
#include <stdio.h>

int sn_pipeline_fail(struct sn_pipeline *pipeline, int code, const char *format, ...)
{
	va_list arguments;
	pthread_mutex_lock(&pipeline->mutex);
	if (!pipeline->has_failed) {
		va_start(arguments, format);
		vsnprintf(pipeline->error->text, sizeof(pipeline->error->text), format, arguments);
		va_end(arguments);
	}
	pipeline->has_failed = true;
	pthread_mutex_unlock(&pipeline->mutex);
	return code;
}

int sn_pipeline_out_of_memory(struct sn_pipeline *pipeline)
{
	return sn_pipeline_fail(pipeline, SN_ERR_MEMORY, "out of memory");
}
