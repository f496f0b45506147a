/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PJRT's C interface as far as the fake plugin and the programs that use it need it, written from its public description.
 * layout.c compares it with the interface's own header where a package ships that.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef void *pjrt_function(void *arguments);

enum { PJRT_FUNCTIONS = 150 }; /* more than any release of 2026 has */

struct pjrt_api {
	size_t struct_size;
	void *extension_start;
	struct {
		size_t struct_size;
		void *extension_start;
		int major_version, minor_version;
	} version;
	pjrt_function *functions[PJRT_FUNCTIONS];
};

/* Places in the table. */
enum {
	PJRT_ERROR_DESTROY = 0,
	PJRT_ERROR_MESSAGE = 1,
	PJRT_EVENT_DESTROY = 5,
	PJRT_EVENT_IS_READY = 6,
	PJRT_EVENT_AWAIT = 8,
	PJRT_EVENT_ON_READY = 9,
	PJRT_CLIENT_CREATE = 10,
	PJRT_CLIENT_DESTROY = 11,
	PJRT_CLIENT_ADDRESSABLE_DEVICES = 16,
	PJRT_CLIENT_COMPILE = 20,
	PJRT_BUFFER_FROM_HOST = 22,
	PJRT_DESCRIPTION_ID = 23,
	PJRT_DEVICE_DESCRIPTION = 29,
	PJRT_EXECUTABLE_DESTROY = 40,
	PJRT_EXECUTABLE_NAME = 41,
	PJRT_OPTIMIZED_PROGRAM = 48,
	PJRT_LOADED_DESTROY = 50,
	PJRT_LOADED_EXECUTABLE = 51,
	PJRT_LOADED_DEVICES = 52,
	PJRT_EXECUTE = 55,
	PJRT_LOAD = 56,
	PJRT_BUFFER_DESTROY = 58,
	PJRT_BUFFER_BYTES = 64,
	PJRT_COPY_TO_DEVICE = 69,
	PJRT_TO_HOST = 70,
	PJRT_COMPILE = 89,
	PJRT_COPY_TO_MEMORY = 92,
	PJRT_RAW_TO_HOST = 100,
	PJRT_TRANSFER = 102,
};

#define PJRT_ARGUMENTS                                                                             \
	size_t struct_size;                                                                        \
	void *extension_start

struct pjrt_error_destroy {
	PJRT_ARGUMENTS;
	void *error;
};

struct pjrt_error_message {
	PJRT_ARGUMENTS;
	const void *error;
	const char *message;
	size_t message_size;
};

/* Also of other functions that only name one object. */
struct pjrt_event {
	PJRT_ARGUMENTS;
	void *event;
};

struct pjrt_on_ready {
	PJRT_ARGUMENTS;
	void *event;
	void (*callback)(void *error, void *user_arg);
	void *user_arg;
};

struct pjrt_client_create {
	PJRT_ARGUMENTS;
	const void *create_options;
	size_t num_options;
	void *callbacks[4];
	void *client;
};

/* Devices of a client or of an executable. */
struct pjrt_devices {
	PJRT_ARGUMENTS;
	void *object;
	void **devices;
	size_t num_devices;
};

struct pjrt_program {
	PJRT_ARGUMENTS;
	char *code;
	size_t code_size;
	const char *format;
	size_t format_size;
};

struct pjrt_compile {
	PJRT_ARGUMENTS;
	void *client;
	struct pjrt_program *program;
	const char *compile_options;
	size_t compile_options_size;
	void *executable;
};

struct pjrt_load {
	PJRT_ARGUMENTS;
	void *client;
	const char *serialized_executable;
	size_t serialized_executable_size;
	void *loaded_executable;
};

struct pjrt_from_host {
	PJRT_ARGUMENTS;
	void *client;
	const void *data;
	int type;
	const int64_t *dims;
	size_t num_dims;
	const int64_t *byte_strides;
	size_t num_byte_strides;
	int host_buffer_semantics;
	void *device, *memory, *device_layout;
	void *done_with_host_buffer, *buffer;
};

struct pjrt_description {
	PJRT_ARGUMENTS;
	void *device, *description;
};

struct pjrt_description_id {
	PJRT_ARGUMENTS;
	void *description;
	int id;
};

struct pjrt_loaded_executable {
	PJRT_ARGUMENTS;
	void *loaded, *executable;
};

struct pjrt_executable_name {
	PJRT_ARGUMENTS;
	void *executable;
	const char *name;
	size_t name_size;
};

struct pjrt_optimized_program {
	PJRT_ARGUMENTS;
	void *executable;
	struct pjrt_program *program;
};

struct pjrt_execute {
	PJRT_ARGUMENTS;
	void *executable, *options;
	void ***argument_lists;
	size_t num_devices, num_args;
	void ***output_lists;
	void **device_complete_events;
	void *execute_device;
};

struct pjrt_buffer_bytes {
	PJRT_ARGUMENTS;
	void *buffer;
	size_t on_device_size_in_bytes;
};

struct pjrt_copy {
	PJRT_ARGUMENTS;
	void *buffer, *destination, *made;
};

struct pjrt_to_host {
	PJRT_ARGUMENTS;
	void *src, *host_layout, *dst;
	size_t dst_size;
	void *event;
};

struct pjrt_raw_to_host {
	PJRT_ARGUMENTS;
	void *buffer, *dst;
	int64_t offset, transfer_size;
	void *event;
};

struct pjrt_transfer {
	PJRT_ARGUMENTS;
	void *transfer_manager;
	int buffer_index;
	const void *data;
	int64_t offset, transfer_size;
	_Bool is_last_transfer;
	void *event;
};
