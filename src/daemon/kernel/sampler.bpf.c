/* SPDX-License-Identifier: Apache-2.0 */
/* The program that the kernel runs at each sample: finds whose code in which image was running, and counts that (counts.h). */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "counts.h"
#include "kernel_types.h"

#include <stdbool.h>

const char terms[] SEC("license") = "Dual MIT/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the daemon makes it one a processor */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, uint32_t);
	__type(value, struct sn_counts);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, uint32_t);
	__type(value, struct sn_counts_control);
} control SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * SN_PAIRS_OF_TURN);
	__type(key, struct sn_pair);
	__type(value, uint32_t);
} pairs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} announced SEC(".maps");

/* Samples with their callers; the daemon makes it larger if it wants some. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 12);
} stacks SEC(".maps");

/* Threads that wait, and in which wait of theirs they were seen; the daemon makes it larger if it looks for them. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 8);
	__type(key, uint32_t);
	__type(value, struct sn_wait);
} waits SEC(".maps");

enum {
	IS_KERNEL_THREAD = 0x00200000, /* PF_KTHREAD */
	IS_IO_WORKER = 0x00000010,     /* PF_IO_WORKER: has no user code */
	WAITS = 3,		       /* TASK_INTERRUPTIBLE, TASK_UNINTERRUPTIBLE */
	PAGE_BYTES = 4096
};

struct where {
	uint64_t start, end, offset;
	struct file *file;
};

/* ---- mappings ---- */

enum {
	MAPLE_LEVELS = 8,
	MAPLE_RANGE_SLOTS = 16,
	MAPLE_ARANGE_SLOTS = 10,
	MAPLE_ARANGE = 3,
	MAPLE_LEAF = 1
};

/*
 * The mapping of an address, by walking the tree of mappings (a maple tree) without a lock: its nodes are freed after a grace period, which this program ends
 * before. bpf_find_vma takes the lock and must give it back by an interrupt of its own, which costs more than the sample.
 */
static __always_inline uint64_t maple_find(struct mm_struct *mm, uint64_t address)
{
	uint64_t pivots[MAPLE_RANGE_SLOTS], entry = 0;
	BPF_CORE_READ_INTO(&entry, mm, mm_mt.ma_root);
	if ((entry & 3) != 2) /* a tree of one mapping has no nodes */
		return entry;
	for (int level = 0; level < MAPLE_LEVELS; level++) {
		uint64_t node = entry & ~0xffull;
		uint32_t type = (entry >> 3) & 15;
		uint32_t pivot_count =
		    type == MAPLE_ARANGE ? MAPLE_ARANGE_SLOTS - 1 : MAPLE_RANGE_SLOTS - 1;
		if (bpf_probe_read_kernel(pivots, 8 * (MAPLE_RANGE_SLOTS - 1),
					  (void *)(node + 8)) != 0)
			return 0;
		uint32_t slot = 0;
		for (; slot < MAPLE_RANGE_SLOTS - 1; slot++)
			if (slot >= pivot_count || address <= pivots[slot] ||
			    (slot > 0 && pivots[slot] == 0))
				break;
		if (bpf_probe_read_kernel(&entry, 8,
					  (void *)(node + 8 + 8 * pivot_count + 8 * slot)) != 0)
			return 0;
		if (type == MAPLE_LEAF)
			return entry;
	}
	return 0;
}

static __always_inline int find_mapping(struct mm_struct *mm, uint64_t address, struct where *where)
{
	struct vm_area_struct *vma = (void *)maple_find(mm, address);
	if (!vma)
		return SN_LOST_NO_CODE;
	where->start = BPF_CORE_READ(vma, vm_start);
	where->end = BPF_CORE_READ(vma, vm_end);
	where->offset = BPF_CORE_READ(vma, vm_pgoff) << 12;
	where->file = BPF_CORE_READ(vma, vm_file);
	return where->start <= address && address < where->end ? SN_FATE_COUNTED : SN_LOST_NO_CODE;
}

