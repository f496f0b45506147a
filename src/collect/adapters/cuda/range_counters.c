/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of kernels, by CUPTI's range profiler. Each call that launches is a range of its own, which begins when the call is entered and
 * ends when it is left, with a name that tells its place among those that CUPTI has not been asked for yet. CUPTI runs what ranges enclose
 * one after the other, once. If a function fails, counting ends, and all else goes on.
 */
#include "range_counters.h"

#include "collect/core/line.h"
#include "collect/core/lock.h"
#include "counter_list.h"
#include "cupti_samples.h"

#include <string.h>

#define CONTEXTS   16u
#define RANGES	   256u /* until they are read */
#define MOST_BYTES (16u << 20)
#define CLAIM_NS   2000000000u /* so long is waited for others */
#define END_NS	   1000000000u /* when the program ends: attach.c gives CUPTI up after two seconds */
#define CALLS	   1024u
#define NAME_BYTES 8u
#define STATUS	   "CUPTI: calls, kernels, copies and sets"

/* A launch in a range. */
struct launched {
	uint32_t correlation;
	uint8_t kind;  /* enum sn_gpu_kind: a kernel or a graph */
	bool is_none;  /* nothing ran: the call failed, or its stream is captured */
	bool is_alone; /* no other call launched beside it */
	bool was_read;
	const char *kernel; /* the adapter's own copy of its name */
};

/* What a context is counted with. */
static struct session {
	_Atomic(void *) context; /* NULL: the place is free */
	/* A thread launches, and has all that follows. */
	_Atomic bool is_claimed;
	_Atomic bool is_enabled; /* changes with the claim of CUPTI's counters, too */
	bool is_started;
	uint32_t device, room, count;
	void *profiler; /* CUPTI's */
	uint8_t *data;	/* counter data image, and behind it `launched` */
	size_t data_bytes;
	struct launched *launched;
	/* Launches without a range: that go on; that ever were. */
	_Atomic uint32_t outside, all_outside;
} sessions[CONTEXTS];

_Atomic bool sn_cuda_counters_are_on;
static _Atomic bool has_failed, has_ended, has_counted;
/* The adapter's status where counting failed: with nothing counted before, and with something. */
static char counts_nothing[320], counts_no_more[320];
/* What has not come by now counts as lost, and is not taken. With the lock of finished operations. */
static bool is_given_up;
/* Whoever holds it calls CUPTI's functions for counters, but for beginning and ending a range. */
static _Atomic bool is_claimed;
/* Streams that are captured: CUPTI waits for the device here and there, which would end that. */
static _Atomic uint32_t captures;

enum call_kind { ANY, LAUNCH, GRAPH_LAUNCH, CAPTURE_BEGIN, CAPTURE_END };
static uint8_t call_kinds[SN_CUPTI_RUNTIME + 1][CALLS]; /* enum call_kind */

/* ---- what is said ---- */

const char *sn_cuda_counters_plan(void)
{
	return sn_config.gpu_counter_count && !has_failed
		   ? "; counters of each launch, kernels one at a time"
		   : "";
}

const char *sn_cuda_counters_status(const char *status)
{
	return !has_failed ? status : has_counted ? counts_no_more : counts_nothing;
}

static bool refuse(const char *why, const char *of_what, const char *how)
{
	struct sn_line nothing = SN_LINE(counts_nothing), no_more = SN_LINE(counts_no_more);
	if (has_failed)
		return false;
	SN_LINE_ADD(&nothing, STATUS "; nothing is counted: ", why, of_what, how);
	SN_LINE_ADD(&no_more, STATUS "; counting ended early: ", why, of_what, how);
	has_failed = true;
	return false;
}

static void lose(uint64_t launches)
{
	if (launches)
		sn_drop(NULL, SN_DROP_GPU_COUNTER_LOST, launches * sn_config.gpu_counter_count);
}

/* ---- one at a time ---- */

/* seq_cst here and in await_work: of who claims and who begins a capture, one sees the other */
static bool claim_until(_Atomic bool *claimed, uint64_t until_ns)
{
	while (atomic_exchange(claimed, true)) {
		if (sn_now_ns() > until_ns)
			return false;
		sn_lock_pause();
	}
	return true;
}

static bool claim(_Atomic bool *claimed)
{
	return claim_until(claimed, sn_now_ns() + CLAIM_NS);
}

