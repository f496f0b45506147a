/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PJRT's C interface as far as the adapter uses it, in our own words: a plugin exports GetPjrtApi(), which returns a table
 * of functions, and each function has one argument, the address of a record. Tables and records begin with their size in
 * bytes and only ever grow at the end (major version 0), so what lies within that size is there, whatever the version.
 * tests/fake/pjrt/layout.c compares these places with the interface's own header.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sn_pjrt_version {
	size_t bytes;
	void *extension;
	int major, minor;
};

typedef void *sn_pjrt_function(void *record); /* an error, NULL: none */

struct sn_pjrt_api {
	size_t bytes;
	void *extension;
	struct sn_pjrt_version version;
	sn_pjrt_function *functions[];
};

/* Places in api.functions: SN_PJRT(NAME, place, the interface's name of it). First those that are wrapped. */
#define SN_PJRT_WRAPPED(SN_PJRT)                                                                   \
	SN_PJRT(AWAIT, 8, Event_Await)                                                             \
	SN_PJRT(COMPILE, 20, Client_Compile)                                                       \
	SN_PJRT(FROM_HOST, 22, Client_BufferFromHostBuffer)                                        \
	SN_PJRT(FORGET, 50, LoadedExecutable_Destroy)                                              \
	SN_PJRT(EXECUTE, 55, LoadedExecutable_Execute)                                             \
	SN_PJRT(LOAD, 56, Executable_DeserializeAndLoad)                                           \
	SN_PJRT(TO_DEVICE, 69, Buffer_CopyToDevice)                                                \
	SN_PJRT(TO_HOST, 70, Buffer_ToHostBuffer)                                                  \
	SN_PJRT(COMPILE_AHEAD, 89, Compile)                                                        \
	SN_PJRT(TO_MEMORY, 92, Buffer_CopyToMemory)                                                \
	SN_PJRT(RAW_TO_HOST, 100, Buffer_CopyRawToHost)                                            \
	SN_PJRT(TRANSFER, 102, AsyncHostToDeviceTransferManager_TransferData)

#define SN_PJRT_USED(SN_PJRT)                                                                      \
	SN_PJRT(ERROR_DESTROY, 0, Error_Destroy)                                                   \
	SN_PJRT(ON_READY, 9, Event_OnReady)                                                        \
	SN_PJRT(DESCRIPTION_ID, 23, DeviceDescription_Id)                                          \
	SN_PJRT(DESCRIPTION, 29, Device_GetDescription)                                            \
	SN_PJRT(EXECUTABLE_DESTROY, 40, Executable_Destroy)                                        \
	SN_PJRT(EXECUTABLE_NAME, 41, Executable_Name)                                              \
	SN_PJRT(PROGRAM, 48, Executable_OptimizedProgram)                                          \
	SN_PJRT(EXECUTABLE, 51, LoadedExecutable_GetExecutable)                                    \
	SN_PJRT(DEVICES, 52, LoadedExecutable_AddressableDevices)                                  \
	SN_PJRT(BUFFER_BYTES, 64, Buffer_OnDeviceSizeInBytes)

enum sn_pjrt_place {
#define SN_PJRT(name, place, function) SN_PJRT_AT_##name = place,
	SN_PJRT_WRAPPED(SN_PJRT) SN_PJRT_USED(SN_PJRT)
#undef SN_PJRT
};

enum sn_pjrt_wrapped {
#define SN_PJRT(name, place, function) SN_PJRT_##name,
	SN_PJRT_WRAPPED(SN_PJRT)
#undef SN_PJRT
	    SN_PJRT_WRAPPED_COUNT
};

/* ---- records ---- */

#define SN_PJRT_RECORD                                                                             \
	size_t bytes;                                                                              \
	void *extension

/* Whether a record of the program's has a member. */
#define SN_PJRT_HAS(record, member)                                                                \
	((record)->bytes >= offsetof(typeof(*(record)), member) + sizeof((record)->member))
/* A record of ours. */
#define SN_PJRT_NEW(type, ...) ((struct type){.bytes = sizeof(struct type), __VA_ARGS__})

/* Functions that are given one object, and those that return one thing about it. */
struct sn_pjrt_object {
	SN_PJRT_RECORD;
	void *object;
};

struct sn_pjrt_about {
	SN_PJRT_RECORD;
	void *object;
	union {
		void *object;
		int number;
		size_t bytes;
	} result;
};

/* A name of an object, or a list of objects. */
struct sn_pjrt_list {
	SN_PJRT_RECORD;
	void *object;
	const void *first;
	size_t count;
};

struct sn_pjrt_on_ready {
	SN_PJRT_RECORD;
	void *event;
	void (*callback)(void *error, void *data); /* owns the error */
	void *data;
};

struct sn_pjrt_compile {
	SN_PJRT_RECORD;
	void *client, *program;
	const char *options;
	size_t options_bytes;
	void *executable;
};

struct sn_pjrt_compile_ahead {
	SN_PJRT_RECORD;
	void *topology, *program;
	const char *options;
	size_t options_bytes;
	void *client, *executable;
};

struct sn_pjrt_load {
	SN_PJRT_RECORD;
	void *client;
	const char *serialized;
	size_t serialized_bytes;
	void *executable;
};

struct sn_pjrt_program {
	SN_PJRT_RECORD;
	char *code;
	size_t code_bytes;
	const char *format;
	size_t format_bytes;
};

struct sn_pjrt_execute {
	SN_PJRT_RECORD;
	void *executable, *options, *arguments;
	size_t device_count, argument_count;
	void *outputs;
	void **complete; /* an event for each device, where the program asks for them; NULL */
	void *device;	 /* the only one; NULL: those that it was compiled for */
};

struct sn_pjrt_from_host {
	SN_PJRT_RECORD;
	void *client;
	const void *data;
	int type;
	const int64_t *sizes;
	size_t size_count;
};

struct sn_pjrt_to_host {
	SN_PJRT_RECORD;
	void *buffer, *layout, *to; /* to NULL: only asks for the size */
	size_t to_bytes;
};

struct sn_pjrt_raw_to_host {
	SN_PJRT_RECORD;
	void *buffer, *to;
	int64_t offset, transferred_bytes;
};

struct sn_pjrt_transfer {
	SN_PJRT_RECORD;
	void *manager;
	int buffer;
	const void *data;
	int64_t offset, transferred_bytes;
};