/* Tells whether mappings have changed since, where the kernel counts that; else none is remembered. */
static __always_inline bool has_sequence(struct mm_struct *mm)
{
	struct mm_struct___before_6_13 *older = (void *)mm;
	return bpf_core_field_exists(mm->mm_lock_seq.sequence) ||
	       bpf_core_field_exists(older->mm_lock_seq);
}

static __always_inline uint32_t sequence_of(struct mm_struct *mm)
{
	struct mm_struct___before_6_13 *older = (void *)mm;
	if (bpf_core_field_exists(mm->mm_lock_seq.sequence))
		return mm->mm_lock_seq.sequence;
	/* counts by ones, and is never odd for us */
	return has_sequence(mm) ? 2 * BPF_CORE_READ(older, mm_lock_seq) : 0;
}

/* ---- pairs ---- */

static __always_inline struct mount *mount_of(struct vfsmount *mnt)
{
	return (void *)mnt - bpf_core_field_offset(struct mount, mnt);
}

/* Appends a name. Returns the bytes with it, or as before. */
static __always_inline uint32_t put_name(char *text, uint32_t length, struct dentry *dentry)
{
	long put = bpf_probe_read_kernel_str(text + (length & (SN_PATH_BYTES - 1)), 256,
					     BPF_CORE_READ(dentry, d_name.name));
	return put > 0 ? length + (put & 0x1ff) : length;
}

/* Names from a file to the root of its process's tree of mounts. Returns their bytes. */
static __always_inline uint32_t put_path(char *text, struct file *file)
{
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);
	struct mount *mount = mount_of(BPF_CORE_READ(file, f_path.mnt));
	uint32_t length = 0;
	for (int depth = 0; depth < 64; depth++) {
		struct dentry *parent = BPF_CORE_READ(dentry, d_parent);
		if (dentry == BPF_CORE_READ(mount, mnt.mnt_root) || dentry == parent) {
			struct mount *above = BPF_CORE_READ(mount, mnt_parent);
			if (above == mount) {
				if (depth == 0) /* a file in no folder: memfd_create's */
					length = put_name(text, 0, dentry);
				break;
			}
			dentry = BPF_CORE_READ(mount, mnt_mountpoint);
			mount = above;
			continue;
		}
		if (length >= SN_PATH_BYTES - 256)
			break;
		uint32_t put = put_name(text, length, dentry);
		if (put == length)
			break;
		length = put;
		dentry = parent;
	}
	return length;
}

static __always_inline uint64_t mtime_of(struct inode *inode)
{
	struct inode___before_6_11 *older = (void *)inode;
	struct inode___before_6_7 *oldest = (void *)inode;
	if (bpf_core_field_exists(inode->i_mtime_sec))
		return BPF_CORE_READ(inode, i_mtime_sec) * 1000000000ull +
		       BPF_CORE_READ(inode, i_mtime_nsec);
	if (bpf_core_field_exists(older->__i_mtime))
		return BPF_CORE_READ(older, __i_mtime.tv_sec) * 1000000000ull +
		       BPF_CORE_READ(older, __i_mtime.tv_nsec);
	return BPF_CORE_READ(oldest, i_mtime.tv_sec) * 1000000000ull +
	       BPF_CORE_READ(oldest, i_mtime.tv_nsec);
}

/* What does not depend on the image. NULL: there is no room. */
static __always_inline struct sn_announced *
begin_announcing(struct task_struct *task, const struct sn_pair *pair, uint32_t number)
{
	struct sn_announced *told = bpf_ringbuf_reserve(&announced, sizeof(*told), 0);
	if (!told)
		return 0;
	told->pair = *pair;
	told->number = number;
	told->pid = task->tgid;
	told->process_start_ns = task->group_leader->start_boottime;
	told->image_path_bytes = told->program_path_bytes = 0;
	told->image_is_deleted = 0;
	told->build_id_bytes = 0;
	told->image_bytes = told->image_mtime_ns = 0;
	struct mm_struct *mm = task->mm;
	struct file *program = mm ? mm->exe_file : 0;
	if (program)
		told->program_path_bytes = put_path(told->program_path, program);
	return told;
}