static void unclaim(_Atomic bool *claimed)
{
	atomic_store_explicit(claimed, false, memory_order_release);
}

/* ---- reading ---- */

/* The place among the launches that a range's name tells; `room` where it is none. */
static uint32_t place_of(const struct session *session, size_t range)
{
	uint64_t place;
	struct sn_cupti_range_name parameters = {
	    .of = {SN_CUPTI_LENGTH(struct sn_cupti_range_name, name), NULL},
	    .data = session->data,
	    .data_bytes = session->data_bytes,
	    .range = range,
	    .delimiter = "/"};
	if (sn_cupti_counters.cuptiRangeProfilerCounterDataGetRangeInfo(&parameters) ||
	    !parameters.name || sn_parse_number(parameters.name, 10, &place) == parameters.name ||
	    place >= session->count)
		return session->room;
	return (uint32_t)place;
}

/* With the lock of finished operations. */
static void give(const struct launched *launched, const double *values)
{
	struct sn_gpu_place place;
	if (!sn_gpu_launch_of(&sn_cuda, launched->correlation, &place)) {
		lose(1);
		return;
	}
	has_counted = true;
	struct sn_gpu_operation operation = {
	    .interface = &sn_cuda, .kind = launched->kind, .name = launched->kernel};
	for (uint32_t index = 0; index < sn_config.gpu_counter_count; index++) {
		operation.counter = (struct sn_gpu_counter){.index = index};
		if (sn_gpu_counter_whole(values[index], &operation.counter.value))
			sn_gpu_counted(&place, &operation);
		else
			sn_drop(NULL, SN_DROP_GPU_COUNTER_LOST, 1);
	}
}

static void take_range(struct session *session, size_t range)
{
	double values[SN_GPU_COUNTERS_MOST];
	uint32_t place = place_of(session, range);
	struct launched *launched = &session->launched[place];
	if (place == session->room || launched->is_none || !launched->is_alone ||
	    launched->was_read ||
	    !sn_cuda_counters_evaluate(session->device, session->data, session->data_bytes, range,
				       values))
		return;
	/* not while CUPTI evaluates, which may give records away meanwhile */
	sn_gpu_begin_done();
	launched->was_read = true;
	if (!is_given_up)
		give(launched, values);
	sn_gpu_end_done();
}

static void take(struct session *session)
{
	struct sn_cupti_range_count parameters = {
	    .of = {SN_CUPTI_LENGTH(struct sn_cupti_range_count, count), NULL},
	    .data = session->data,
	    .data_bytes = session->data_bytes};
	sn_cupti_result error = sn_cupti_counters.cuptiRangeProfilerGetCounterDataInfo(&parameters);
	if (error) {
		sn_cuda_counters_fail("cuptiRangeProfilerGetCounterDataInfo", error);
		return;
	}
	for (size_t range = 0; range < parameters.count && range < session->room; range++)
		take_range(session, range);
}

/* Those of which no values came, whatever the reason. With the lock of finished operations. */
static void forget_launched(struct session *session)
{
	uint64_t lost = 0;
	for (uint32_t at = 0; at < session->count; at++)
		lost += !session->launched[at].is_none && !session->launched[at].was_read;
	if (!is_given_up)
		lose(lost);
	session->count = 0;
}

/* With both claims: CUPTI waits for the context, and gives what it has counted. */
static void stop(struct session *session)
{
	struct sn_cupti_range_stop stopping = {
	    .of = SN_CUPTI_OF(struct sn_cupti_range_stop, is_all, session->profiler)};
	struct sn_cupti_range_decode decoding = {
	    .of = SN_CUPTI_OF(struct sn_cupti_range_decode, dropped, session->profiler)};
	if (!session->is_started)
		return;
	session->is_started = false;
	sn_cupti_result error = sn_cupti_counters.cuptiRangeProfilerStop(&stopping);
	if (error)
		sn_cuda_counters_fail("cuptiRangeProfilerStop", error);
	else if (!stopping.is_all)
		refuse("cuptiRangeProfilerStop", " asks for another pass", "");
	else if ((error = sn_cupti_counters.cuptiRangeProfilerDecodeData(&decoding)))
		sn_cuda_counters_fail("cuptiRangeProfilerDecodeData", error);
	else
		take(session);
	sn_gpu_begin_done();
	forget_launched(session);
	sn_gpu_end_done();
}

