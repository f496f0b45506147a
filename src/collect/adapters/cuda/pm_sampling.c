/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI's PM sampling: what a device's counters count is sampled at a fixed interval, whatever runs there. A device is sampled from the
 * first call in one of its contexts on. CUPTI keeps the samples in a buffer, which is read now and then by a thread that leaves one of its
 * calls, for the collector has no thread of its own; what was read becomes counters of the trace. If a function fails sampling ends, and all
 * else goes on.
 */
#include "pm_sampling.h"

#include "collect/core/line.h"
#include "collect/core/lock.h"
#include "collect/intercept/intercept.h"
#include "collect/record/trace.h"
#include "counter_list.h"
#include "cupti_pm_sampling.h"
#include "cupti_samples.h"

#include <string.h>

#define DEVICES	     16u
#define CONTEXTS     64u
#define BUFFER_BYTES (64u << 20) /* CUPTI's own, of each device */
#define SAMPLES	     1024u	 /* are decoded at once, or as many as fit into: */
#define MOST_BYTES   (16u << 20)
#define TAKEN_BYTES  (4u << 20)
#define READ_NS	     100000000u
/* While a device samples: it may do so faster than its samples can be decoded. */
#define READING_NS   20000000u
#define ROUNDS	     4096u
#define CLAIM_PAUSES 2000u /* each takes some 50 us */
#define MILLIONTHS   1e6

#define SN_CUPTI_PM_POINTER(name, parameters) sn_cupti_result(*name) parameters;
static struct {
	SN_CUPTI_PM_FUNCTIONS(SN_CUPTI_PM_POINTER)
} cupti;

static struct device {
	void *sampler; /* CUPTI's; NULL: the device is not sampled */
	bool was_tried, is_started;
	uint8_t *data; /* counter data image */
	size_t data_bytes;
	uint64_t step_ns; /* from one sample to the next */
	bool has_steps;	  /* and is known by the interval */
	/* By our clock: before it was started the last time; until when what it sampled was read or counted as lost. */
	uint64_t begin_ns, seen_ns;
	uint64_t offset_ns; /* makes its clock ours, from the first reading on */
	bool has_offset;
	uint64_t last_ns;    /* the end of the last sample, by its clock; 0: none */
	bool has_gap;	     /* the next one does not follow on it */
	uint32_t stream;     /* in the trace, */
	uint32_t generation; /* of that generation */
} devices[DEVICES];

/* In the trace. */
static struct {
	enum sn_metric_kind kind;
	char unit[16];
	uint32_t number;
} metrics[SN_GPU_COUNTERS_MOST];
static uint32_t metric_generation;

/* A sample that was read; values follow, one for each metric. */
struct taken {
	uint64_t start_ns;
	uint32_t device;
	double values[];
};
static unsigned char *taken_bytes;
static uint32_t taken_count;

_Atomic bool sn_cuda_metrics_are_on;
static _Atomic bool was_begun, has_failed, has_ended;
static _Atomic uint64_t ending_ns; /* since when sn_cuda_metrics_end ends it; 0: it does not */
static _Atomic bool has_any;	   /* samples in the trace */
static char failure[320];
static _Atomic(void *) contexts[CONTEXTS]; /* whose device was seen to */
static _Atomic uint64_t read_ns;	   /* when it was last */
/* Whoever holds it calls CUPTI's functions, and has what is above. */
static _Atomic bool is_claimed;

/* ---- what is said ---- */

const char *sn_cuda_metrics_status(const char *status)
{
	static char text[768];
	struct sn_line line = SN_LINE(text);
	if (!was_begun)
		return status;
	SN_LINE_ADD(&line, status,
		    !has_failed || has_any ? "; metrics of devices over time"
					   : "; no metrics over time: ",
		    has_failed && has_any ? ", until " : NULL, has_failed ? failure : NULL);
	return text;
}

static bool refuse(const char *why, const char *of_what, const char *how)
{
	struct sn_line line = SN_LINE(failure);
	if (has_failed)
		return false;
	SN_LINE_ADD(&line, why, of_what, how);
	has_failed = true;
	atomic_store_explicit(&sn_cuda_metrics_are_on, false, memory_order_relaxed);
	return false;
}

