/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording has of modules and samples of instructions. Names that its instructions point at are made to point into it. */
#include "cupti.h"

#include <string.h>

struct replay_samples replay_samples;

/* Those of which the bytes are there, the last one first. */
static struct module {
	const struct recording_module *recorded;
	struct module *next;
} * modules;

/* ---- modules ---- */

static void read_module(const struct recording_head *head)
{
	const struct recording_module *recorded = (const struct recording_module *)(head + 1);
	if (recorded->held > replay_rest_of(head, sizeof(*recorded)) ||
	    (recorded->held && recorded->held != recorded->size))
		replay_fail("a module is longer than its entry");
	if (!recorded->held)
		return;
	struct module *module = replay_new(sizeof(*module));
	*module = (struct module){recorded, modules};
	modules = module;
}

const void *replay_cubin(const struct recording_module *of)
{
	if (of->is_unloaded)
		return NULL;
	for (const struct module *module = modules; module; module = module->next)
		if (module->recorded->crc == of->crc && module->recorded->size == of->size)
			return module->recorded + 1;
	return NULL;
}

const struct recording_module *replay_module_at(const void *cubin)
{
	const struct module *module = modules;
	while (module && module->recorded + 1 != cubin)
		module = module->next;
	return module ? module->recorded : NULL;
}

/* ---- contexts that are sampled ---- */

/* The context's last; NULL. */
static struct replay_session *session_of(uint64_t context)
{
	struct replay_session *found = NULL;
	for (struct replay_session *session = replay_samples.sessions; session;
	     session = session->next)
		found = session->context == context ? session : found;
	return found;
}

static void add_session(uint64_t context, int32_t enabled)
{
	struct replay_session **last = &replay_samples.sessions;
	struct replay_session *session = replay_new(sizeof(*session));
	*session = (struct replay_session){.context = context, .enabled = enabled};
	while (*last)
		last = &(*last)->next;
	*last = session;
}

static void read_sampling(const struct recording_head *head)
{
	const struct recording_sampling *call = (const struct recording_sampling *)(head + 1);
	const char *name = replay_text_of(head, sizeof(*call));
	if (!strcmp(name, "cuptiPCSamplingEnable"))
		add_session(call->context, call->result);
	if (call->value > REPLAY_REASONS)
		replay_fail("it has too many reasons");
	if (!strcmp(name, "cuptiPCSamplingGetNumStallReasons")) {
		replay_samples.counted = call->result;
		replay_samples.reasons_there = call->value;
	}
	if (!strcmp(name, "cuptiPCSamplingGetStallReasons"))
		replay_samples.named = call->result;
	struct replay_session *session = session_of(call->context);
	if (session && !strcmp(name, "cuptiPCSamplingSetConfigurationAttribute"))
		session->configured = call->result;
	if (session && !strcmp(name, "cuptiPCSamplingGetData"))
		session->hangs = !call->has_ended;
	if (session && !strcmp(name, "cuptiPCSamplingDisable"))
		session->disabled = call->has_ended ? call->result : -1;
}

static void read_setting(const struct recording_head *head)
{
	const struct recording_setting *setting = (const struct recording_setting *)(head + 1);
	struct replay_session *session = session_of(setting->context);
	if (session && setting->key == SN_CUPTI_SAMPLING_MODE)
		session->mode = setting->value;
	if (session && setting->key == SN_CUPTI_SAMPLING_PERIOD)
		session->period = setting->value;
}

static void read_reason(const struct recording_head *head)
{
	const struct recording_reason *reason = (const struct recording_reason *)(head + 1);
	if (replay_samples.reason_count == REPLAY_REASONS)
		replay_fail("it has too many reasons");
	replay_samples.reasons[replay_samples.reason_count] = reason->index;
	replay_samples.reason_names[replay_samples.reason_count++] =
	    replay_text_of(head, sizeof(*reason));
}

/* ---- samples ---- */

/* The reasons of an instruction lie within what follows the fields, and its name is the recording's. */
static void check_pc(struct sn_cupti_pc *pc, size_t bytes)
{
	uint64_t at = (uintptr_t)pc->reasons;
	pc->name = pc->name ? (char *)(uintptr_t)replay_string_at((uintptr_t)pc->name) : NULL;
	if (at != RECORDING_NOWHERE &&
	    (at > bytes || at % 4 || pc->reason_count > (bytes - at) / sizeof(*pc->reasons)))
		replay_fail("an instruction's reasons are outside of its entry");
}

static void read_samples(const struct recording_head *head, uint32_t due)
{
	struct recording_samples *recorded = (struct recording_samples *)(head + 1);
	size_t bytes = replay_rest_of(head, sizeof(*recorded)), length = recorded->record_bytes;
	struct replay_session *session = session_of(recorded->context);
	if (recorded->count &&
	    (length < SN_CUPTI_PC_FIRST_BYTES || length % 8 || recorded->count > bytes / length))
		replay_fail("samples are longer than their entry");
	for (uint64_t index = 0; index < recorded->count; index++)
		check_pc((struct sn_cupti_pc *)((uint8_t *)(recorded + 1) + index * length), bytes);
	if (!session)
		return;
	session->hangs = session->hangs && recorded->is_put_aside;
	struct replay_answers *answers = recorded->is_put_aside ? &session->aside : &session->read;
	struct replay_answer *answer = replay_new(sizeof(*answer));
	*answer = (struct replay_answer){.recorded = recorded, .due = due};
	if (answers->last)
		answers->last->next = answer;
	else
		answers->first = answer;
	answers->last = answer;
}

void replay_load_samples(const struct recording_head *head, uint32_t due)
{
	switch (head->kind) {
	case RECORDING_OF_module:
		read_module(head);
		break;
	case RECORDING_OF_sampling:
		read_sampling(head);
		break;
	case RECORDING_OF_setting:
		read_setting(head);
		break;
	case RECORDING_OF_reason:
		read_reason(head);
		break;
	case RECORDING_OF_samples:
		read_samples(head, due);
		break;
	default:
		break;
	}
}
