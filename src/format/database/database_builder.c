/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting what goes into a database; see database_writer.h. No order and no file here. */
#include "database_builder.h"
#include "statistics.h"

#include "format/secret.h"

#include "base/sort.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t sn_db_builder_fail(struct sn_db_builder *builder, enum sn_err code)
{
	if (!builder->failed)
		builder->failed = code;
	return SONDE_NONE;
}

struct sn_db_builder *sn_db_builder_new(void)
{
	struct sn_db_builder *builder = calloc(1, sizeof(*builder));
	if (!builder)
		return NULL;
	struct sn_db_context_key root = {SONDE_NONE, SONDE_NONE};
	if (sn_intern_add(&builder->contexts, &root, sizeof(root)) != 0)
		sn_db_builder_fail(builder, SN_ERR_MEMORY);
	builder->root_frame = SONDE_NONE;
	builder->threads = 1;
	sn_db_values_init(&builder->values);
	return builder;
}

void sn_db_builder_free(struct sn_db_builder *builder)
{
	if (!builder)
		return;
	sn_intern_release(&builder->strings);
	sn_intern_release(&builder->modules);
	sn_intern_release(&builder->frames);
	sn_intern_release(&builder->contexts);
	free(builder->metrics);
	sn_intern_release(&builder->metric_names);
	free(builder->profiles);
	free(builder->drops);
	free(builder->properties);
	sn_db_values_release(&builder->values);
	free(builder->formulas);
	sn_arena_release(&builder->texts);
	sn_graph_parts_release(&builder->graph);
	if (builder->events)
		builder->events->free(builder->events);
	free(builder);
}

static uint32_t intern(struct sn_db_builder *builder, struct sn_intern *table, const void *bytes,
		       size_t length)
{
	uint32_t number = sn_intern_add(table, bytes, length);
	return number == SN_INTERN_NONE ? sn_db_builder_fail(builder, SN_ERR_MEMORY) : number;
}

/* Strings are kept with their NUL, so that sn_db_builder_text can give them out. */
uint32_t sn_db_builder_string_n(struct sn_db_builder *builder, const char *text, size_t length)
{
	uint32_t number = sn_intern_add_text(&builder->strings, text, length);
	return number == SN_INTERN_NONE ? sn_db_builder_fail(builder, SN_ERR_MEMORY) : number;
}

uint32_t sn_db_builder_string(struct sn_db_builder *builder, const char *text)
{
	if (!text)
		return SONDE_NONE;
	return sn_db_builder_string_n(builder, text, strlen(text));
}

const char *sn_db_builder_text(const struct sn_db_builder *builder, uint32_t string)
{
	return string < builder->strings.count ? sn_intern_at(&builder->strings, string, NULL) : "";
}

uint32_t sn_db_builder_module(struct sn_db_builder *builder, const struct sonde_db_module *module)
{
	return intern(builder, &builder->modules, module, sizeof(*module));
}

uint32_t sn_db_builder_frame(struct sn_db_builder *builder, const struct sonde_db_frame *frame)
{
	return intern(builder, &builder->frames, frame, sizeof(*frame));
}

uint32_t sn_db_builder_named_frame(struct sn_db_builder *builder, unsigned kind, const char *name)
{
	struct sonde_db_frame frame = {
	    .kind = (uint8_t)kind,
	    .name = sn_db_builder_string(builder, name),
	    .linkage_name = SONDE_NONE,
	    .module = SONDE_NONE,
	    .file = SONDE_NONE,
	};
	return sn_db_builder_frame(builder, &frame);
}

void sn_db_builder_place_frames(struct sn_db_builder *builder, unsigned kind, sn_db_placer *place,
				void *context)
{
	for (uint32_t i = 0; i < builder->frames.count; i++) {
		/* the table finds it no more by what it is now, and need not */
		struct sonde_db_frame *frame = (void *)sn_intern_at(&builder->frames, i, NULL);
		if (frame->kind == kind)
			place(context, sn_db_builder_text(builder, frame->name), &frame->file,
			      &frame->line);
	}
}

void sn_db_builder_set_root(struct sn_db_builder *builder, uint32_t frame)
{
	if (frame < builder->frames.count)
		builder->root_frame = frame;
}

uint32_t sn_db_builder_context(struct sn_db_builder *builder, uint32_t parent, uint32_t frame)
{
	if (parent >= builder->contexts.count || frame >= builder->frames.count)
		return sn_db_builder_fail(builder, SN_ERR_ARGUMENT);
	struct sn_db_context_key key = {parent, frame};
	return intern(builder, &builder->contexts, &key, sizeof(key));
}

void sn_db_builder_set_threads(struct sn_db_builder *builder, unsigned threads)
{
	builder->threads = threads;
}

void sn_db_builder_set_events(struct sn_db_builder *builder, struct sn_db_events *events)
{
	builder->events = events;
}

uint32_t sn_db_builder_context_count(const struct sn_db_builder *builder)
{
	return builder->contexts.count;
}

bool sn_db_builder_context_at(const struct sn_db_builder *builder, uint32_t context,
			      uint32_t *parent, uint32_t *frame)
{
	struct sn_db_context_key key;
	if (!context || context >= builder->contexts.count)
		return false;
	memcpy(&key, sn_intern_at(&builder->contexts, context, NULL), sizeof(key));
	*parent = key.parent;
	*frame = key.frame;
	return true;
}