static __noinline long announce(void *ctx, struct task_struct *task, const struct sn_pair *pair,
				struct where *where, uint32_t number)
{
	struct sn_announced *told = begin_announcing(task, pair, number);
	if (!told)
		return -1;
	struct file *image = where->file;
	if (image) {
		struct bpf_stack_build_id id = {};
		struct inode *inode = BPF_CORE_READ(image, f_inode);
		told->image_bytes = BPF_CORE_READ(inode, i_size);
		told->image_mtime_ns = mtime_of(inode);
		told->image_path_bytes = put_path(told->image_path, image);
		told->image_is_deleted = BPF_CORE_READ(inode, i_nlink) == 0;
		if (bpf_get_stack(ctx, &id, sizeof(id), BPF_F_USER_STACK | BPF_F_USER_BUILD_ID) >
			0 &&
		    id.status == BPF_STACK_BUILD_ID_VALID) {
			__builtin_memcpy(told->build_id, id.build_id, 20);
			told->build_id_bytes = 20;
		}
	}
	bpf_ringbuf_submit(told, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Of the kernel, which is in no file. */
static __noinline long announce_kernel(struct task_struct *task, const struct sn_pair *pair,
				       uint32_t number)
{
	struct sn_announced *told = begin_announcing(task, pair, number);
	if (!told)
		return -1;
	bpf_ringbuf_submit(told, BPF_RB_NO_WAKEUP);
	return 0;
}

/* The number of a pair, a new one at its first sample; 0: there is none. Without `where` it is in the kernel. */
static __always_inline uint32_t number_of(void *ctx, struct task_struct *task,
					  struct sn_counts_control *how, const struct sn_pair *pair,
					  struct where *where)
{
	uint32_t *known = bpf_map_lookup_elem(&pairs, pair);
	if (known)
		return *known;
	uint64_t given = __sync_fetch_and_add(&how->numbers, 1);
	if ((uint16_t)(given >> 32) != pair->turn || (uint32_t)given >= how->pairs_of_turn - 1)
		return 0;
	uint32_t number = (uint32_t)given + 1 + (pair->turn & 1) * SN_PAIR_TURN_BIT;
	if (bpf_map_update_elem(&pairs, pair, &number, BPF_NOEXIST) !=
	    0) { /* another processor was first */
		known = bpf_map_lookup_elem(&pairs, pair);
		return known ? *known : 0;
	}
	if ((where ? announce(ctx, task, pair, where, number)
		   : announce_kernel(task, pair, number)) != 0) {
		bpf_map_delete_elem(&pairs, pair);
		return 0;
	}
	return number;
}

static __always_inline void find_whose(struct sn_pair *whose, struct task_struct *task,
				       struct mm_struct *mm, const struct sn_counts_control *how,
				       uint16_t turn)
{
	whose->turn = turn;
	whose->cgroup = task->cgroups->dfl_cgrp->kn->id;
	whose->uid = task->cred->uid.val;
	whose->pid = how->by_process ? task->tgid : 0;
	whose->program_inode =
	    task->flags & IS_KERNEL_THREAD ? SN_NO_PROGRAM_KERNEL : SN_NO_PROGRAM_ENDING;
	whose->program_device = whose->program_generation = 0;
	if (mm && mm->exe_file) {
		struct inode *inode = mm->exe_file->f_inode;
		whose->program_inode = inode->i_ino;
		whose->program_generation = inode->i_generation;
		whose->program_device = inode->i_sb->s_dev;
	}
}

/* Whose time it is, found out once for each process that a processor begins to sample: it lies in many places of the kernel. */
static __always_inline void describe_process(struct sn_pair *pair,
					     struct sn_cached_process *process,
					     struct task_struct *task, struct mm_struct *mm,
					     const struct sn_counts_control *how)
{
	if (process->whose.turn != (uint16_t)process->turn)
		find_whose(&process->whose, task, mm, how, process->turn);
	*pair = process->whose;
}

static __always_inline void describe_image(struct sn_pair *pair, struct task_struct *task,
					   struct mm_struct *mm, uint64_t address,
					   struct where *where)
{
	struct file *file = where->file;
	if (file) {
		struct inode *inode = BPF_CORE_READ(file, f_inode);
		pair->kind = SN_IMAGE_FILE;
		pair->inode = BPF_CORE_READ(inode, i_ino);
		pair->device = BPF_CORE_READ(inode, i_sb, s_dev);
		pair->inode_generation = BPF_CORE_READ(inode, i_generation);
		where->offset -= where->start;
	} else if ((uint64_t)mm->context.vdso == where->start) {
		pair->kind = SN_IMAGE_VDSO;
		where->offset = -where->start;
	} else {
		pair->kind = SN_IMAGE_ANONYMOUS;
		pair->pid = task->tgid;
		pair->inode =
		    address >> 32 << 32 | (task->group_leader->start_boottime >> 20 & 0xffffffff);
		where->offset = -(address >> 32 << 32);
	}
}

/* ---- the table ---- */

/* What leaves the table waits in the log. The caller has looked that there is room. */
static __always_inline void put_in_log(struct sn_counts *mine, uint64_t entry)
{
	uint64_t head = mine->log_head;
	mine->log[head & (SN_COUNTS_LOG - 1)] = entry;
	__sync_fetch_and_add(&mine->log_head, 1); /* the entry is there before its number */
}

/* Of a bucket that is full the entry with the least count leaves; of several, another one each time. */
static __always_inline enum sn_sample_fate count(struct sn_counts *mine, uint64_t key)
{
	uint32_t hash = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 40);
	uint64_t *bucket = &mine->table[(hash & (SN_COUNTS_BUCKETS - 1)) * SN_COUNTS_WAYS];
	uint64_t least = ~0ull, turn = mine->evicted;
	uint32_t chosen = 0;
#pragma unroll
	for (uint32_t way = 0; way < SN_COUNTS_WAYS; way++) {
		uint64_t entry = bucket[way], counted = entry & SN_COUNTS_MOST;
		if (entry - counted == key) {
			if (counted == SN_COUNTS_MOST) {
				least = counted * SN_COUNTS_WAYS;
				chosen = way;
				break;
			}
			mine->hits++;
			if (__sync_val_compare_and_swap(&bucket[way], entry, entry + 1) != entry)
				bucket[way] = key | 1; /* the daemon took it meanwhile */
			return SN_FATE_COUNTED;
		}
		uint64_t rank = counted * SN_COUNTS_WAYS + ((way + turn) & (SN_COUNTS_WAYS - 1));
		if (rank < least) {
			least = rank;
			chosen = way;
		}
	}
	bool is_counted = least >= SN_COUNTS_WAYS;
	if (is_counted && mine->log_head - mine->log_tail >= SN_COUNTS_LOG)
		return SN_LOST_LOG;
	uint64_t old = __sync_lock_test_and_set(&bucket[chosen & (SN_COUNTS_WAYS - 1)], key | 1);
	if (old & SN_COUNTS_MOST) {
		mine->evicted++;
		put_in_log(mine, old);
	}
	return SN_FATE_COUNTED;
}

/* ---- callers ---- */

#if defined(__TARGET_ARCH_x86)
enum { STACK_POINTER = 7 }; /* by DWARF number */

/* Each by itself, since those of a sample are where the verifier says. */
static __always_inline void put_registers(uint64_t *to, const struct pt_regs *from)
{
	to[0] = from->rax;
	to[1] = from->rdx;
	to[2] = from->rcx;
	to[3] = from->rbx;
	to[4] = from->rsi;
	to[5] = from->rdi;
	to[6] = from->rbp;
	to[STACK_POINTER] = from->rsp;
	to[8] = from->r8;
	to[9] = from->r9;
	to[10] = from->r10;
	to[11] = from->r11;
	to[12] = from->r12;
	to[13] = from->r13;
	to[14] = from->r14;
	to[15] = from->r15;
	to[16] = from->rip;
}

/* Page by page, as one that is not in memory ends it. Returns the bytes. */
static __always_inline uint32_t copy_stack(unsigned char *to, uint64_t from)
{
	uint32_t copied = 0;
	for (int i = 0; i <= SN_STACK_BYTES / PAGE_BYTES; i++) {
		uint32_t bytes = PAGE_BYTES - ((from + copied) & (PAGE_BYTES - 1));
		if (copied > SN_STACK_BYTES - PAGE_BYTES ||
		    bpf_probe_read_user(to + copied, bytes, (void *)(from + copied)) != 0)
			break;
		copied += bytes;
	}
	return copied;
}

/* Those that the kernel was entered with. */
static __always_inline void put_entered(struct sn_stack_sample *sent, struct task_struct *task)
{
	struct pt_regs entered;
	if (bpf_probe_read_kernel(&entered, sizeof(entered), (void *)bpf_task_pt_regs(task)) == 0)
		put_registers(sent->registers, &entered);
}

/* The registers of the process: those of the sample, or those that the kernel was entered with. */
static __always_inline void put_user_part(struct sn_stack_sample *sent,
					  struct bpf_perf_event_data *ctx, struct task_struct *task)
{
	if ((int64_t)PT_REGS_IP(&ctx->regs) >= 0)
		put_registers(sent->registers, &ctx->regs);
	else
		put_entered(sent, task);
	sent->stack_bytes = copy_stack(sent->stack, sent->registers[STACK_POINTER]);
}

#else
/* Callers in user code are not found on other machines yet. */
static __always_inline void put_user_part(struct sn_stack_sample *sent,
					  struct bpf_perf_event_data *ctx, struct task_struct *task)
{
	(void)sent, (void)ctx, (void)task;
}

static __always_inline void put_entered(struct sn_stack_sample *sent, struct task_struct *task)
{
	(void)sent, (void)task;
}
#endif

static __always_inline void describe_thread(struct sn_stack_sample *sent, struct task_struct *task,
					    uint64_t key, uint32_t turn)
{
	struct mm_struct *mm = task->mm;
	sent->number = key >> 48;
	sent->address = key >> 16;
	sent->pid = task->tgid;
	sent->tid = task->pid;
	sent->process_start_ns = task->group_leader->start_boottime;
	sent->first_stack = mm ? mm->start_stack : 0;
	sent->mapping_sequence = mm ? sequence_of(mm) : 0;
	sent->turn = turn;
	__builtin_memset(sent->registers, 0, sizeof(sent->registers));
}

/* Sends a sample with its callers to the daemon. 0, or -1: there is no room. */
static __noinline int send_stack(struct bpf_perf_event_data *ctx, uint64_t key, uint32_t turn)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mm_struct *mm = task->mm;
	struct sn_stack_sample *sent = bpf_ringbuf_reserve(&stacks, sizeof(*sent), 0);
	if (!sent)
		return -1;
	describe_thread(sent, task, key, turn);
	sent->is_waiting = sent->stack_bytes = 0;
	long bytes = bpf_get_stack(ctx, sent->kernel, sizeof(sent->kernel), 0);
	sent->kernel_count = bytes > 0 ? (uint32_t)bytes / 8 : 0;
	if (mm)
		put_user_part(sent, ctx, task);
	bpf_ringbuf_submit(sent, 0);
	return 0;
}

