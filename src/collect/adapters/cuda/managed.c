/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI's records of managed memory name an address and a time, and no call. So each allocation is kept with its call, also
 * for a while after it was freed, as records come later than what they tell of: at one address and time there was one.
 */
#include "managed.h"

#include "collect/core/line.h"
#include "collect/core/lock.h"
#include "collect/intercept/intercept.h"
#include "cupti_samples.h"

/* The latest ones. */
#define ALLOCATIONS 65536u
#define CHAINS_BITS 17u

struct allocation {
	uint64_t address, bytes;
	uint64_t from_ns, until_ns; /* until_ns: UINT64_MAX while it is there */
	const void *context;
	struct sn_gpu_place place;
	uint64_t older[2]; /* the next links of its chains */
};

/*
 * Memory of up to 1 << n bytes lies in one or two of the blocks that have this size and begin at a multiple of it. For each of these it has
 * a link in a chain, which is found by n and the block's number; the newest comes first. So one chain is searched for each n, of the few
 * allocations of about that size there. A link is the allocation's number, times two, plus 1 for the second block. Numbers begin with 1;
 * behind a link of one that others have replaced there are only older ones.
 */
static struct known {
	struct allocation latest[ALLOCATIONS];
	uint64_t chains[1u << CHAINS_BITS];
} * known;		   /* NULL: nothing is recorded */
static uint64_t allocated; /* how many there were */
static uint64_t sizes;	   /* a bit for each n */
static const char *status = "";

/* ---- asking for it ---- */

void sn_cuda_managed_begin(void *library)
{
	static const uint32_t counters[] = {SN_CUPTI_HOST_TO_DEVICE, SN_CUPTI_DEVICE_TO_HOST,
					    SN_CUPTI_HOST_FAULT, SN_CUPTI_DEVICE_FAULT,
					    SN_CUPTI_DEVICE_TO_DEVICE};
	enum { COUNT = sizeof(counters) / sizeof(*counters) };
	struct sn_cupti_managed_setting settings[COUNT];
	if (!sn_config.gpu_migrations)
		return;
	sn_cupti_result (*configure)(struct sn_cupti_managed_setting *, uint32_t) =
	    sn_real_dlsym(library, "cuptiActivityConfigureUnifiedMemoryCounter");
	for (size_t index = 0; index < COUNT; index++)
		settings[index] = (struct sn_cupti_managed_setting){
		    .scope = SN_CUPTI_ALL_DEVICES, .counter = counters[index], .is_enabled = 1};
	if (!configure || configure(settings, COUNT) || sn_cuda_enable(SN_CUPTI_MANAGED)) {
		status = "; nothing of managed memory: CUPTI or the device refuses";
		return;
	}
	sn_cupti.cuptiEnableCallback(1, sn_cupti.subscriber, SN_CUPTI_RESOURCE,
				     SN_CUPTI_CONTEXT_DESTROY_STARTING);
	known = sn_pages_map(sizeof(*known));
	status = known ? "; managed memory below the calls that allocated it" : "";
}

const char *sn_cuda_managed_status(void)
{
	return status;
}

/* ---- the program's calls ---- */

enum { ALLOCATES = 1, FREES = 2 };

#define CALLS 1024u
static uint8_t calls[SN_CUPTI_RUNTIME + 1][CALLS];

void sn_cuda_managed_note_call(uint32_t domain, uint32_t cbid, const char *name)
{
	if (cbid >= CALLS)
		return;
	if (sn_begins_with(name, "cudaMallocManaged") || sn_begins_with(name, "cuMemAllocManaged"))
		calls[domain][cbid] = ALLOCATES;
	else if (sn_begins_with(name, "cudaFree_v") || sn_begins_with(name, "cuMemFree_v"))
		calls[domain][cbid] = FREES;
}

/* Of the calls of both interfaces. */
struct allocate_parameters {
	uint64_t *address;
	uint64_t bytes;
};

struct free_parameters {
	uint64_t address;
};

static uint64_t *chain_of(unsigned n, uint64_t block)
{
	return &known->chains[(block << 6 | n) * 0x9E3779B97F4A7C15u >> (64 - CHAINS_BITS)];
}

static struct allocation *numbered(uint64_t number)
{
	return &known->latest[number % ALLOCATIONS];
}

static void add(struct allocation made)
{
	unsigned n = made.bytes > 1 ? 64 - (unsigned)__builtin_clzll(made.bytes - 1) : 0;
	uint64_t first = made.address >> n, last = (made.address + made.bytes - 1) >> n;
	uint64_t number = ++allocated;
	for (unsigned at = 0; at <= last - first; at++) {
		uint64_t *chain = chain_of(n, first + at);
		made.older[at] = *chain;
		*chain = 2 * number + at;
	}
	*numbered(number) = made;
	sizes |= (uint64_t)1 << n;
}

/* Whoever had the address before the newest of that time was gone by then. */
static struct allocation *find_in(const uint64_t *chain, uint64_t address, uint64_t ns)
{
	for (uint64_t link = *chain; link && link / 2 + ALLOCATIONS > allocated;) {
		struct allocation *one = numbered(link / 2);
		if (address - one->address < one->bytes && ns >= one->from_ns)
			return ns <= one->until_ns ? one : NULL;
		link = one->older[link % 2];
	}
	return NULL;
}

