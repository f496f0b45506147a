/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels, by the addresses that programs know them by, and what the interfaces that launch them have in common. */
#ifndef FAKE_KERNELS_H
#define FAKE_KERNELS_H

#include "device.h"

struct fake_kernel {
	const void *host; /* the address of its host function, or NULL */
	const char *name; /* mangled */
	struct fake_module *module;
};

struct fake_module {
	const void *image;
	size_t bytes;
	uint32_t number;
	_Atomic uint32_t
	    told; /* to who listens, a bit for each device: a module is loaded when it is first used there */
};

struct fake_kernel *fake_kernel_add(const void *host, const char *name, struct fake_module *module);
/* NULL where it is not known. */
struct fake_kernel *fake_kernel_of_host(const void *host);
/* Of an ELF image; 0: it is none. */
size_t fake_image_bytes(const void *image);
struct fake_module *fake_module_new(const void *image);
/* compile.c: a cubin of PTX, the caller's to free, and its length; NULL: the text has no kernel. */
void *fake_compile(const char *ptx, size_t *bytes);
/* One that is compiled first. */
struct fake_module *fake_module_of_ptx(const char *ptx);
/* The device uses it, or NULL: uses any. */
void fake_module_use(int device, struct fake_module *module);
void fake_module_free(int device, struct fake_module *module);
/* The device's context goes; the next use makes another. */
void fake_context_end(int device);
/* The names of the kernels of an ELF image, each once, and how many there are. */
int fake_module_kernels(struct fake_module *module, struct fake_kernel **kernels, int room);

/* The stream of a handle: 1 is the device's default one, 2 that of the thread, and 0 one of these. */
struct fake_stream *fake_stream_of(const void *handle);
/* In a call of a program that is compiled so that its default streams are those of threads. */
void fake_zero_is_of_thread(bool it_is);
uint64_t fake_launch(struct fake_stream *stream, const struct fake_kernel *kernel,
		     const uint32_t grid[3], const uint32_t block[3], size_t shared);
/* The operation alone, for a node of a graph. What it copies or sets stays as it is. */
struct fake_operation fake_launch_operation(const struct fake_kernel *kernel,
					    const uint32_t grid[3], const uint32_t block[3],
					    size_t shared);
struct fake_operation fake_copy_operation(const void *to, const void *from, size_t bytes);
struct fake_operation fake_set_operation(const void *to, uint32_t value, size_t bytes);
/* As CUDA and HIP define it, the host waits where memory is pageable; `is_async` as far as they allow. */
void fake_copy(void *to, const void *from, size_t bytes, struct fake_stream *stream, bool is_async);
void fake_copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
		    size_t height, struct fake_stream *stream, bool is_async);
/* Rows one after the other, and blocks of them. */
struct fake_rows {
	void *start;
	size_t pitch, block_bytes;
};
void fake_copy_blocks(const struct fake_rows *to, const struct fake_rows *from, size_t width,
		      size_t height, size_t depth, struct fake_stream *stream, bool is_async);
/* `width` in values. */
void fake_set_rows(void *to, size_t pitch, uint32_t value, size_t value_bytes, size_t width,
		   size_t height, struct fake_stream *stream);
void fake_set(void *to, uint32_t value, size_t value_bytes, size_t count,
	      struct fake_stream *stream, bool is_async);

#endif