/* ---- a context ---- */

static sn_cupti_result ask_size(struct session *session, uint32_t room)
{
	struct sn_cupti_data_size parameters = {
	    .of = SN_CUPTI_OF(struct sn_cupti_data_size, data_bytes, session->profiler),
	    .names = sn_config.gpu_counters,
	    .count = sn_config.gpu_counter_count,
	    .most_ranges = room,
	    .most_nodes = room};
	sn_cupti_result error = sn_cupti_counters.cuptiRangeProfilerGetCounterDataSize(&parameters);
	session->room = room;
	/* behind it lies what has pointers */
	session->data_bytes = parameters.data_bytes;
	return error;
}

static size_t bytes_of(const struct session *session)
{
	return (session->data_bytes + 15) / 16 * 16 + session->room * sizeof(struct launched);
}

/* As many ranges as there is room for. */
static bool make_room(struct session *session)
{
	sn_cupti_result error = SN_CUPTI_SUCCESS;
	uint32_t room = RANGES;
	while (!(error = ask_size(session, room)) && session->data_bytes > MOST_BYTES && room > 1)
		room /= 2;
	if (error || !session->data_bytes || session->data_bytes > MOST_BYTES)
		return sn_cuda_counters_fail("cuptiRangeProfilerGetCounterDataSize",
					     error ? error : SN_CUPTI_ERROR_END);
	session->data = sn_pages_map(bytes_of(session));
	if (!session->data)
		return refuse("there is no memory for values", "", "");
	session->launched =
	    (struct launched *)(session->data + (session->data_bytes + 15) / 16 * 16);
	return true;
}

/* CUPTI may still write there where disabling has failed. */
static void disable(struct session *session)
{
	if (!session->is_enabled)
		return;
	session->is_enabled = false;
	sn_cupti_result error =
	    sn_cuda_counters_call(sn_cupti_counters.cuptiRangeProfilerDisable, session->profiler);
	if (error)
		sn_cuda_counters_fail("cuptiRangeProfilerDisable", error);
	else if (session->data)
		sn_pages_unmap(session->data, bytes_of(session));
	session->data = NULL;
}

static bool enable(struct session *session)
{
	struct sn_cupti_range_enable parameters = {
	    .of = {SN_CUPTI_LENGTH(struct sn_cupti_range_enable, profiler), NULL},
	    .context = session->context};
	if (session->is_enabled)
		return true;
	sn_cupti_result error =
	    sn_cupti_counters.cuptiGetDeviceId(session->context, &session->device);
	if (error)
		return sn_cuda_counters_fail("cuptiGetDeviceId", error);
	if (!sn_cuda_counter_list(session->device))
		return refuse("there are more than 16 devices", "", "");
	error = sn_cupti_counters.cuptiRangeProfilerEnable(&parameters);
	if (error)
		return sn_cuda_counters_fail("cuptiRangeProfilerEnable", error);
	session->profiler = parameters.profiler;
	session->is_enabled = true;
	return make_room(session);
}

static bool configure(struct session *session)
{
	const struct sn_cuda_counter_list *list = sn_cuda_counter_list(session->device);
	struct sn_cupti_data_begin beginning = {
	    .of = SN_CUPTI_OF(struct sn_cupti_data_begin, data, session->profiler),
	    .data_bytes = session->data_bytes,
	    .data = session->data};
	sn_cupti_result error =
	    sn_cupti_counters.cuptiRangeProfilerCounterDataImageInitialize(&beginning);
	if (error)
		return sn_cuda_counters_fail("cuptiRangeProfilerCounterDataImageInitialize", error);
	struct sn_cupti_range_config parameters = {
	    .of = SN_CUPTI_OF(struct sn_cupti_range_config, level, session->profiler),
	    .image_bytes = list->image_bytes,
	    .image = list->image,
	    .data_bytes = session->data_bytes,
	    .data = session->data,
	    .range = SN_CUPTI_USER_RANGE,
	    .replay = SN_CUPTI_USER_REPLAY,
	    .most_ranges = session->room,
	    .levels = 1,
	    .least_level = 1,
	    .level = 1};
	error = sn_cupti_counters.cuptiRangeProfilerSetConfig(&parameters);
	return error ? sn_cuda_counters_fail("cuptiRangeProfilerSetConfig", error) : true;
}