static void lose(uint64_t samples)
{
	if (samples)
		sn_drop(NULL, SN_DROP_GPU_METRIC_LOST, samples * sn_config.gpu_metric_count);
}

static bool claim(void)
{
	return !atomic_exchange_explicit(&is_claimed, true, memory_order_acquire);
}

static void unclaim(void)
{
	atomic_store_explicit(&is_claimed, false, memory_order_release);
}

/* ---- into the trace ---- */

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);
	return length >= end_length && !strcmp(text + length - end_length, end);
}

/* Units are told of a counter; what follows its name may make another one of them. Sums are whole numbers. */
static void note_unit(uint32_t index, const char *told)
{
	const char *name = sn_config.gpu_metrics[index];
	struct sn_line line = SN_LINE(metrics[index].unit);
	bool is_part = strstr(name, ".pct"), is_rate = ends_with(name, ".per_second");
	bool is_ratio = strstr(name, ".ratio") || strstr(name, ".per_cycle");
	SN_LINE_ADD(&line, is_part ? "%" : is_ratio ? "1" : told, is_rate ? "/s" : NULL);
	metrics[index].kind = ends_with(name, ".sum") ? SN_METRIC_COUNT : SN_METRIC_RATIO;
}

static struct taken *taken_at(uint32_t index)
{
	size_t bytes = sizeof(struct taken) + sn_config.gpu_metric_count * sizeof(double);
	return (struct taken *)(taken_bytes + index * bytes);
}

static uint32_t taken_most(void)
{
	return TAKEN_BYTES /
	       (uint32_t)(sizeof(struct taken) + sn_config.gpu_metric_count * sizeof(double));
}

/* False where the trace has no room for definitions. */
static bool join_trace(uint32_t device)
{
	char name[32];
	struct sn_line line = SN_LINE(name);
	uint32_t generation = sn_trace_generation();
	for (uint32_t index = 0;
	     metric_generation != generation && index < sn_config.gpu_metric_count; index++) {
		metrics[index].number = sn_trace_counter(
		    metrics[index].kind, sn_config.gpu_metrics[index], metrics[index].unit);
		if (metrics[index].number == SN_ID_NONE)
			return false;
	}
	metric_generation = generation;
	if (devices[device].generation == generation)
		return true;
	sn_line_add(&line, sn_cuda.device);
	sn_line_add_number(&line, device);
	devices[device].stream = sn_trace_queue(device, SN_ID_NONE, name);
	if (devices[device].stream == SN_ID_NONE)
		return false;
	devices[device].generation = generation;
	return true;
}

static void record(struct sn_thread *thread, const struct taken *taken)
{
	for (uint32_t index = 0; index < sn_config.gpu_metric_count; index++) {
		double value = taken->values[index] *
			       (metrics[index].kind == SN_METRIC_RATIO ? MILLIONTHS : 1);
		/* false for what is no number, too */
		if (value > -0x1p62 && value < 0x1p62)
			SN_TRACE_ADD(thread, .kind = SN_TRACE_COUNTER, .has_stream = true,
				     .stream = devices[taken->device].stream,
				     .context = SN_NODE_ROOT, .counter = metrics[index].number,
				     .start_ns = taken->start_ns,
				     .value = (int64_t)(value + (value < 0 ? -0.5 : 0.5)));
		else
			sn_drop(thread, SN_DROP_GPU_METRIC_LOST, 1);
	}
}

/* By a thread that is measured, inside. While nothing is recorded they are not wanted. */
static void record_taken(struct sn_thread *thread)
{
	bool is_wanted = sn_trace_wants(SN_TRACE_SOURCE_METRICS);
	for (uint32_t at = 0; at < taken_count && is_wanted; at++) {
		const struct taken *taken = taken_at(at);
		if (!join_trace(taken->device)) {
			lose(1);
			continue;
		}
		record(thread, taken);
		has_any = true;
	}
	taken_count = 0;
}

/* ---- clocks ---- */

static sn_cupti_result sample_times(const struct device *device, size_t sample,
				    struct sn_cupti_pm_sample *times)
{
	*times = (struct sn_cupti_pm_sample){
	    .of = SN_CUPTI_OF(struct sn_cupti_pm_sample, end_ns, device->sampler),
	    .data = device->data,
	    .data_bytes = device->data_bytes,
	    .sample = sample};
	return cupti.cuptiPmSamplingCounterDataGetSampleInfo(times);
}

