/* SPDX-License-Identifier: Apache-2.0 */
/* The members of the kernel's structures that are read. Where they lie is found when the program is loaded, from what the kernel tells of its own types (CO-RE). */
#pragma once

#include "counts.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct super_block {
	uint32_t s_dev;
};

struct inode {
	uint64_t i_ino;
	struct super_block *i_sb;
	uint32_t i_nlink;
	uint32_t i_generation;
	int64_t i_size;
	int64_t i_mtime_sec;
	uint32_t i_mtime_nsec;
};

/* The same before Linux 6.11. */
struct timespec64 {
	int64_t tv_sec;
	long tv_nsec;
};

struct inode___before_6_11 {
	struct timespec64 __i_mtime;
};

struct inode___before_6_7 {
	struct timespec64 i_mtime;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
};

struct vm_area_struct {
	uint64_t vm_start, vm_end, vm_pgoff;
	struct file *vm_file;
};

struct maple_tree {
	void *ma_root;
};

typedef struct {
	void *vdso;
} mm_context_t;

typedef struct seqcount {
	uint32_t sequence;
} seqcount_t;

struct mm_struct {
	struct maple_tree mm_mt;
	uint64_t start_stack;
	struct file *exe_file;
	mm_context_t context;
	seqcount_t mm_lock_seq; /* odd while mappings are changed */
};

/* From Linux 6.4 to 6.12: changes with them. */
struct mm_struct___before_6_13 {
	int mm_lock_seq;
};

struct kernfs_node {
	uint64_t id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

typedef struct {
	uint32_t val;
} kuid_t;

struct cred {
	kuid_t uid;
};

struct task_struct {
	struct mm_struct *mm;
	int pid, tgid;
	uint32_t flags;
	uint32_t __state;
	unsigned long nvcsw, nivcsw; /* how often it was taken off a processor */
	struct task_struct *group_leader;
	uint64_t start_boottime;
	const struct cred *cred;
	struct css_set *cgroups;
};

struct bpf_iter__task {
	struct task_struct *task;
};

#pragma clang attribute pop