static bool start(struct session *session)
{
	if (!configure(session))
		return false;
	sn_cupti_result error =
	    sn_cuda_counters_call(sn_cupti_counters.cuptiRangeProfilerStart, session->profiler);
	if (error)
		return sn_cuda_counters_fail("cuptiRangeProfilerStart", error);
	session->is_started = true;
	return true;
}

/* With the session's claim: all that CUPTI has is taken, and the place is as at first. False where another context is waited for. */
static bool end(struct session *session, uint64_t until_ns)
{
	if (!claim_until(&is_claimed, until_ns))
		return false;
	stop(session);
	disable(session);
	unclaim(&is_claimed);
	return true;
}

/* With the session's claim. */
static bool make_ready(struct session *session)
{
	bool is_full = session->is_started && session->count == session->room;
	if (session->is_started && !is_full && !has_failed)
		return true;
	if (!claim(&is_claimed))
		return false;
	if (is_full || has_failed)
		stop(session);
	bool is_ready = !has_failed && enable(session) && start(session);
	/* where that fails, nothing stays enabled */
	if (!is_ready)
		disable(session);
	unclaim(&is_claimed);
	return is_ready;
}

static struct session *find_session(void *context)
{
	for (uint32_t at = 0; at < CONTEXTS; at++)
		if (atomic_load_explicit(&sessions[at].context, memory_order_acquire) == context)
			return &sessions[at];
	return NULL;
}

/* A context has but one, whichever thread is first. */
static struct session *session_of(void *context)
{
	static _Atomic bool is_made;
	struct session *session = find_session(context);
	if (session || !claim(&is_made))
		return session;
	session = find_session(context);
	if (!session && (session = find_session(NULL)))
		atomic_store_explicit(&session->context, context, memory_order_release);
	unclaim(&is_made);
	return session;
}

/* ---- ranges ---- */

/* The launching call that the thread is in; calls in it have no range of their own. */
static __thread struct {
	struct session *session; /* whose context it launches in; NULL: that is not known */
	bool has_range;
	bool is_captured; /* nothing runs */
	bool is_alone;	  /* nobody launched when it began */
	uint32_t all_outside;
	uint32_t depth;
	uintptr_t stack;
} current __attribute__((tls_model("initial-exec")));

static bool push(struct session *session)
{
	char name[NAME_BYTES];
	struct sn_line line = SN_LINE(name);
	struct sn_cupti_range_push parameters = {
	    .of = SN_CUPTI_OF(struct sn_cupti_range_push, name, session->profiler), .name = name};
	sn_line_add_number(&line, session->count);
	sn_cupti_result error = sn_cupti_counters.cuptiRangeProfilerPushRange(&parameters);
	return error ? sn_cuda_counters_fail("cuptiRangeProfilerPushRange", error) : true;
}

static void pop(struct session *session)
{
	sn_cupti_result error =
	    sn_cuda_counters_call(sn_cupti_counters.cuptiRangeProfilerPopRange, session->profiler);
	if (error)
		sn_cuda_counters_fail("cuptiRangeProfilerPopRange", error);
}

/* True where the range of a launching call has begun, with the session's claim. */
static bool begin_range(struct session *session, const void *context)
{
	if (has_ended || (has_failed && !session->is_enabled) || atomic_load(&captures) ||
	    !claim(&session->is_claimed))
		return false;
	/* the context, or all, may have ended meanwhile */
	if (has_ended || atomic_load(&captures) || atomic_load(&session->context) != context) {
		unclaim(&session->is_claimed);
		return false;
	}
	/* seq_cst here and in go_outside: of two that launch at once, one sees the other */
	current.all_outside = atomic_load(&session->all_outside);
	current.is_alone = !atomic_load(&session->outside);
	if (make_ready(session) && push(session))
		return true;
	unclaim(&session->is_claimed);
	return false;
}

static void go_outside(struct session *session)
{
	atomic_fetch_add(&session->all_outside, 1);
	atomic_fetch_add(&session->outside, 1);
}

static void enter(const struct sn_cupti_call *call)
{
	current.stack = (uintptr_t)call;
	current.is_captured = current.has_range = false;
	current.session = call->context ? session_of(call->context) : NULL;
	if (!current.session)
		return;
	current.has_range = begin_range(current.session, call->context);
	if (!current.has_range)
		go_outside(current.session);
}