/* By the device's clock. Not all devices tell it; how long samples by cycles take is not known from the start. */
static uint64_t begin_of(const struct device *device, const struct sn_cupti_pm_sample *times)
{
	if (times->start_ns && times->start_ns < times->end_ns)
		return times->start_ns;
	return times->end_ns - device->step_ns;
}

/* No sample began before sampling did, and none ends after it was read. Where CUPTI's own clock agrees with that, it is the device's as
 * well; else the first sample is taken to begin when starting began, which is too early by as long as that takes. */
static uint64_t first_offset(const struct device *device, uint64_t first_begin_ns,
			     uint64_t last_end_ns, uint64_t now_ns)
{
	int64_t least = (int64_t)(device->begin_ns - first_begin_ns),
		most = (int64_t)(now_ns - last_end_ns), told = (int64_t)sn_cuda_clock_offset();
	return (uint64_t)(told >= least && told <= most ? told : least);
}

/* Of what was just read, from the first to the last sample. */
static sn_cupti_result set_clock(struct device *device, size_t count, uint64_t now_ns)
{
	struct sn_cupti_pm_sample first, last;
	sn_cupti_result error = sample_times(device, 0, &first);
	if (!error)
		error = sample_times(device, count - 1, &last);
	if (error)
		return error;
	if (!device->has_offset)
		device->offset_ns =
		    first_offset(device, begin_of(device, &first), last.end_ns, now_ns);
	device->has_offset = true;
	/* clocks drift */
	if ((int64_t)(last.end_ns + device->offset_ns - now_ns) > 0)
		device->offset_ns = now_ns - last.end_ns;
	return SN_CUPTI_SUCCESS;
}

/* ---- reading ---- */

/* How many samples end until then, and after the last that is accounted for: all of them are missing, but for so many. */
static void lose_until(struct device *device, uint64_t ns, uint64_t but_for)
{
	uint64_t steps = device->step_ns && ns > device->seen_ns
			     ? (ns - device->seen_ns + device->step_ns / 2) / device->step_ns
			     : 0;
	lose(steps > but_for ? steps - but_for : 1);
	device->has_gap = false;
}

static void follow(struct device *device, uint64_t end_ns)
{
	if (device->has_gap)
		lose_until(device, end_ns + device->offset_ns, 1);
	else if (!device->has_steps && device->last_ns && end_ns > device->last_ns)
		device->step_ns = end_ns - device->last_ns;
	device->last_ns = end_ns;
	device->seen_ns = end_ns + device->offset_ns;
}

static bool take_sample(struct device *device, size_t sample)
{
	struct sn_cupti_pm_sample times;
	sn_cupti_result error = sample_times(device, sample, &times);
	if (error)
		return sn_cuda_counters_fail("cuptiPmSamplingCounterDataGetSampleInfo", error);
	follow(device, times.end_ns);
	if (taken_count == taken_most() ||
	    !sn_cuda_counters_evaluate((uint32_t)(device - devices), device->data,
				       device->data_bytes, sample, taken_at(taken_count)->values)) {
		lose(1);
		return true;
	}
	struct taken *taken = taken_at(taken_count++);
	taken->start_ns = begin_of(device, &times) + device->offset_ns;
	taken->device = (uint32_t)(device - devices);
	return true;
}

/* How many there were; -1 where a function fails. */
static ssize_t take(struct device *device, uint64_t now_ns)
{
	struct sn_cupti_pm_count counted = {
	    .of = {SN_CUPTI_LENGTH(struct sn_cupti_pm_count, count), NULL},
	    .data = device->data,
	    .data_bytes = device->data_bytes};
	sn_cupti_result error = cupti.cuptiPmSamplingGetCounterDataInfo(&counted);
	if (error) {
		sn_cuda_counters_fail("cuptiPmSamplingGetCounterDataInfo", error);
		return -1;
	}
	if (counted.count && (error = set_clock(device, counted.count, now_ns))) {
		sn_cuda_counters_fail("cuptiPmSamplingCounterDataGetSampleInfo", error);
		return -1;
	}
	for (size_t sample = 0; sample < counted.count; sample++)
		if (!take_sample(device, sample))
			return -1;
	return (ssize_t)counted.count;
}

