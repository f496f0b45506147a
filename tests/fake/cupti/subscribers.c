/* SPDX-License-Identifier: Apache-2.0 */
#include "subscribers.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct fake_subscriber fake_subscribers[FAKE_MOST_SUBSCRIBERS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of who is subscribed */
static int graph_level = -1;				 /* attribute 20: of all, once it was set */

__attribute__((constructor)) static void begin(void)
{
	FAKE_EACH_SUBSCRIBER(of)
	fake_queue_begin(&of->queue);
}

/* ---- what records.c asks ---- */

/* Either kind of kernel's. */
static CUpti_ActivityKind kind_for(const struct fake_subscriber *of, unsigned kind)
{
	if (kind >= FAKE_MOST_KINDS)
		return 0;
	if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && !of->kinds[kind])
		kind = CUPTI_ACTIVITY_KIND_KERNEL;
	return of->kinds[kind] ? (CUpti_ActivityKind)kind : 0;
}

bool fake_wants(unsigned kind)
{
	FAKE_EACH_SUBSCRIBER(of)
	if (kind_for(of, kind))
		return true;
	return false;
}

static bool graphs_are_whole; /* from when they are once recorded so, on */

bool fake_wants_graphs(void)
{
	return graph_level > 0 || graphs_are_whole;
}

/* Calls that one subscriber does not want, by a record of one. */
static bool hides(const struct fake_subscriber *of, const CUpti_Activity *record)
{
	const CUpti_ActivityAPI *call = (const CUpti_ActivityAPI *)record;
	if (record->kind == CUPTI_ACTIVITY_KIND_DRIVER)
		return of->hidden_calls[FAKE_DRIVER][call->cbid];
	return record->kind == CUPTI_ACTIVITY_KIND_RUNTIME &&
	       of->hidden_calls[FAKE_RUNTIME][call->cbid];
}

void fake_record(const void *record, size_t bytes, uint64_t end_ns)
{
	const CUpti_Activity *activity = record;
	FAKE_EACH_SUBSCRIBER(of)
	{
		CUpti_ActivityKind kind = kind_for(of, activity->kind);
		if (kind && !hides(of, activity))
			fake_queue_add(&of->queue, kind, record, bytes, end_ns);
	}
}

bool fake_hears(CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	FAKE_EACH_SUBSCRIBER(of)
	if (of->enabled[domain][cbid])
		return true;
	return false;
}

void fake_tell(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
	FAKE_EACH_SUBSCRIBER(of)
	if (of->is_taken && of->enabled[domain][cbid])
		of->function(of->data, domain, cbid, data);
}

/* ---- subscribing ---- */

static struct fake_subscriber *of_handle(CUpti_SubscriberHandle handle)
{
	FAKE_EACH_SUBSCRIBER(of)
	if ((void *)of == (void *)handle)
		return of;
	return NULL;
}

/* The holder's name, if this one may not subscribe beside it. */
static const char *who_excludes(bool allows_others)
{
	if (fake_fails("held"))
		return "Nsight Systems";
	FAKE_EACH_SUBSCRIBER(of)
	if (of->is_taken && !(of->allows_others && allows_others))
		return of->name;
	return NULL;
}

static struct fake_subscriber *free_place(bool allows_others)
{
	FAKE_EACH_SUBSCRIBER(of)
	if (!of->is_taken && (!allows_others || of != fake_subscribers))
		return of;
	return NULL;
}

/* Which error a device's state gives, when subscribing or when kinds of records are enabled. */
static CUptiResult refused_by_device(bool is_subscribing)
{
	if (is_subscribing != fake_fails("at-subscribing"))
		return CUPTI_SUCCESS;
	return fake_fails("hardware-busy")    ? CUPTI_ERROR_HARDWARE_BUSY
	       : fake_fails("virtual-device") ? CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED
	       : fake_fails("confidential")   ? CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED
	       : fake_fails("mig")	      ? CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED
					      : CUPTI_SUCCESS;
}