/* ---- a sample ---- */

/* Counts it, or sends it with its callers where that is due. */
static __always_inline int keep(struct bpf_perf_event_data *ctx, struct sn_counts *mine,
				const struct sn_counts_control *how, uint32_t turn, uint64_t key)
{
	if (how->stack_every && ++mine->without_stack >= how->stack_every &&
	    send_stack(ctx, key, turn) == 0) {
		mine->without_stack = 0;
		mine->stacks++;
		return SN_FATE_COUNTED;
	}
	return count(mine, key);
}

static __always_inline enum sn_sample_fate
sample_kernel(struct bpf_perf_event_data *ctx, struct sn_counts *mine,
	      struct sn_cached_process *process, struct task_struct *task, struct mm_struct *mm,
	      struct sn_counts_control *how, uint64_t address)
{
	if (process->kernel == 0) {
		struct sn_pair pair;
		describe_process(&pair, process, task, mm, how);
		pair.kind = SN_IMAGE_KERNEL;
		process->kernel = number_of(ctx, task, how, &pair, 0);
		if (process->kernel == 0)
			return SN_LOST_PAIRS;
	}
	return keep(ctx, mine, how, process->turn,
		    process->kernel << 48 | (address & 0xffffffff) << 16);
}

/* Finds the mapping of an address, and gives it a number. */
static __noinline int remember_mapping(void *ctx, struct sn_counts *mine, uint32_t slot,
				       uint64_t address)
{
	uint32_t zero = 0;
	struct sn_counts_control *how = bpf_map_lookup_elem(&control, &zero);
	struct task_struct *task = bpf_get_current_task_btf();
	struct mm_struct *mm = task->mm;
	if (!how || !mine || !mm)
		return SN_LOST_NO_CODE;
	struct sn_cached_process *process = &mine->process[slot & (SN_PROCESSES - 1)];
	struct where where = {};
	mine->walks++;
	int found = find_mapping(mm, address, &where);
	if (found != SN_FATE_COUNTED)
		return found;
	struct sn_pair pair;
	describe_process(&pair, process, task, mm, how);
	describe_image(&pair, task, mm, address, &where);
	uint32_t sequence = sequence_of(mm);
	if (sequence != process->mapping_sequence || sequence & 1)
		return SN_LOST_MAPPING;
	uint32_t number = number_of(ctx, task, how, &pair, &where);
	if (number == 0)
		return SN_LOST_PAIRS;
	struct sn_cached_mapping *mapping = &process->mapping[process->next++ & (SN_MAPPINGS - 1)];
	mapping->start = where.start;
	mapping->end = where.end;
	mapping->offset = where.offset;
	mapping->number = number;
	if (process->remembered < SN_MAPPINGS)
		process->remembered++;
	return SN_FATE_COUNTED;
}