static bool start(struct device *device)
{
	device->begin_ns = sn_now_ns();
	sn_cupti_result error = sn_cuda_counters_call(cupti.cuptiPmSamplingStart, device->sampler);
	device->is_started = !error;
	return error ? sn_cuda_counters_fail("cuptiPmSamplingStart", error) : true;
}

static bool stop(struct device *device)
{
	if (!device->is_started)
		return true;
	device->is_started = false;
	sn_cupti_result error = sn_cuda_counters_call(cupti.cuptiPmSamplingStop, device->sampler);
	return error ? sn_cuda_counters_fail("cuptiPmSamplingStop", error) : true;
}

/* CUPTI wants the image anew for each decoding. */
static bool empty(struct device *device)
{
	struct sn_cupti_data_begin parameters = {
	    .of = SN_CUPTI_OF(struct sn_cupti_data_begin, data, device->sampler),
	    .data_bytes = device->data_bytes,
	    .data = device->data};
	sn_cupti_result error = cupti.cuptiPmSamplingCounterDataImageInitialize(&parameters);
	return error ? sn_cuda_counters_fail("cuptiPmSamplingCounterDataImageInitialize", error)
		     : true;
}

/* As many samples as fit into the image. True where there are more. */
static bool read_some(struct device *device)
{
	struct sn_cupti_pm_decode parameters = {
	    .of = SN_CUPTI_OF(struct sn_cupti_pm_decode, is_overflow, device->sampler),
	    .data = device->data,
	    .data_bytes = device->data_bytes};
	if (!empty(device))
		return false;
	sn_cupti_result error = cupti.cuptiPmSamplingDecodeData(&parameters);
	atomic_fetch_add_explicit(&sn_cuda_progress, 1, memory_order_relaxed);
	bool is_full = error == SN_CUPTI_ERROR_OUT_OF_MEMORY || parameters.is_overflow;
	if (error && error != SN_CUPTI_ERROR_OUT_OF_MEMORY)
		return sn_cuda_counters_fail("cuptiPmSamplingDecodeData", error);
	ssize_t count = take(device, sn_now_ns());
	if (!is_full || count < 0)
		return count > 0 && parameters.end == SN_CUPTI_DECODE_FULL;
	/* the device samples no more: until it has begun again all is lost */
	device->has_gap = true;
	if (device->is_started && stop(device))
		start(device);
	return false;
}

/* Without a thread, what was read waits. */
static void read_device(struct device *device, struct sn_thread *thread)
{
	bool is_more = device->sampler && device->data;
	uint64_t begin_ns = sn_now_ns();
	for (uint32_t round = 0; round < ROUNDS && is_more; round++) {
		if (round && device->is_started && sn_now_ns() - begin_ns > READING_NS)
			return;
		is_more = read_some(device);
		if (thread)
			record_taken(thread);
	}
}

static void end_devices(void)
{
	for (uint32_t at = 0; at < DEVICES; at++)
		stop(&devices[at]);
}

void sn_cuda_metrics_after_call(void)
{
	/* a call in a call: the outer one's end is soon enough */
	if (sn_now_ns() - atomic_load_explicit(&read_ns, memory_order_relaxed) < READ_NS ||
	    sn_gpu_call_place(NULL, NULL) || !claim())
		return;
	struct sn_thread *thread = has_ended || has_failed ? NULL : sn_enter();
	if (thread) {
		for (uint32_t at = 0; at < DEVICES && !has_failed; at++)
			read_device(&devices[at], thread);
		if (has_failed)
			end_devices();
		sn_leave(thread);
	}
	atomic_store_explicit(&read_ns, sn_now_ns(), memory_order_relaxed);
	unclaim();
}

/* ---- a device ---- */

static sn_cupti_result ask_size(struct device *device, uint32_t samples)
{
	struct sn_cupti_pm_data_size parameters = {
	    .of = SN_CUPTI_OF(struct sn_cupti_pm_data_size, data_bytes, device->sampler),
	    .names = sn_config.gpu_metrics,
	    .count = sn_config.gpu_metric_count,
	    .most_samples = samples};
	sn_cupti_result error = cupti.cuptiPmSamplingGetCounterDataSize(&parameters);
	device->data_bytes = parameters.data_bytes;
	return error;
}