static CUptiResult subscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc function,
			     void *data, const char *name, bool allows_others)
{
	struct fake_subscriber *of = free_place(allows_others);
	if (refused_by_device(true))
		return refused_by_device(true);
	if (!of || who_excludes(allows_others) || !fake_cupti_listen(true))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	of->function = function;
	of->data = data;
	of->allows_others = allows_others;
	snprintf(of->name, sizeof(of->name), "CUPTI for %.53s", name ? name : "");
	of->is_taken = true;
	*handle = (CUpti_SubscriberHandle)of;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc function,
				void *data)
{
	pthread_mutex_lock(&lock);
	CUptiResult result = subscribe(handle, function, data, NULL, false);
	pthread_mutex_unlock(&lock);
	return result;
}

/* 13.0 has no field for others. */
static bool is_size_known(size_t bytes)
{
	size_t first = offsetof(CUpti_SubscriberParams, allowMultipleSubscribers);
	return bytes == first || (fake_release->version >= 130200 && bytes > first &&
				  bytes <= sizeof(CUpti_SubscriberParams));
}

CUptiResult fake_cuptiSubscribe_v2(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc function,
				   void *data, CUpti_SubscriberParams *given)
{
	CUpti_SubscriberParams params = {0};
	if (given && !is_size_known(given->structSize))
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (given)
		memcpy(&params, given, given->structSize);
	pthread_mutex_lock(&lock);
	const char *holder = who_excludes(params.allowMultipleSubscribers);
	if (!holder && fake_subscribers[1].is_taken)
		holder = fake_subscribers[1].name;
	if (holder && params.oldSubscriberName)
		snprintf(params.oldSubscriberName, params.oldSubscriberSize, "%s", holder);
	CUptiResult result = subscribe(handle, function, data, params.subscriberName,
				       params.allowMultipleSubscribers);
	pthread_mutex_unlock(&lock);
	return result;
}

static void *flush_late(void *data)
{
	struct fake_subscriber *of = data;
	nanosleep(&(struct timespec){0, 50000000}, NULL);
	fake_queue_flush(&of->queue, true);
	return NULL;
}

/* What is in buffers comes after it, sooner or later. */
CUptiResult fake_cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
	struct fake_subscriber *of = of_handle(handle);
	pthread_t thread;
	if (!of || !of->is_taken)
		return CUPTI_ERROR_INVALID_PARAMETER;
	of->is_taken = false;
	memset(of->enabled, 0, sizeof(of->enabled));
	if (of->allows_others) {
		memset(of->kinds, 0, sizeof(of->kinds));
		if (!fake_fails("lost-device") && !fake_fails("late-buffers"))
			fake_queue_flush(&of->queue, false);
	}
	if (fake_fails("late-buffers") && !pthread_create(&thread, NULL, flush_late, of))
		pthread_detach(thread);
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
				     CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	struct fake_subscriber *of = of_handle(handle);
	if (!of || !of->is_taken || (unsigned)domain >= FAKE_DOMAINS || cbid >= FAKE_MOST_CBID)
		return CUPTI_ERROR_INVALID_PARAMETER;
	of->enabled[domain][cbid] = enable;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
				   CUpti_CallbackDomain domain)
{
	CUptiResult result = CUPTI_SUCCESS;
	for (CUpti_CallbackId cbid = 1; cbid < FAKE_MOST_CBID && !result; cbid++)
		result = fake_cuptiEnableCallback(enable, handle, domain, cbid);
	return result;
}

/* ---- activities ---- */

static bool are_several(void)
{
	FAKE_EACH_SUBSCRIBER(of)
	if (of->is_taken && of->allows_others)
		return true;
	return false;
}

static CUptiResult set_kind(struct fake_subscriber *of, CUpti_ActivityKind kind, bool enabled)
{
	if (!fake_release_has_kind(kind))
		return CUPTI_ERROR_INVALID_KIND;
	if (enabled && fake_fails("privileges"))
		return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
	if (enabled && refused_by_device(false))
		return refused_by_device(false);
	if (enabled && ((kind == CUPTI_ACTIVITY_KIND_MEMCPY && fake_fails("copies-refused")) ||
			(kind == CUPTI_ACTIVITY_KIND_MEMSET && fake_fails("sets-refused"))))
		return CUPTI_ERROR_INVALID_KIND;
	if (!fake_cupti_listen(true))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	of->kinds[kind] = enabled;
	if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE && enabled)
		graphs_are_whole = true;
	if (kind == CUPTI_ACTIVITY_KIND_DEVICE && enabled)
		fake_record_devices(of);
	return CUPTI_SUCCESS;
}