/* The one that had the address at that time; NULL: none is known. */
static struct allocation *find(uint64_t address, uint64_t ns)
{
	struct allocation *found = NULL;
	for (uint64_t left = sizes; left && !found; left &= left - 1) {
		unsigned n = (unsigned)__builtin_ctzll(left);
		found = find_in(chain_of(n, address >> n), address, ns);
	}
	return found;
}

/* The runtime's call ends after the driver's in it, which has allocated the same. */
static void note_allocation(const struct allocate_parameters *parameters, const void *context)
{
	struct allocation made = {.address = *parameters->address,
				  .bytes = parameters->bytes,
				  .from_ns = sn_now_ns(),
				  .until_ns = UINT64_MAX,
				  .context = context};
	if (!made.bytes || !sn_gpu_call_place(&made.place.state, &made.place.call))
		return;
	sn_lock_acquire(SN_LOCK_CUDA_MANAGED);
	if (!find(made.address, made.from_ns))
		add(made);
	sn_lock_release(SN_LOCK_CUDA_MANAGED);
}

static void note_free(const struct free_parameters *parameters)
{
	uint64_t now_ns = sn_now_ns();
	sn_lock_acquire(SN_LOCK_CUDA_MANAGED);
	struct allocation *found = find(parameters->address, now_ns);
	if (found)
		found->until_ns = now_ns;
	sn_lock_release(SN_LOCK_CUDA_MANAGED);
}

void sn_cuda_managed_on_call(uint32_t domain, uint32_t cbid, const struct sn_cupti_call *call)
{
	uint8_t does = known && cbid < CALLS ? calls[domain][cbid] : 0;
	if (does == ALLOCATES && call->site && call->result && !*(const int *)call->result)
		note_allocation(call->parameters, call->context);
	else if (does == FREES && !call->site)
		note_free(call->parameters);
}

/* Memory goes with its context, which cudaDeviceReset ends, too. */
void sn_cuda_managed_on_resource(uint32_t cbid, const struct sn_cupti_resource_data *data)
{
	uint64_t now_ns = sn_now_ns();
	if (!known || cbid != SN_CUPTI_CONTEXT_DESTROY_STARTING)
		return;
	sn_lock_acquire(SN_LOCK_CUDA_MANAGED);
	for (uint64_t back = 0; back < ALLOCATIONS && back < allocated; back++) {
		struct allocation *one = numbered(allocated - back);
		if (one->context == data->context && one->until_ns == UINT64_MAX)
			one->until_ns = now_ns;
	}
	sn_lock_release(SN_LOCK_CUDA_MANAGED);
}

/* ---- what was moved ---- */

/* Where the memory was allocated; at the root of some thread's tree where that is not known. False where there is no thread. */
static bool place_of(uint64_t address, uint64_t ns, struct sn_gpu_place *place)
{
	sn_lock_acquire(SN_LOCK_CUDA_MANAGED);
	const struct allocation *found = find(address, ns);
	*place = found ? found->place
		       : (struct sn_gpu_place){.state = sn_gpu_any_thread(), .call = SN_NODE_ROOT};
	sn_lock_release(SN_LOCK_CUDA_MANAGED);
	return place->state;
}

/* False for what is not asked for. */
static bool read_record(const struct sn_cupti_managed *record, struct sn_gpu_operation *operation)
{
	static const char *const names[] = {[SN_CUPTI_HOST_TO_DEVICE] = "migration host to device",
					    [SN_CUPTI_DEVICE_TO_HOST] = "migration device to host",
					    [SN_CUPTI_HOST_FAULT] = "page fault of the host",
					    [SN_CUPTI_DEVICE_FAULT] = "page fault of a device",
					    [SN_CUPTI_DEVICE_TO_DEVICE] =
						"migration between devices"};
	if (record->counter >= sizeof(names) / sizeof(*names) || !names[record->counter])
		return false;
	*operation = (struct sn_gpu_operation){.interface = &sn_cuda,
					       .name = names[record->counter],
					       .start_ns = record->start,
					       .end_ns = record->end};
	if (record->counter == SN_CUPTI_HOST_FAULT) {
		operation->end_ns = operation->start_ns; /* has none */
		operation->migration.faults = 1;
		operation->migration.pc = record->value;
	} else if (record->counter == SN_CUPTI_DEVICE_FAULT) {
		operation->migration.faults = record->value;
	} else {
		operation->bytes = record->value;
	}
	return true;
}

void sn_cuda_managed_record(const struct sn_cupti_managed *record, uint64_t offset_ns)
{
	struct sn_gpu_operation operation;
	struct sn_gpu_place place;
	if (!known || !read_record(record, &operation))
		return;
	if (place_of(record->address, record->start + offset_ns, &place))
		sn_gpu_migrated(&place, &operation);
	else
		sn_gpu_lose(&sn_cuda, 1);
}
