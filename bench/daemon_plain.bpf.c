/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon's part in the kernel is compared with, on the same event: `empty` does nothing; `plain` is DCPI's table as its paper describes it (buckets of four entries of 16
 * bytes, keyed by process and address, evicted in turn), with the ring buffer of BPF for what leaves it.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include <stdint.h>

const char terms[] SEC("license") = "Dual MIT/GPL";

enum { WAYS = 4, BUCKETS = 16384 };

struct entry {
	uint64_t address;
	uint32_t pid, count;
};

struct bucket {
	struct entry way[WAYS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BUCKETS);
	__type(key, uint32_t);
	__type(value, struct bucket);
} table SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} evicted SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 3); /* samples, hits, the next victim */
	__type(key, uint32_t);
	__type(value, uint64_t);
} sums SEC(".maps");

SEC("perf_event")
int empty(struct bpf_perf_event_data *ctx)
{
	return 0;
}

static uint64_t *sum_at(uint32_t which)
{
	return bpf_map_lookup_elem(&sums, &which);
}

SEC("perf_event")
int plain(struct bpf_perf_event_data *ctx)
{
	uint64_t address = PT_REGS_IP(&ctx->regs);
	uint32_t pid = bpf_get_current_pid_tgid() >> 32;
	uint32_t at =
	    ((address ^ (uint64_t)pid << 20) * 0x9e3779b97f4a7c15ull >> 40) & (BUCKETS - 1);
	struct bucket *bucket = bpf_map_lookup_elem(&table, &at);
	uint64_t *samples = sum_at(0), *hits = sum_at(1), *victim = sum_at(2);
	if (!bucket || !samples || !hits || !victim)
		return 0;
	++*samples;
	for (int i = 0; i < WAYS; i++)
		if (bucket->way[i].address == address && bucket->way[i].pid == pid) {
			bucket->way[i].count++;
			++*hits;
			return 0;
		}
	struct entry *old = &bucket->way[++*victim & (WAYS - 1)];
	if (old->count)
		bpf_ringbuf_output(&evicted, old, sizeof(*old), BPF_RB_NO_WAKEUP);
	old->address = address;
	old->pid = pid;
	old->count = 1;
	return 0;
}
