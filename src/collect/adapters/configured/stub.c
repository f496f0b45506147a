/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands between the program and a configured function. A stub keeps all registers in which arguments may be, passes on
 * copies of as many words of the stack as the declaration has, and returns what the function returns. It has a frame of its
 * own with unwind information, so exceptions and our own unwinder pass through it.
 */
#include "configured.h"

#include "collect/sample/program_memory.h"

#include <string.h>

#define STUB_BYTES 16

/* In rax, dl and dh. */
struct target {
	uintptr_t function;
	uint8_t words;
	bool passes_by; /* the call goes on to the function by a jump, and its end is not told */
};

__attribute__((visibility("hidden"), used)) struct target
sn_configured_enter(uint32_t call, const uint64_t *registers, const uint64_t *stack);
__attribute__((visibility("hidden"), used)) void sn_configured_leave(uint32_t call,
								     const uint64_t *registers,
								     const uint64_t *stack,
								     uint64_t result);
extern const char sn_configured_stubs[] __attribute__((visibility("hidden")));

__asm__("	.text\n"
	"	.p2align 4\n"
	"	.globl sn_configured_stubs\n"
	"	.hidden sn_configured_stubs\n"
	"	.type sn_configured_stubs, @function\n"
	"sn_configured_stubs:\n"
	"	.cfi_startproc\n"
	"	.set number, 0\n"
	"	.rept 256\n"
	"	.p2align 4\n"
	"	endbr64\n"
	"	pushq $number\n"
	"	.cfi_def_cfa_offset 16\n"
	"	jmp 1f\n"
	"	.cfi_def_cfa_offset 8\n"
	"	.set number, number + 1\n"
	"	.endr\n"
	"	.p2align 4\n"
	"1:	.cfi_def_cfa_offset 16\n"
	"	pushq %rbp\n"
	"	.cfi_def_cfa_offset 24\n"
	"	.cfi_offset %rbp, -24\n"
	"	movq %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	subq $200, %rsp\n"
	"	movq %rdi, (%rsp)\n"
	"	movq %rsi, 8(%rsp)\n"
	"	movq %rdx, 16(%rsp)\n"
	"	movq %rcx, 24(%rsp)\n"
	"	movq %r8, 32(%rsp)\n"
	"	movq %r9, 40(%rsp)\n"
	"	movq %rax, 48(%rsp)\n"
	"	movq %r10, 56(%rsp)\n"
	"	movaps %xmm0, 64(%rsp)\n"
	"	movaps %xmm1, 80(%rsp)\n"
	"	movaps %xmm2, 96(%rsp)\n"
	"	movaps %xmm3, 112(%rsp)\n"
	"	movaps %xmm4, 128(%rsp)\n"
	"	movaps %xmm5, 144(%rsp)\n"
	"	movaps %xmm6, 160(%rsp)\n"
	"	movaps %xmm7, 176(%rsp)\n"
	"	movq 8(%rbp), %rdi\n"
	"	movq %rsp, %rsi\n"
	"	leaq 24(%rbp), %rdx\n"
	"	call sn_configured_enter\n"
	"	movq %rax, %r11\n"
	"	testb %dh, %dh\n"
	"	jnz 2f\n"
	"	movzbl %dl, %ecx\n"
	"	leaq 1(%rcx), %rax\n" /* an even number of words keeps the stack aligned */
	"	andq $-2, %rax\n"
	"	shlq $3, %rax\n"
	"	subq %rax, %rsp\n"
	"	movq %rsp, %rdi\n"
	"	leaq 24(%rbp), %rsi\n"
	"	rep movsq\n"
	"2:	testb %dh, %dh\n"
	"	movq -200(%rbp), %rdi\n"
	"	movq -192(%rbp), %rsi\n"
	"	movq -184(%rbp), %rdx\n"
	"	movq -176(%rbp), %rcx\n"
	"	movq -168(%rbp), %r8\n"
	"	movq -160(%rbp), %r9\n"
	"	movq -152(%rbp), %rax\n"
	"	movq -144(%rbp), %r10\n"
	"	movaps -136(%rbp), %xmm0\n"
	"	movaps -120(%rbp), %xmm1\n"
	"	movaps -104(%rbp), %xmm2\n"
	"	movaps -88(%rbp), %xmm3\n"
	"	movaps -72(%rbp), %xmm4\n"
	"	movaps -56(%rbp), %xmm5\n"
	"	movaps -40(%rbp), %xmm6\n"
	"	movaps -24(%rbp), %xmm7\n"
	"	jnz 3f\n"
	"	call *%r11\n"
	"	leaq -200(%rbp), %rsp\n"
	"	movq %rax, 48(%rsp)\n"
	"	movq %rdx, 56(%rsp)\n"
	"	movaps %xmm0, 64(%rsp)\n"
	"	movaps %xmm1, 80(%rsp)\n"
	"	movq 8(%rbp), %rdi\n"
	"	movq %rsp, %rsi\n"
	"	leaq 24(%rbp), %rdx\n"
	"	movq %rax, %rcx\n"
	"	call sn_configured_leave\n"
	"	movq 48(%rsp), %rax\n"
	"	movq 56(%rsp), %rdx\n"
	"	movaps 64(%rsp), %xmm0\n"
	"	movaps 80(%rsp), %xmm1\n"
	"	.cfi_remember_state\n"
	"	leave\n"
	"	.cfi_def_cfa %rsp, 16\n"
	"	leaq 8(%rsp), %rsp\n"
	"	.cfi_def_cfa_offset 8\n"
	"	ret\n"
	"3:	.cfi_restore_state\n"
	"	leave\n"
	"	.cfi_def_cfa %rsp, 16\n"
	"	leaq 8(%rsp), %rsp\n"
	"	.cfi_def_cfa_offset 8\n"
	"	jmp *%r11\n"
	"	.cfi_endproc\n"
	"	.size sn_configured_stubs, . - sn_configured_stubs\n");