static bool make_room(struct device *device)
{
	sn_cupti_result error = SN_CUPTI_SUCCESS;
	uint32_t samples = SAMPLES;
	while (!(error = ask_size(device, samples)) && device->data_bytes > MOST_BYTES &&
	       samples > 1)
		samples /= 2;
	if (error || !device->data_bytes || device->data_bytes > MOST_BYTES)
		return sn_cuda_counters_fail("cuptiPmSamplingGetCounterDataSize",
					     error ? error : SN_CUPTI_ERROR_END);
	device->data = sn_pages_map(device->data_bytes);
	if (!taken_bytes)
		taken_bytes = sn_pages_map(TAKEN_BYTES);
	return (device->data && taken_bytes) || refuse("there is no memory for values", NULL, NULL);
}

/* By time; a chip that cannot samples by the cycles that would take about that long. */
static bool configure(struct device *device, const struct sn_cuda_counter_list *list)
{
	struct sn_cupti_pm_config parameters = {
	    .of = SN_CUPTI_OF(struct sn_cupti_pm_config, trigger, device->sampler),
	    .image_bytes = list->image_bytes,
	    .image = list->image,
	    .buffer_bytes = BUFFER_BYTES,
	    .interval = sn_config.gpu_metric_ns,
	    .trigger = SN_CUPTI_TRIGGER_TIME};
	device->step_ns = sn_config.gpu_metric_ns;
	device->has_steps = true;
	sn_cupti_result by_time = cupti.cuptiPmSamplingSetConfig(&parameters);
	if (!by_time)
		return true;
	parameters.trigger = SN_CUPTI_TRIGGER_CYCLES;
	device->has_steps = false;
	return !cupti.cuptiPmSamplingSetConfig(&parameters) ||
	       sn_cuda_counters_fail("cuptiPmSamplingSetConfig", by_time);
}

static bool enable(struct device *device, size_t number)
{
	struct sn_cupti_pm_enable parameters = {
	    .of = {SN_CUPTI_LENGTH(struct sn_cupti_pm_enable, sampler), NULL}, .device = number};
	sn_cupti_result error = cupti.cuptiPmSamplingEnable(&parameters);
	if (error == SN_CUPTI_ERROR_NOT_SUPPORTED)
		return refuse("the device cannot be sampled so", NULL, NULL);
	if (error == SN_CUPTI_ERROR_HARDWARE_BUSY)
		return refuse("another tool has the device's performance monitors", NULL, NULL);
	device->sampler = error ? NULL : parameters.sampler;
	return error ? sn_cuda_counters_fail("cuptiPmSamplingEnable", error) : true;
}

static bool begin_device(struct device *device)
{
	uint32_t number = (uint32_t)(device - devices);
	const struct sn_cuda_counter_list *list = sn_cuda_counter_list(number);
	device->was_tried = true;
	if (!list || !enable(device, number) || !make_room(device) || !configure(device, list))
		return false;
	device->seen_ns = sn_now_ns();
	atomic_store_explicit(&read_ns, device->seen_ns, memory_order_relaxed);
	return start(device);
}

static bool is_known(const void *context)
{
	for (uint32_t at = 0; at < CONTEXTS; at++)
		if (atomic_load_explicit(&contexts[at], memory_order_acquire) == context)
			return true;
	return false;
}

/* With the claim. A place is taken when the device was seen to, so that nobody waits for that. */
static void begin_context(void *context)
{
	uint32_t device, place = 0;
	sn_cupti_result error = sn_cupti_counters.cuptiGetDeviceId(context, &device);
	if (error)
		sn_cuda_counters_fail("cuptiGetDeviceId", error);
	else if (device >= DEVICES)
		refuse("there are more than 16 devices", NULL, NULL);
	else if (!devices[device].was_tried)
		begin_device(&devices[device]);
	if (has_failed)
		end_devices();
	while (place < CONTEXTS - 1 && atomic_load_explicit(&contexts[place], memory_order_relaxed))
		place++;
	atomic_store_explicit(&contexts[place], context, memory_order_release);
}

void sn_cuda_metrics_before_call(const struct sn_cupti_call *call)
{
	if (!call->context || is_known(call->context) || !claim())
		return;
	if (!has_failed && !has_ended && !is_known(call->context))
		begin_context(call->context);
	unclaim();
}