static __always_inline int keep_at(struct bpf_perf_event_data *ctx, struct sn_counts *mine,
				   const struct sn_counts_control *how, uint32_t turn,
				   const struct sn_cached_mapping *mapping, uint64_t address)
{
	uint64_t offset = address + mapping->offset;
	if (offset >> 32)
		return SN_LOST_FAR;
	return keep(ctx, mine, how, turn, mapping->number << 48 | offset << 16);
}

static __always_inline int sample_user(struct bpf_perf_event_data *ctx, struct sn_counts *mine,
				       const struct sn_counts_control *how, uint32_t slot,
				       uint64_t address)
{
	struct sn_cached_process *process = &mine->process[slot];
	for (uint32_t i = 0; i < SN_MAPPINGS && i < process->remembered; i++)
		if (address - process->mapping[i].start <
		    process->mapping[i].end - process->mapping[i].start)
			return keep_at(ctx, mine, how, process->turn, &process->mapping[i],
				       address);
	int fate = remember_mapping(ctx, mine, slot, address);
	if (fate != SN_FATE_COUNTED)
		return fate;
	return keep_at(ctx, mine, how, process->turn,
		       &process->mapping[(process->next - 1) & (SN_MAPPINGS - 1)], address);
}

/* Makes it remember this process, with its mappings as they are now. */
static __always_inline void follow_process(struct sn_cached_process *process,
					   struct task_struct *task, struct mm_struct *mm,
					   struct sn_counts_control *how)
{
	uint64_t stack = mm ? mm->start_stack : 0;
	uint32_t sequence = mm ? sequence_of(mm) : 0, turn = how->numbers >> 32;
	bool same = process->mm == (uint64_t)mm && process->tgid == (uint32_t)task->tgid &&
		    process->stack == stack && process->cgroups == (uint64_t)task->cgroups &&
		    process->turn == turn;
	if (same && process->mapping_sequence == sequence && (!mm || has_sequence(mm)))
		return;
	if (!same) {
		process->kernel = 0;
		process->mm = (uint64_t)mm;
		process->tgid = task->tgid;
		process->stack = stack;
		process->cgroups = (uint64_t)task->cgroups;
		process->turn = turn;
		process->whose.turn = turn + 1;
	}
	process->mapping_sequence = sequence;
	process->next = process->remembered = 0;
}