_Static_assert(SN_CONFIGURED_STUBS == 256, "as many stubs are made above");

uintptr_t sn_configured_stub(uint32_t call)
{
	return (uintptr_t)sn_configured_stubs + (uintptr_t)call * STUB_BYTES;
}

bool sn_configured_is_stub(uintptr_t address)
{
	return address - (uintptr_t)sn_configured_stubs < SN_CONFIGURED_STUBS * STUB_BYTES;
}

uint64_t sn_configured_argument(const struct sn_configured_arguments *arguments, unsigned place)
{
	return place == SN_CONFIGURED_NOWHERE ? 0
	       : place < SN_CONFIGURED_REGISTERS
		   ? arguments->registers[place]
		   : arguments->stack[place - SN_CONFIGURED_REGISTERS];
}

/* The text at an address that the program passed, as far as it is there and fits. */
static const char *read_text(uint64_t address, char *text, size_t bytes)
{
	size_t length = 0;
	while (address && length + 1 < bytes &&
	       sn_program_read((const void *)(address + length), text + length, 1) && text[length])
		length++;
	text[length] = 0;
	return length ? text : NULL;
}

static void enter(const struct sn_configured_call *call,
		  const struct sn_configured_arguments *arguments)
{
	char text[SN_GPU_NAME_BYTES];
	sn_gpu_call_enter(call->interface,
			  &(struct sn_gpu_api_call){
			      .name = call->name,
			      .stack = (uintptr_t)arguments->stack,
			      .has_stream = call->stream != SN_CONFIGURED_NOWHERE,
			      .stream = sn_configured_argument(arguments, call->stream),
			      .bytes = sn_configured_argument(arguments, call->bytes),
			      .kernel = read_text(sn_configured_argument(arguments, call->kernel),
						  text, sizeof(text))});
}

struct target sn_configured_enter(uint32_t number, const uint64_t *registers, const uint64_t *stack)
{
	const struct sn_configured_call *call = &sn_configured_calls[number];
	uintptr_t function = atomic_load_explicit(&call->function, memory_order_relaxed);
	if (call->is_heard && !atomic_load_explicit(call->is_heard, memory_order_relaxed))
		return (struct target){function, .passes_by = true};
	(call->enter ? call->enter : enter)(call,
					    &(struct sn_configured_arguments){registers, stack});
	return (struct target){function, call->words};
}

void sn_configured_leave(uint32_t number, const uint64_t *registers, const uint64_t *stack,
			 uint64_t result)
{
	const struct sn_configured_call *call = &sn_configured_calls[number];
	if (call->leave)
		call->leave(call, &(struct sn_configured_arguments){registers, stack}, result);
	else
		sn_gpu_call_exit();
}
