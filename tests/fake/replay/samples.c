/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI's functions of sampled instructions, which answer what was recorded. What was read in a callback can be read from that
 * callback on, and what was read when sampling ended when all has been told. A subscriber that reads less often gets several
 * answers in one; what it has not read comes when it disables, as with CUPTI.
 */
#include "cupti.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ERROR_PARAMETER 1
#define ERROR_OPERATION 2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Why nothing can be sampled in this replay: once. */
static void say(const char *why)
{
	static _Atomic bool was_said;
	if (!was_said)
		fprintf(stderr, "replay: '%s' %s\n", replay_recording()->path, why);
	was_said = true;
}

/* ---- sessions ---- */

static struct replay_session *open_session(const void *context)
{
	struct replay_session *session = replay_samples.sessions;
	while (session && (session->context != (uintptr_t)context || !session->has_begun ||
			   session->has_ended))
		session = session->next;
	return session;
}

sn_cupti_result cuptiPCSamplingEnable(struct sn_cupti_sampling *parameters);
sn_cupti_result cuptiPCSamplingEnable(struct sn_cupti_sampling *parameters)
{
	replay_recording();
	struct replay_session *session = replay_samples.sessions;
	if (!session) {
		say("has no samples of instructions: record.sh takes them with --samples");
		return SN_CUPTI_ERROR_NOT_SUPPORTED;
	}
	while (session &&
	       (session->context != (uintptr_t)parameters->context || session->has_begun))
		session = session->next;
	if (!session)
		return ERROR_PARAMETER;
	session->has_begun = true;
	session->has_ended = session->enabled;
	return session->enabled;
}

/* ---- reasons ---- */

sn_cupti_result cuptiPCSamplingGetNumStallReasons(struct sn_cupti_reason_count *parameters);
sn_cupti_result cuptiPCSamplingGetNumStallReasons(struct sn_cupti_reason_count *parameters)
{
	*parameters->count = replay_samples.reasons_there;
	return replay_samples.counted;
}

sn_cupti_result cuptiPCSamplingGetStallReasons(struct sn_cupti_reason_names *parameters);
sn_cupti_result cuptiPCSamplingGetStallReasons(struct sn_cupti_reason_names *parameters)
{
	if (parameters->count < replay_samples.reason_count)
		return ERROR_PARAMETER;
	for (uint32_t at = 0; at < replay_samples.reason_count; at++) {
		parameters->indices[at] = replay_samples.reasons[at];
		snprintf(parameters->names[at], SN_CUPTI_REASON_NAME_BYTES, "%s",
			 replay_samples.reason_names[at]);
	}
	return replay_samples.named;
}

/* ---- configuration ---- */

/* Samples that were taken otherwise cannot be had. */
static bool is_as_recorded(const struct replay_session *session, uint64_t mode, uint64_t period)
{
	char why[96], cycles[32] = "";
	if ((!session->mode || mode == session->mode) && (!period || period == session->period))
		return true;
	if (session->period)
		snprintf(cycles, sizeof(cycles), "@%llu", 1ull << session->period % 64);
	snprintf(why, sizeof(why), "has samples of the mode %s%s alone",
		 session->mode == SN_CUPTI_SERIALIZED ? "serialized" : "continuous", cycles);
	say(why);
	return false;
}

sn_cupti_result
cuptiPCSamplingSetConfigurationAttribute(struct sn_cupti_sampling_settings *parameters);
sn_cupti_result
cuptiPCSamplingSetConfigurationAttribute(struct sn_cupti_sampling_settings *parameters)
{
	struct replay_session *session = open_session(parameters->of.context);
	uint64_t mode = SN_CUPTI_CONTINUOUS, period = 0;
	if (!session)
		return ERROR_OPERATION;
	for (size_t at = 0; at < parameters->count; at++) {
		const struct sn_cupti_sampling_setting *setting = &parameters->settings[at];
		if (setting->key == SN_CUPTI_SAMPLING_MODE)
			mode = setting->number;
		if (setting->key == SN_CUPTI_SAMPLING_PERIOD)
			period = setting->number;
		if (setting->key == SN_CUPTI_SAMPLING_BUFFER)
			session->resting = setting->buffer;
	}
	if (session->configured)
		return session->configured;
	return is_as_recorded(session, mode, period) ? SN_CUPTI_SUCCESS : ERROR_PARAMETER;
}

/* ---- reading ---- */

static struct sn_cupti_pc *pc_at(const struct sn_cupti_samples *of, size_t index)
{
	return (struct sn_cupti_pc *)((uint8_t *)of->pcs + index * of->pcs->bytes);
}

/* As CUPTI wrote it to the recorder; how long a record is, the subscriber says. */
static void put_pc(struct sn_cupti_samples *to, const struct recording_samples *recorded,
		   uint64_t index)
{
	const uint8_t *rest = (const uint8_t *)(recorded + 1);
	const struct sn_cupti_pc *from =
	    (const struct sn_cupti_pc *)(rest + index * recorded->record_bytes);
	struct sn_cupti_pc *pc = pc_at(to, to->pc_count++);
	uint64_t at = (uintptr_t)from->reasons;
	size_t room = pc->reason_count;
	pc->crc = from->crc;
	pc->pc = from->pc;
	pc->function = from->function;
	pc->name = from->name;
	pc->reason_count = from->reason_count < room ? from->reason_count : room;
	if (to->pcs->bytes > SN_CUPTI_PC_FIRST_BYTES)
		pc->correlation =
		    recorded->record_bytes > SN_CUPTI_PC_FIRST_BYTES ? from->correlation : 0;
	/* a library whose records are longer has written over where they lie */
	if (at == RECORDING_NOWHERE)
		pc->reasons = NULL;
	else
		memcpy(pc->reasons, rest + at, pc->reason_count * sizeof(*pc->reasons));
}