SEC("perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	uint32_t zero = 0, processor = bpf_get_smp_processor_id();
	struct sn_counts_control *how = bpf_map_lookup_elem(&control, &zero);
	struct sn_counts *mine = bpf_map_lookup_elem(&counts, &processor);
	if (!how || !mine)
		return 0;
	struct task_struct *task = bpf_get_current_task_btf();
	uint64_t address = PT_REGS_IP(&ctx->regs);
	int fate;
	if (task->pid == 0) {
		fate = SN_FATE_IDLE;
	} else {
		struct mm_struct *mm = task->mm;
		uint32_t slot = (uint32_t)task->tgid & (SN_PROCESSES - 1);
		struct sn_cached_process *process = &mine->process[slot];
		follow_process(process, task, mm, how);
		fate = (int64_t)address < 0
			   ? sample_kernel(ctx, mine, process, task, mm, how, address)
			   : sample_user(ctx, mine, how, slot, address);
	}
	if (fate >= 0 && fate < SN_FATES)
		mine->fate[fate]++;
	return 0;
}

/* ---- waiting ---- */

/* A wait is another one when the thread has run since. */
static __always_inline struct sn_wait wait_of(struct task_struct *task,
					      const struct sn_counts_control *how)
{
	return (struct sn_wait){.switches = task->nvcsw + task->nivcsw,
				.round = how->wait_round,
				.start_ns = task->start_boottime};
}