/* Not beside subscribers that share. */
CUptiResult fake_cuptiActivityEnable(CUpti_ActivityKind kind)
{
	return are_several() ? CUPTI_ERROR_NOT_COMPATIBLE : set_kind(fake_subscribers, kind, true);
}

CUptiResult fake_cuptiActivityDisable(CUpti_ActivityKind kind)
{
	return set_kind(fake_subscribers, kind, false);
}

CUptiResult fake_cuptiActivityEnable_v2(CUpti_SubscriberHandle handle, CUpti_ActivityKind kind,
					CUpti_ActivityConfig *config)
{
	struct fake_subscriber *of = of_handle(handle);
	(void)config;
	if (!of || !of->is_taken)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (of->allows_others && kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE && graph_level != 1)
		return CUPTI_ERROR_NOT_COMPATIBLE;
	if (of->allows_others && graph_level < 0)
		graph_level = 0;
	return set_kind(of, kind, true);
}

CUptiResult fake_cuptiActivityDisable_v2(CUpti_SubscriberHandle handle, CUpti_ActivityKind kind,
					 CUpti_ActivityConfig *config)
{
	struct fake_subscriber *of = of_handle(handle);
	(void)config;
	return of ? set_kind(of, kind, false) : CUPTI_ERROR_INVALID_PARAMETER;
}

static CUptiResult hide(struct fake_subscriber *of, enum fake_domain domain, uint32_t cbid,
			bool enable)
{
	if (!of)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (cbid < FAKE_MOST_CBID)
		of->hidden_calls[domain][cbid] = !enable;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
	return hide(fake_subscribers, FAKE_RUNTIME, cbid, enable);
}

CUptiResult fake_cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
	return hide(fake_subscribers, FAKE_DRIVER, cbid, enable);
}

CUptiResult fake_cuptiActivityEnableRuntimeApi_v2(CUpti_SubscriberHandle handle,
						  CUpti_CallbackId cbid, uint8_t enable)
{
	return hide(of_handle(handle), FAKE_RUNTIME, cbid, enable);
}

CUptiResult fake_cuptiActivityEnableDriverApi_v2(CUpti_SubscriberHandle handle,
						 CUpti_CallbackId cbid, uint8_t enable)
{
	return hide(of_handle(handle), FAKE_DRIVER, cbid, enable);
}

