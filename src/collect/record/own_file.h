/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of the collector and its descriptor, in a program that may close the descriptor, reuse its
 * number, or have few left.
 *
 * All functions here, unless they say otherwise: AS-safe: yes. MT: one at a time for each file.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

struct sn_own_file {
	int fd; /* -1: none */
	dev_t device;
	ino_t inode;	/* 0: never created */
	char name[192]; /* in the measurement folder */
};

/* The measurement folder is opened each time a file is created or reopened, because the program may
 * close descriptors and change its root or user. Each time it must be the same folder: owned by the
 * user, not writable for others, with the device and inode that `sonde run` passed or that it had
 * at first. Reads SONDE_FOLDER. 0, or a negative errno: no file may be written.
 * AS-safe: no. MT: once. */
int sn_own_folder_init(void);

/* Creates and opens the file HOST-PID-NOW plus a suffix in the measurement folder, and adopts its
 * descriptor. 0 or negative errno. */
int sn_own_file_create(struct sn_own_file *file, unsigned long long now_ns, const char *suffix);
/* Closes it and removes its name. */
void sn_own_file_remove(struct sn_own_file *file);
/* True if file->fd still is that file. MT: yes. */
bool sn_own_file_is_open(const struct sn_own_file *file);
/* The same, and stores the file's status if it is. MT: yes. */
bool sn_own_file_status(const struct sn_own_file *file, struct stat *status);
/* The same, and reopens the file if its name still leads to it; false if that fails. */
bool sn_own_file_ready(struct sn_own_file *file);
/* Closes it, if file->fd still is that file. */
void sn_own_file_close(struct sn_own_file *file);
/* Closes it if the program has few descriptors and its number is one of them. */
void sn_own_file_let_go_if_scarce(struct sn_own_file *file);
/* False if a write up to `file_bytes` would exceed the program's file size limit and end it by
 * SIGXFSZ. MT: yes. */
bool sn_own_file_is_allowed(unsigned long long file_bytes);

/* A text for another process of the measurement that knows its name in the folder. Leaving it fails where
 * the name is taken: 0 or negative errno. MT: yes. */
int sn_own_text_leave(const char *name, const char *text, size_t length);
/* Stores it in text[0..bytes), terminated, and removes the name. False where there is none, or it does not
 * fit. MT: yes. */
bool sn_own_text_take(const char *name, char *text, size_t bytes);