/* Sends a thread that has begun to wait, without its stack, which the daemon reads from its memory: it stays as it is. 0, or -1: not now. */
static __noinline int send_wait(struct task_struct *task, struct sn_counts_control *how)
{
	struct sn_pair pair = {};
	uint32_t turn = how->numbers >> 32;
	struct sn_stack_sample *sent =
	    bpf_ringbuf_reserve(&stacks, __builtin_offsetof(struct sn_stack_sample, stack), 0);
	if (!sent)
		return -1;
	find_whose(&pair, task, task->mm, how, turn);
	pair.kind = SN_IMAGE_KERNEL;
	uint64_t number = number_of(0, task, how, &pair, 0);
	long bytes = number ? bpf_get_task_stack(task, sent->kernel, sizeof(sent->kernel), 0) : 0;
	if (bytes <= 0) {
		bpf_ringbuf_discard(sent, BPF_RB_NO_WAKEUP);
		return -1;
	}
	describe_thread(sent, task, number << 48 | (sent->kernel[0] & 0xffffffff) << 16, turn);
	sent->kernel_count = (uint32_t)bytes / 8;
	sent->is_waiting = 1;
	sent->stack_bytes = 0;
	put_entered(sent, task);
	bpf_ringbuf_submit(sent, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline bool send_again(uint32_t tid)
{
	struct sn_still_waiting *sent = bpf_ringbuf_reserve(&stacks, sizeof(*sent), 0);
	if (!sent)
		return false;
	sent->tid = tid;
	bpf_ringbuf_submit(sent, BPF_RB_NO_WAKEUP);
	return true;
}

/* Run for each thread of the machine when the daemon asks: which ones wait. */
SEC("iter/task")
int see_thread(struct bpf_iter__task *ctx)
{
	uint32_t zero = 0;
	struct task_struct *task = ctx->task;
	struct sn_counts_control *how = bpf_map_lookup_elem(&control, &zero);
	if (!task || !how || !task->mm || task->flags & IS_IO_WORKER || !(task->__state & WAITS))
		return 0;
	uint32_t tid = task->pid;
	struct sn_wait wait = wait_of(task, how);
	struct sn_wait *seen = bpf_map_lookup_elem(&waits, &tid);
	bool is_same = seen && seen->switches == wait.switches && seen->round == wait.round &&
		       seen->start_ns == wait.start_ns;
	if (is_same ? !send_again(tid) : send_wait(task, how) != 0)
		how->waits_lost += how->wait_weight;
	else if (!is_same)
		bpf_map_update_elem(&waits, &tid, &wait, BPF_ANY);
	return 0;
}
