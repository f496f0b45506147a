/* SPDX-License-Identifier: Apache-2.0 */
/* What a builder holds, into a file: the writer's work (format/writer) for one process. */
#include "database_builder.h"

#include "format/measurement/measurement.h"
#include "format/writer/writer.h"

void sn_db_builder_share(struct sn_db_builder *builder)
{
	builder->is_shared = true;
}

void sn_db_builder_set_complete(struct sn_db_builder *builder,
				int (*complete)(void *context, const char *path), void *context)
{
	builder->complete = complete;
	builder->complete_context = context;
}

static int write_ordered(struct sn_db_builder *builder, struct sn_db_ordered *ordered,
			 const char *path, struct sn_error *error)
{
	struct sn_db_writer writer;
	sn_db_writer_init(&writer, path, error);
	writer.threads = builder->threads;
	writer.is_shared = builder->is_shared;
	writer.complete = builder->complete;
	writer.complete_context = builder->complete_context;
	int result = sn_db_writer_open(&writer);
	if (!result)
		result = sn_db_writer_describe(&writer, builder, ordered);
	if (!result)
		result = sn_db_values_write(&builder->values, builder, ordered, &writer);
	if (!result)
		result = sn_db_writer_finish(&writer);
	sn_db_writer_release(&writer);
	return result;
}

int sn_db_builder_write(struct sn_db_builder *builder, const char *path, struct sn_error *error)
{
	struct sn_db_ordered ordered = {0};
	if (builder->root_frame == SONDE_NONE)
		sn_db_builder_set_root(builder,
				       sn_db_builder_named_frame(builder, SN_FRAME_THREAD, ""));
	int result = builder->failed ? builder->failed : sn_db_order(builder, &ordered);
	if (result)
		sn_fail(error, result, "cannot write '%s': %s", path,
			result == SN_ERR_MEMORY ? "out of memory"
						: "a value or path refers to nothing");
	else
		result = write_ordered(builder, &ordered, path, error);
	sn_db_ordered_release(&ordered);
	return result;
}