CUptiResult fake_cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *size,
					   void *value)
{
	(void)attribute;
	return size && value ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

/* A clock of a subscriber's own is not there. */
/* ---- times by the hardware ---- */

CUptiResult fake_cuptiActivityEnableHWTrace(uint8_t enable)
{
	(void)enable;
	if (fake_refused(false))
		return fake_refused(false);
	if (fake_wants(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))
		return CUPTI_ERROR_INVALID_OPERATION;
	return fake_fails("no-hardware-times") ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
}

CUptiResult fake_cuptiActivitySetAttribute_v2(CUpti_SubscriberHandle handle,
					      CUpti_ActivityAttribute attribute, size_t *size,
					      void *value)
{
	struct fake_subscriber *of = of_handle(handle);
	if (!of || !size || !value)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (attribute == CUPTI_ACTIVITY_ATTR_TIMESTAMP_CALLBACK)
		return CUPTI_ERROR_NOT_SUPPORTED;
	if (attribute == CUPTI_ACTIVITY_ATTR_ENABLE_HES)
		return fake_cuptiActivityEnableHWTrace(*(uint8_t *)value);
	if (attribute == CUPTI_ACTIVITY_ATTR_THREAD_ID_TYPE)
		of->thread_ids = *(CUpti_ActivityThreadIdType *)value;
	if (attribute != CUPTI_ACTIVITY_ATTR_ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE ||
	    !of->allows_others)
		return CUPTI_SUCCESS;
	if (graph_level >= 0 && graph_level != *(uint8_t *)value)
		return CUPTI_ERROR_NOT_COMPATIBLE;
	graph_level = *(uint8_t *)value;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable)
{
	(void)enable;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiActivityFlushPeriod(uint32_t ms)
{
	(void)ms;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
	fake_subscribers[0].thread_ids = type;
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
	*type = fake_subscribers[0].thread_ids;
	return CUPTI_SUCCESS;
}

/* ---- buffers ---- */

static CUptiResult register_callbacks(struct fake_queue *queue,
				      CUpti_BuffersCallbackRequestFunc requested,
				      CUpti_BuffersCallbackCompleteFunc completed,
				      CUpti_BuffersCallbackRequestFunc_v2 requested_v2,
				      CUpti_BuffersCallbackCompleteFunc_v2 completed_v2)
{
	pthread_mutex_lock(&queue->giving);
	queue->request = requested;
	queue->complete = completed;
	queue->request_v2 = requested_v2;
	queue->complete_v2 = completed_v2;
	pthread_mutex_unlock(&queue->giving);
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
						CUpti_BuffersCallbackCompleteFunc completed)
{
	return register_callbacks(&fake_subscribers[0].queue, requested, completed, NULL, NULL);
}

CUptiResult fake_cuptiActivityRegisterCallbacks_v2(CUpti_SubscriberHandle handle,
						   CUpti_BuffersCallbackRequestFunc_v2 requested,
						   CUpti_BuffersCallbackCompleteFunc_v2 completed)
{
	struct fake_subscriber *of = of_handle(handle);
	return of && requested && completed
		   ? register_callbacks(&of->queue, NULL, NULL, requested, completed)
		   : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult fake_cuptiActivityFlushAll(uint32_t flag)
{
	while (fake_fails("flush-hangs"))
		pause();
	if (fake_fails("flush-slow"))
		sleep(1);
	if (fake_fails("lost-device") && fake_device_is_lost())
		return CUPTI_ERROR_UNKNOWN;
	FAKE_EACH_SUBSCRIBER(of)
	if (!fake_fails("late-buffers"))
		fake_queue_flush(&of->queue, flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	return CUPTI_SUCCESS;
}

static CUptiResult dropped_of(struct fake_subscriber *of, size_t *dropped)
{
	if (!of || !dropped)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*dropped = atomic_exchange(&of->queue.lost, 0);
	return CUPTI_SUCCESS;
}

CUptiResult fake_cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream,
						   size_t *dropped)
{
	(void)context;
	(void)stream;
	return dropped_of(fake_subscribers, dropped);
}

CUptiResult fake_cuptiActivityGetNumDroppedRecords_v2(CUpti_SubscriberHandle handle,
						      CUcontext context, uint32_t stream,
						      size_t *dropped)
{
	(void)context;
	(void)stream;
	return dropped_of(of_handle(handle), dropped);
}

CUptiResult fake_cuptiActivityGetNextRecord(uint8_t *bytes, size_t valid, CUpti_Activity **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + fake_release_bytes((*record)->kind) : bytes;
	size_t left = (size_t)(bytes + valid - next);
	/* NVIDIA's does not tell of a record that lies in the buffer in part */
	if (left < sizeof(**record) ||
	    left < fake_release_bytes(((const CUpti_Activity *)next)->kind))
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)next;
	return fake_release_bytes((*record)->kind) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

/* A subscriber that has gone may still read its buffers. */
CUptiResult fake_cuptiActivityGetNextRecord_v2(CUpti_SubscriberHandle handle, uint8_t *bytes,
					       size_t valid, CUpti_Activity **record)
{
	return of_handle(handle) && bytes && record
		   ? fake_cuptiActivityGetNextRecord(bytes, valid, record)
		   : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult fake_cuptiActivityGetStructSize(CUpti_ActivityKind kind, uint32_t version,
					    size_t *bytes)
{
	(void)version;
	if (!bytes || !fake_release_bytes(kind))
		return CUPTI_ERROR_INVALID_PARAMETER;
	*bytes = fake_release_bytes(kind);
	return CUPTI_SUCCESS;
}

/* Not where subscribers share. */
CUptiResult fake_cuptiFinalize(void)
{
	if (are_several())
		return CUPTI_ERROR_NOT_COMPATIBLE;
	fake_cupti_listen(false);
	fake_subscribers[0].is_taken = false;
	memset(fake_subscribers[0].kinds, 0, sizeof(fake_subscribers[0].kinds));
	memset(fake_subscribers[0].enabled, 0, sizeof(fake_subscribers[0].enabled));
	fake_queue_flush(&fake_subscribers[0].queue, true);
	return CUPTI_SUCCESS;
}