/* Names of kernels are the module's. */
static const char *own_name(const char *name)
{
	sn_gpu_begin_done();
	const char *own = name ? sn_cuda_name(name) : NULL;
	sn_gpu_end_done();
	return own;
}

static void end_range(struct session *session, const struct sn_cupti_call *call,
		      enum call_kind kind, bool is_none)
{
	const char *kernel = kind == GRAPH_LAUNCH || is_none ? NULL : own_name(call->symbol);
	pop(session);
	session->launched[session->count++] = (struct launched){
	    .correlation = call->correlation,
	    .kind = kind == GRAPH_LAUNCH ? SN_GPU_GRAPH : SN_GPU_KERNEL,
	    .is_none = is_none,
	    .is_alone = current.is_alone &&
			current.all_outside == atomic_load(&session->all_outside) &&
			(kernel || kind == GRAPH_LAUNCH),
	    .kernel = kernel};
	unclaim(&session->is_claimed);
}

static void leave(const struct sn_cupti_call *call, enum call_kind kind, bool is_none)
{
	struct session *session = current.session;
	if (session && current.has_range) {
		end_range(session, call, kind, is_none);
		return;
	}
	if (session)
		atomic_fetch_sub(&session->outside, 1);
	if (!is_none && !has_failed && !has_ended)
		lose(1);
}

/* An exception or a long jump may leave a call: what is entered then does not lie further down on the stack. */
static void leave_abandoned(const struct sn_cupti_call *call)
{
	if (!current.depth || (uintptr_t)call < current.stack)
		return;
	current.depth = 0;
	leave(&(struct sn_cupti_call){0}, LAUNCH, true);
}

static enum call_kind kind_of(uint32_t domain, uint32_t cbid)
{
	return cbid < CALLS ? (enum call_kind)call_kinds[domain][cbid] : ANY;
}

static bool launches(enum call_kind kind)
{
	return kind == LAUNCH || kind == GRAPH_LAUNCH;
}

/* The runtime's calls for captures call the driver's. */
static __thread uint32_t capture_depth __attribute__((tls_model("initial-exec")));

/* cudaError_t and CUresult: 0 is success. */
static bool fails(const struct sn_cupti_call *call)
{
	return call->result && *(const int *)call->result;
}

static void leave_capture_call(enum call_kind kind, int result)
{
	/* 401: the stream was not captured */
	bool is_over = kind == CAPTURE_END ? result != 401 : result != 0;
	if (!capture_depth || --capture_depth)
		return;
	if (is_over && atomic_load(&captures))
		atomic_fetch_sub(&captures, 1);
}

static bool is_at_work(void)
{
	for (uint32_t at = 0; at < CONTEXTS; at++)
		if (atomic_load(&sessions[at].is_claimed))
			return true;
	return false;
}

/* Until no range is begun and nothing is read any more: whoever claims a session from now on sees the capture. */
static void await_work(void)
{
	uint64_t begin_ns = sn_now_ns();
	while (is_at_work() && sn_now_ns() - begin_ns < CLAIM_NS)
		sn_lock_pause();
}

static void enter_capture_call(enum call_kind kind, const struct sn_cupti_call *call)
{
	if (capture_depth++ || kind != CAPTURE_BEGIN)
		return;
	atomic_fetch_add(&captures, 1);
	leave_abandoned(call);
	/* what the thread has claimed itself ends later */
	if (!current.depth)
		await_work();
}

void sn_cuda_counters_before_call(uint32_t domain, uint32_t cbid, const struct sn_cupti_call *call)
{
	enum call_kind kind = kind_of(domain, cbid);
	if (kind >= CAPTURE_BEGIN)
		enter_capture_call(kind, call);
	if (!launches(kind))
		return;
	leave_abandoned(call);
	if (!current.depth++)
		enter(call);
}

void sn_cuda_counters_after_call(uint32_t domain, uint32_t cbid, const struct sn_cupti_call *call)
{
	enum call_kind kind = kind_of(domain, cbid);
	if (kind >= CAPTURE_BEGIN)
		leave_capture_call(kind, call->result ? *(const int *)call->result : 0);
	if (launches(kind) && current.depth && !--current.depth)
		leave(call, kind, current.is_captured || fails(call));
}

/* ---- which calls ---- */