/* ---- begin and end ---- */

static bool find_functions(void *library)
{
#define FIND(name, parameters)                                                                     \
	cupti.name = (sn_cupti_result(*) parameters)sn_real_dlsym(library, #name);                 \
	if (!cupti.name)                                                                           \
		return refuse(#name, " is missing, which CUPTI has from 12.6 on", NULL);
	SN_CUPTI_PM_FUNCTIONS(FIND)
#undef FIND
	return true;
}

void sn_cuda_metrics_begin(void *library)
{
	static struct sn_cuda_counter_wish wish = {.names = sn_config.gpu_metrics,
						   .type = SN_CUPTI_PM_SAMPLING,
						   .one_pass = " passes, and a moment has one",
						   .tell_unit = note_unit,
						   .refuse = refuse};
	wish.count = sn_config.gpu_metric_count;
	if (!wish.count)
		return;
	was_begun = true;
	if (sn_config.gpu_samples || sn_config.gpu_counter_count)
		refuse(sn_config.gpu_samples ? "instructions are sampled" : "kernels are counted",
		       ", which needs the same of the device", NULL);
	else if (find_functions(library) && sn_cuda_counter_lists_begin(library, &wish))
		atomic_store_explicit(&sn_cuda_metrics_are_on, true, memory_order_release);
}

/* What a full buffer has lost until now. */
static void end_gap(struct device *device)
{
	if (device->has_gap)
		lose_until(device, sn_now_ns(), 0);
}

void sn_cuda_metrics_end(void)
{
	atomic_store_explicit(&sn_cuda_metrics_are_on, false, memory_order_relaxed);
	if (!was_begun || has_ended)
		return;
	for (uint32_t tries = 0; !claim(); tries++) {
		if (tries == CLAIM_PAUSES)
			return;
		sn_lock_pause();
	}
	has_ended = true;
	ending_ns = sn_now_ns();
	for (uint32_t at = 0; at < DEVICES; at++) {
		bool is_read = devices[at].is_started && !has_failed;
		/* stopping may fail */
		if (is_read)
			read_device(&devices[at], NULL);
		if (!stop(&devices[at]) || !is_read || has_failed)
			continue;
		read_device(&devices[at], NULL);
		end_gap(&devices[at]);
	}
	ending_ns = 0;
	unclaim();
}

/* Whoever ends sampling hangs in CUPTI, and has what was read. */
static void lose_rest(uint64_t until_ns)
{
	lose(taken_count);
	for (uint32_t at = 0; at < DEVICES; at++)
		if (devices[at].sampler && devices[at].seen_ns + devices[at].step_ns < until_ns)
			lose_until(&devices[at], until_ns, 0);
}

void sn_cuda_metrics_record_rest(void)
{
	struct sn_thread *entered = sn_enter(), *self = sn_thread_self();
	uint64_t hangs_since_ns = ending_ns;
	if (hangs_since_ns) {
		lose_rest(hangs_since_ns);
	} else if (has_ended && taken_count && claim()) {
		if (self)
			record_taken(self);
		lose(taken_count);
		taken_count = 0;
		unclaim();
	}
	if (entered)
		sn_leave(entered);
}

/* CUPTI may still write there where disabling has failed. Releases have been reported in which this ends all of CUPTI. */
static void disable(struct device *device)
{
	void *sampler = device->sampler;
	if (!sampler)
		return;
	device->sampler = NULL;
	if (!sn_cuda_counters_call(cupti.cuptiPmSamplingDisable, sampler) && device->data)
		sn_pages_unmap(device->data, device->data_bytes);
	device->data = NULL;
}

void sn_cuda_metrics_release(void)
{
	if (!was_begun || sn_cupti.shares || !claim())
		return;
	for (uint32_t at = 0; at < DEVICES; at++)
		disable(&devices[at]);
	sn_cuda_counter_lists_end();
	unclaim();
}

void sn_cuda_metrics_after_fork(void)
{
	atomic_store_explicit(&sn_cuda_metrics_are_on, false, memory_order_relaxed);
	atomic_store_explicit(&is_claimed, false, memory_order_relaxed);
	memset(devices, 0, sizeof(devices));
	taken_count = 0;
	has_ended = true;
	if (was_begun)
		sn_cuda_counter_lists_forget();
}