uint32_t sn_db_builder_find_metric(const struct sn_db_builder *builder, uint32_t name)
{
	return sn_intern_find(&builder->metric_names, &name, sizeof(name));
}

/* Which of two that have one name is kept: the same whichever came first. */
static bool comes_before(const struct sn_db_builder *builder, const struct sonde_db_metric *a,
			 const struct sonde_db_metric *b)
{
	int order = SN_ORDER_BY(a, b, kind, period)
			?: strcmp(sn_db_builder_text(builder, a->unit),
				  sn_db_builder_text(builder, b->unit))
			?: strcmp(sn_db_builder_text(builder, a->source),
				  sn_db_builder_text(builder, b->source));
	return order < 0;
}

uint32_t sn_db_builder_metric(struct sn_db_builder *builder, const struct sonde_db_metric *metric)
{
	uint32_t known = sn_db_builder_find_metric(builder, metric->name);
	if (known != SONDE_NONE) {
		if (comes_before(builder, metric, builder->metrics + known))
			builder->metrics[known] = *metric;
		return known;
	}
	if (intern(builder, &builder->metric_names, &metric->name, sizeof(metric->name)) ==
	    SONDE_NONE)
		return SONDE_NONE;
	return SN_DB_BUILDER_PUSH(builder, builder->metrics, builder->metric_count,
				  builder->metric_capacity, *metric);
}

uint32_t sn_db_builder_profile(struct sn_db_builder *builder,
			       const struct sonde_db_profile *profile)
{
	return SN_DB_BUILDER_PUSH(builder, builder->profiles, builder->profile_count,
				  builder->profile_capacity, *profile);
}

static void add_property(struct sn_db_builder *builder, const char *key, const char *value)
{
	struct sn_database_property property = {sn_db_builder_string(builder, key),
						sn_db_builder_string(builder, value)};
	for (size_t i = 0; i < builder->property_count; i++) {
		if (builder->properties[i].key == property.key) {
			builder->properties[i] = property;
			return;
		}
	}
	SN_DB_BUILDER_PUSH(builder, builder->properties, builder->property_count,
			   builder->property_capacity, property);
}

/* Whatever tells it: measurements of older versions and other tools' files have it as it was. */
static void add_command(struct sn_db_builder *builder, const char *command)
{
	/* each byte of it may become a mask */
	size_t bytes = strlen(command) * strlen(SN_SECRET_MASK) + 1;
	char *masked = malloc(bytes);
	if (!masked) {
		sn_db_builder_fail(builder, SN_ERR_MEMORY);
		return;
	}
	sn_secret_mask_line(command, masked, bytes);
	add_property(builder, "command", masked);
	free(masked);
}

void sn_db_builder_property(struct sn_db_builder *builder, const char *key, const char *value)
{
	if (value && !strcmp(key, "command"))
		add_command(builder, value);
	else
		add_property(builder, key, value);
}

void sn_db_builder_property_number(struct sn_db_builder *builder, const char *key, int64_t value)
{
	char digits[32];
	snprintf(digits, sizeof(digits), "%" PRId64, value);
	add_property(builder, key, digits);
}

void sn_db_builder_formula(struct sn_db_builder *builder, const char *name, const char *text)
{
	for (size_t i = 0; i < builder->formula_count; i++)
		if (!strcmp(builder->formulas[i].name, name) &&
		    !strcmp(builder->formulas[i].text, text))
			return;
	struct sn_database_formula formula = {sn_arena_text(&builder->texts, name),
					      sn_arena_text(&builder->texts, text)};
	if (builder->texts.failed)
		sn_db_builder_fail(builder, SN_ERR_MEMORY);
	else
		SN_DB_BUILDER_PUSH(builder, builder->formulas, builder->formula_count,
				   builder->formula_capacity, formula);
}

void sn_db_builder_drop(struct sn_db_builder *builder, const char *cause, const char *text,
			uint64_t count)
{
	struct sonde_db_drop drop = {sn_db_builder_string(builder, cause),
				     sn_db_builder_string(builder, text), count};
	for (size_t i = 0; i < builder->drop_count; i++) {
		if (builder->drops[i].cause == drop.cause) {
			builder->drops[i].count += count;
			return;
		}
	}
	SN_DB_BUILDER_PUSH(builder, builder->drops, builder->drop_count, builder->drop_capacity,
			   drop);
}

bool sn_db_builder_drop_at(const struct sn_db_builder *builder, size_t number, const char **cause,
			   const char **text, uint64_t *count)
{
	if (number >= builder->drop_count)
		return false;
	const struct sonde_db_drop *drop = builder->drops + number;
	*cause = sn_db_builder_text(builder, drop->cause);
	*text = sn_db_builder_text(builder, drop->text);
	*count = drop->count;
	return true;
}

void sn_db_builder_value(struct sn_db_builder *builder, uint32_t profile, uint32_t context,
			 uint32_t metric, const struct sonde_db_stat *stat)
{
	struct sonde_db_stat kept = *stat;
	if (profile >= builder->profile_count || context >= builder->contexts.count ||
	    metric >= builder->metric_count || !sn_stat_bound(&kept))
		sn_db_builder_fail(builder, SN_ERR_ARGUMENT);
	else if (sn_db_values_add(&builder->values,
				  &(struct sn_db_value){profile, metric, context, kept}))
		sn_db_builder_fail(builder, SN_ERR_MEMORY);
}