static enum call_kind kind_of_name(const char *name)
{
	static const struct {
		const char *begin;
		enum call_kind kind;
	} names[] = {
	    {"cudaGraphLaunch", GRAPH_LAUNCH},	       {"cuGraphLaunch", GRAPH_LAUNCH},
	    {"cudaStreamBeginCapture", CAPTURE_BEGIN}, {"cuStreamBeginCapture", CAPTURE_BEGIN},
	    {"cudaStreamEndCapture", CAPTURE_END},     {"cuStreamEndCapture", CAPTURE_END}};
	for (size_t at = 0; at < sizeof(names) / sizeof(*names); at++)
		if (sn_begins_with(name, names[at].begin))
			return names[at].kind;
	return sn_cuda_is_launch(name) ? LAUNCH : ANY;
}

bool sn_cuda_counters_want_call(const char *name)
{
	return sn_cuda_counters_are_on && kind_of_name(name) >= CAPTURE_BEGIN;
}

void sn_cuda_counters_note_call(uint32_t domain, uint32_t cbid, const char *name)
{
	if (cbid < CALLS)
		call_kinds[domain][cbid] = (uint8_t)kind_of_name(name);
}

/* ---- callbacks about resources ---- */

/* In place of a context that ended while CUPTI counted in it: the place is used no more. */
static char gone;

static void on_context_end(void *context, uint64_t until_ns)
{
	struct session *session = context && context != &gone ? find_session(context) : NULL;
	if (!session)
		return;
	bool is_claimed_here = claim_until(&session->is_claimed, until_ns);
	bool is_over = is_claimed_here && end(session, until_ns);
	atomic_store_explicit(&session->context, is_over ? NULL : (void *)&gone,
			      memory_order_release);
	if (is_claimed_here)
		unclaim(&session->is_claimed);
}

void sn_cuda_counters_on_resource(uint32_t cbid, const struct sn_cupti_resource_data *data)
{
	/* the stream is captured: what is launched runs when the graph does */
	if (cbid == SN_CUPTI_GRAPH_NODE_CREATED)
		current.is_captured = true;
	else if (cbid == SN_CUPTI_CONTEXT_DESTROY_STARTING)
		on_context_end(data->context, sn_now_ns() + CLAIM_NS);
}

/* ---- begin and end ---- */

void sn_cuda_counters_begin(void *library)
{
	static struct sn_cuda_counter_wish wish = {.names = sn_config.gpu_counters,
						   .type = SN_CUPTI_RANGE_PROFILER,
						   .is_added = true,
						   .one_pass =
						       " passes, and no kernel is run twice",
						   .tell_unit = sn_gpu_counter_is_in,
						   .refuse = refuse};
	wish.count = sn_config.gpu_counter_count;
	if (!wish.count || !sn_cuda_counter_lists_begin(library, &wish))
		return;
	if (sn_config.gpu_samples) {
		refuse("instructions are sampled, which needs the same of the "
		       "device",
		       "", "");
		return;
	}
	sn_cupti.cuptiEnableCallback(1, sn_cupti.subscriber, SN_CUPTI_RESOURCE,
				     SN_CUPTI_CONTEXT_DESTROY_STARTING);
	atomic_store_explicit(&sn_cuda_counters_are_on, true, memory_order_release);
}

void sn_cuda_counters_end(void)
{
	if (!sn_cuda_counters_are_on)
		return;
	uint64_t until_ns = sn_now_ns() + END_NS;
	has_ended = true;
	for (uint32_t at = 0; at < CONTEXTS; at++)
		on_context_end(sessions[at].context, until_ns);
	if (!claim_until(&is_claimed, until_ns))
		return;
	sn_cuda_counter_lists_end();
	unclaim(&is_claimed);
}

void sn_cuda_counters_give_up(void)
{
	sn_gpu_begin_done();
	for (uint32_t at = 0; at < CONTEXTS; at++)
		forget_launched(&sessions[at]);
	is_given_up = true;
	sn_gpu_end_done();
}

void sn_cuda_counters_after_fork(void)
{
	atomic_store_explicit(&sn_cuda_counters_are_on, false, memory_order_relaxed);
	memset(sessions, 0, sizeof(sessions));
	memset(&current, 0, sizeof(current));
	is_given_up = false;
	capture_depth = 0;
	atomic_store_explicit(&captures, 0, memory_order_relaxed);
	atomic_store_explicit(&is_claimed, false, memory_order_relaxed);
	sn_cuda_counter_lists_forget();
}