/* Adds an answer, as far as there is room. True: all of it. */
static bool put(struct sn_cupti_samples *to, struct replay_answer *answer)
{
	const struct recording_samples *recorded = answer->recorded;
	if (!answer->given) {
		to->total += recorded->total;
		to->dropped += recorded->dropped;
		to->hidden += recorded->hidden;
	}
	while (answer->given < recorded->count && to->pc_count < to->most_pcs)
		put_pc(to, recorded, answer->given++);
	return answer->given == recorded->count;
}

static struct replay_answer *due_first(const struct replay_answers *answers)
{
	struct replay_answer *first = answers->first;
	return first && first->due <= replay_position() ? first : NULL;
}

/* Adds the answers that are due, until one has no room or is an error. */
static void put_due(struct sn_cupti_samples *to, struct replay_answers *answers)
{
	struct replay_answer *first = due_first(answers);
	while (first && !first->recorded->result && put(to, first)) {
		answers->first = first->next;
		first = due_first(answers);
	}
}

static size_t left_of(const struct replay_answers *answers)
{
	size_t left = 0;
	for (const struct replay_answer *at = due_first(answers);
	     at && at->due <= replay_position(); at = at->next)
		left += at->recorded->count - at->given;
	return left;
}

static bool can_hold(const struct sn_cupti_samples *samples)
{
	return samples && samples->pcs && samples->pcs->bytes >= SN_CUPTI_PC_FIRST_BYTES;
}

static sn_cupti_result read_due(struct replay_session *session, struct sn_cupti_samples *to)
{
	struct replay_answer *first = due_first(&session->read);
	if (can_hold(session->resting))
		put_due(session->resting, &session->aside);
	if (!first || !first->recorded->result) {
		put_due(to, &session->read);
		return SN_CUPTI_SUCCESS;
	}
	put(to, first);
	session->read.first = first->next;
	return first->recorded->result;
}

sn_cupti_result cuptiPCSamplingGetData(struct sn_cupti_sampling_read *parameters);
sn_cupti_result cuptiPCSamplingGetData(struct sn_cupti_sampling_read *parameters)
{
	struct replay_session *session = open_session(parameters->of.context);
	struct sn_cupti_samples *to = parameters->samples;
	if (!session || !can_hold(to) || to->pc_count)
		return session ? ERROR_PARAMETER : ERROR_OPERATION;
	while (session->hangs && replay_position() == UINT32_MAX)
		pause();
	to->total = to->dropped = to->hidden = 0;
	pthread_mutex_lock(&lock);
	sn_cupti_result result = read_due(session, to);
	to->left_count = left_of(&session->read);
	pthread_mutex_unlock(&lock);
	return result;
}

/* ---- the end ---- */

/* Those of an answer that had no room. */
static uint64_t rest_of(const struct replay_answer *answer)
{
	const struct recording_samples *recorded = answer->recorded;
	const uint8_t *rest = (const uint8_t *)(recorded + 1);
	uint64_t samples = 0;
	for (uint64_t index = answer->given; index < recorded->count; index++) {
		const struct sn_cupti_pc *pc =
		    (const struct sn_cupti_pc *)(rest + index * recorded->record_bytes);
		uint64_t at = (uintptr_t)pc->reasons;
		for (size_t of = 0; at != RECORDING_NOWHERE && of < pc->reason_count; of++)
			samples += ((const struct sn_cupti_reason *)(rest + at))[of].samples;
	}
	return samples;
}

/* What was not read, and what had no room there either, as dropped. */
static void put_aside(struct sn_cupti_samples *to, struct replay_answers *answers)
{
	for (struct replay_answer *first; (first = due_first(answers));
	     answers->first = first->next)
		if (!put(to, first))
			to->dropped += rest_of(first);
}

sn_cupti_result cuptiPCSamplingDisable(struct sn_cupti_sampling *parameters);
sn_cupti_result cuptiPCSamplingDisable(struct sn_cupti_sampling *parameters)
{
	struct replay_session *session = open_session(parameters->context);
	if (!session)
		return ERROR_OPERATION;
	while (session->disabled < 0)
		pause();
	pthread_mutex_lock(&lock);
	if (can_hold(session->resting)) {
		put_aside(session->resting, &session->read);
		put_aside(session->resting, &session->aside);
	}
	session->has_ended = true;
	pthread_mutex_unlock(&lock);
	return session->disabled;
}

/* ---- cubins ---- */

sn_cupti_result cuptiGetCubinCrc(struct sn_cupti_crc *parameters);
sn_cupti_result cuptiGetCubinCrc(struct sn_cupti_crc *parameters)
{
	const struct recording_module *module = replay_module_at(parameters->cubin);
	if (!module)
		return ERROR_PARAMETER;
	parameters->crc = module->crc;
	return module->result;
}
