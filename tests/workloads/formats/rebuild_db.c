/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives everything that a database says to a builder, in the reverse order where it can, and writes
 * it anew: what sn_db_builder_write makes of it and what analysis made must be the same. Usage:
 * rebuild-db DB OUT.sdb
 */
#include "format/database/database_writer.h"

#include <stdio.h>
#include <stdlib.h>

struct copying {
	const struct sonde_db *db;
	struct sn_db_builder *builder;
	uint32_t *modules, *frames, *contexts, *metrics; /* the builder's numbers */
};

static uint32_t text(const struct copying *copying, uint32_t string)
{
	if (string == SONDE_NONE)
		return SONDE_NONE;
	return sn_db_builder_string_n(copying->builder, sonde_db_string(copying->db, string),
				      sonde_db_string_length(copying->db, string));
}

static uint32_t *numbers(uint32_t count)
{
	uint32_t *made = calloc(count + 1ull, sizeof(*made));
	if (!made)
		abort();
	return made;
}

static void copy_frames(struct copying *copying)
{
	uint32_t modules = sonde_db_module_count(copying->db);
	uint32_t frames = sonde_db_frame_count(copying->db);
	copying->modules = numbers(modules);
	copying->frames = numbers(frames);
	for (uint32_t i = modules; i--;) {
		struct sonde_db_module module = *sonde_db_module(copying->db, i);
		module.path = text(copying, module.path);
		module.build_id = text(copying, module.build_id);
		copying->modules[i] = sn_db_builder_module(copying->builder, &module);
	}
	for (uint32_t i = frames; i--;) {
		struct sonde_db_frame frame = *sonde_db_frame(copying->db, i);
		frame.name = text(copying, frame.name);
		frame.linkage_name = text(copying, frame.linkage_name);
		frame.file = text(copying, frame.file);
		if (frame.module != SONDE_NONE)
			frame.module = copying->modules[frame.module];
		copying->frames[i] = sn_db_builder_frame(copying->builder, &frame);
	}
}

static void copy_contexts(struct copying *copying)
{
	uint32_t count = sonde_db_context_count(copying->db);
	copying->contexts = numbers(count);
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_db_context *context = sonde_db_context(copying->db, i);
		uint32_t frame = copying->frames[context->frame];
		if (i)
			copying->contexts[i] = sn_db_builder_context(
			    copying->builder, copying->contexts[context->parent], frame);
		else
			sn_db_builder_set_root(copying->builder, frame);
	}
}

static void copy_metrics(struct copying *copying)
{
	uint32_t count = sonde_db_metric_count(copying->db);
	copying->metrics = numbers(count);
	for (uint32_t i = count; i--;) {
		struct sonde_db_metric metric = *sonde_db_metric(copying->db, i);
		metric.name = text(copying, metric.name);
		metric.unit = text(copying, metric.unit);
		metric.source = text(copying, metric.source);
		copying->metrics[i] = sn_db_builder_metric(copying->builder, &metric);
	}
}

/* Its values from rows: not from the planes that they are compared with. */
static void copy_values(struct copying *copying, const uint32_t *profiles)
{
	for (uint32_t c = sonde_db_context_count(copying->db); c--;)
		for (uint32_t m = sonde_db_metric_count(copying->db); m--;) {
			struct sonde_db_plane row = sonde_db_context_row(copying->db, c, m);
			for (size_t i = row.count; i--;) {
				struct sonde_db_stat stat;
				sonde_db_plane_stat(&row, i, &stat);
				sn_db_builder_value(copying->builder, profiles[row.ids[i]],
						    copying->contexts[c], copying->metrics[m],
						    &stat);
			}
		}
}

static uint32_t *copy_profiles(struct copying *copying)
{
	uint32_t count = sonde_db_profile_count(copying->db);
	uint32_t *profiles = numbers(count);
	for (uint32_t i = count; i--;) {
		struct sonde_db_profile profile = *sonde_db_profile(copying->db, i);
		profile.host = text(copying, profile.host);
		profile.program = text(copying, profile.program);
		profile.thread = text(copying, profile.thread);
		profiles[i] = sn_db_builder_profile(copying->builder, &profile);
	}
	return profiles;
}

static void copy_rest(struct copying *copying)
{
	const struct sonde_db *db = copying->db;
	for (uint32_t i = sonde_db_property_count(db); i--;)
		sn_db_builder_property(copying->builder, sonde_db_property_key(db, i),
				       sonde_db_property_value(db, i));
	for (uint32_t i = sonde_db_drop_count(db); i--;) {
		const struct sonde_db_drop *drop = sonde_db_drop(db, i);
		sn_db_builder_drop(
		    copying->builder, sonde_db_string(db, drop->cause),
		    drop->text == SONDE_NONE ? NULL : sonde_db_string(db, drop->text), drop->count);
	}
}

static int rebuild(const struct sonde_db *db, const char *path)
{
	struct copying copying = {.db = db, .builder = sn_db_builder_new()};
	struct sn_error error = {""};
	copy_frames(&copying);
	copy_contexts(&copying);
	copy_metrics(&copying);
	uint32_t *profiles = copy_profiles(&copying);
	copy_values(&copying, profiles);
	copy_rest(&copying);
	int result = sn_db_builder_write(copying.builder, path, &error);
	if (result)
		fprintf(stderr, "rebuild-db: %s\n", error.text);
	sn_db_builder_free(copying.builder);
	free(copying.modules);
	free(copying.frames);
	free(copying.contexts);
	free(copying.metrics);
	free(profiles);
	return result;
}

int main(int argc, char **argv)
{
	struct sonde_db *db;
	struct sonde_db_error why;
	if (argc != 3 || sonde_db_open(argv[1], &db, &why))
		return 128;
	bool is_good = !rebuild(db, argv[2]) && !sonde_db_damage(db);
	sonde_db_close(db);
	return is_good ? 0 : 128;
}
