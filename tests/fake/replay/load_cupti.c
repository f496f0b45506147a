/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording has of CUPTI. What its records point at is made to point into it. */
#include "cupti.h"

#include <stdlib.h>
#include <string.h>

static struct replay_cupti cupti;

const struct replay_cupti *replay_cupti(void)
{
	replay_recording();
	return &cupti;
}

void replay_load_begin(void)
{
	cupti.holder = "";
	for (uint32_t kind = 0; kind < REPLAY_KINDS; kind++)
		cupti.enabled[kind] = -1;
}

static void *fields_of(const struct recording_head *head)
{
	return (void *)(head + 1);
}

static size_t length_of(uint32_t kind)
{
	return kind < REPLAY_KINDS ? cupti.lengths[kind] : 0;
}

static void name_kernels(const struct recording_head *head)
{
	const struct recording_buffer *buffer = fields_of(head);
	uint8_t *bytes = (uint8_t *)(buffer + 1);
	size_t length, place = offsetof(struct sn_cupti_kernel, name);
	for (uint64_t at = 0; at + sizeof(uint32_t) <= buffer->valid; at += length) {
		uint32_t kind = *(uint32_t *)(bytes + at);
		length = length_of(kind);
		if (!length)
			return;
		bool is_kernel = kind == SN_CUPTI_KERNEL || kind == SN_CUPTI_CONCURRENT_KERNEL;
		if (!is_kernel || length < place + 8 || at + length > buffer->valid)
			continue;
		uint64_t *name = (uint64_t *)(bytes + at + place);
		*name = *name ? replay_string_at(*name) : 0;
	}
}

static void read_step(const struct recording_head *head)
{
	const struct recording_step *step = fields_of(head);
	const char *name = replay_text_of(head, sizeof(*step));
	if (!strcmp(name, "cuptiSubscribe"))
		cupti.subscribed = step->result;
	if (!strcmp(name, "cuptiUnsubscribe"))
		replay_phase = REPLAY_LATE;
	if (strcmp(name, "cuptiActivityFlushAll") || cupti.flushes == REPLAY_FLUSHES)
		return;
	if (!step->has_ended) {
		replay_phase = (enum replay_phase)(REPLAY_FLUSH + cupti.flushes);
		cupti.flushed[cupti.flushes] = -1;
	} else {
		cupti.flushed[cupti.flushes++] = step->result;
	}
}

static void read_fact(const char *text)
{
	if (!strncmp(text, "cupti.version=", 14))
		cupti.version = (uint32_t)strtoul(text + 14, NULL, 10);
	if (!strncmp(text, "cupti.holder=", 13))
		cupti.holder = text + 13;
}

static void read_name(const struct recording_head *head)
{
	const struct recording_name *name = fields_of(head);
	if (name->domain < REPLAY_DOMAINS && name->cbid < REPLAY_CBIDS)
		cupti.names[name->domain][name->cbid] = replay_text_of(head, sizeof(*name));
}

static void read_callback(const struct recording_head *head)
{
	struct recording_callback *call = fields_of(head);
	call->name = replay_string_at(call->name);
	call->symbol = call->symbol ? replay_string_at(call->symbol) : 0;
	if (call->domain < REPLAY_DOMAINS && call->cbid < REPLAY_CBIDS &&
	    replay_phase == REPLAY_RUNS)
		replay_add_event(head);
}

/* Of others it is not known what they told. */
static void read_resource(const struct recording_head *head)
{
	const struct recording_resource *resource = fields_of(head);
	bool is_context = resource->cbid == SN_CUPTI_CONTEXT_CREATED ||
			  resource->cbid == SN_CUPTI_CONTEXT_DESTROY_STARTING;
	if (is_context && replay_phase == REPLAY_RUNS)
		replay_add_event(head);
}

static void read_buffer(const struct recording_head *head)
{
	const struct recording_buffer *buffer = fields_of(head);
	if (buffer->valid > head->bytes - sizeof(*head) - sizeof(*buffer))
		replay_fail("a buffer is longer than its entry");
	name_kernels(head);
	replay_add_event(head);
}

void replay_load(struct recording_head *head)
{
	switch (head->kind) {
	case RECORDING_OF_fact:
		read_fact(replay_text_of(head, 0));
		break;
	case RECORDING_OF_name:
		read_name(head);
		break;
	case RECORDING_OF_enabled: {
		const struct recording_enabled *enabled = fields_of(head);
		if (enabled->kind < REPLAY_KINDS)
			cupti.enabled[enabled->kind] = enabled->result;
		break;
	}
	case RECORDING_OF_length: {
		const struct recording_length *length = fields_of(head);
		if (length->kind < REPLAY_KINDS)
			cupti.lengths[length->kind] = length->length;
		break;
	}
	case RECORDING_OF_step:
		read_step(head);
		break;
	case RECORDING_OF_callback:
		read_callback(head);
		break;
	case RECORDING_OF_node:
	case RECORDING_OF_module:
		if (replay_phase == REPLAY_RUNS)
			replay_add_event(head);
		break;
	case RECORDING_OF_resource:
		read_resource(head);
		break;
	case RECORDING_OF_buffer:
		read_buffer(head);
		break;
	default:
		break;
	}
	/* what was read in a callback can be read in it again: by the thread that is told */
	replay_load_samples(head, replay_last_event(head->thread));
}
