/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions and iterations: names that a C or C++ program gives to parts of its work.
 *
 *	sonde_region_begin("assemble");		SONDE_REGION("assemble");    until the scope ends
 *	...					SONDE_ITERATION("step");     one turn of a loop
 *	sonde_region_end();			sonde::region r{"assemble"}; the same in C++
 *
 * Including this header is all there is to do: nothing is linked and nothing has to be installed
 *where the program runs. A region costs the test of one variable when the program is not profiled.
 *Regions nest, belong to the thread that began them, and end in the reverse order; one that is
 *ended by nobody, or twice, is counted as unbalanced and harms nothing. Names may be any text; they
 *are copied. All functions are thread-safe; none may be called from a signal handler.
 *
 * How it is found: each program or library that includes this header carries an ELF note that says
 * where its pointer sonde_hooks_v1 lies. The collector reads the notes of all that is loaded and
 *sets the pointers. No dynamic symbol is involved, so this works in position-independent and fixed
 * programs, in shared and dlopened libraries and with any linker; in a static program it does
 *nothing.
 */
#ifndef SONDE_SONDE_H
#define SONDE_SONDE_H

#ifdef __cplusplus
extern "C" {
#endif

enum sonde_region_flags {
	SONDE_REGION_ITERATION = 1, /* one turn of a loop; reports count and compare them */
};

/* What the collector provides. Later versions add fields at the end under a new note type. */
struct sonde_hooks {
	/* `frame` is __builtin_frame_address(0) of the function that the region begins in. */
	void (*region_begin)(const char *name, const void *frame, unsigned flags);
	void (*region_end)(void);
};

#ifndef SONDE_TYPES_ONLY /* for who only wants the struct */

#if defined(__ELF__) && defined(__LP64__) && defined(__GNUC__) && !defined(SONDE_DISABLE)

/*
 * One for each program or library, whatever the number of files that include this. Volatile,
 * because link-time optimisation sees that nothing in the program ever writes it.
 */
extern const struct sonde_hooks *volatile sonde_hooks_v1;
__attribute__((weak, visibility("hidden"), used))
const struct sonde_hooks *volatile sonde_hooks_v1 = 0;

/* The note: owner "Sonde", type 1, the distance from the field to the pointer. */
__asm__(".pushsection .note.sonde, \"a\", %note\n\t"
	".balign 4\n\t"
	".long 6, 8, 1\n\t"
	".asciz \"Sonde\"\n\t"
	".balign 4\n\t"
	".quad sonde_hooks_v1 - .\n\t"
	".popsection");

extern void sonde_register_hooks_v1(const struct sonde_hooks *volatile *pointer)
    __attribute__((weak));
static __attribute__((constructor, used)) void sonde_register_(void)
{
	if (sonde_register_hooks_v1)
		sonde_register_hooks_v1(&sonde_hooks_v1);
}

#define SONDE_HOOKS_() sonde_hooks_v1
#else
#define SONDE_HOOKS_() ((const struct sonde_hooks *)0)
#endif

/* Always inlined, also without optimisation, so that the frame is that of the function that calls.
 */
#define SONDE_INLINE_ static inline __attribute__((always_inline, unused))

SONDE_INLINE_ void sonde_begin_(const char *name, unsigned flags)
{
	const struct sonde_hooks *hooks = SONDE_HOOKS_();
	if (__builtin_expect(hooks != 0, 0))
		hooks->region_begin(name, __builtin_frame_address(0), flags);
}

/* Begins a region of the calling thread; `name` is copied. */
SONDE_INLINE_ void sonde_region_begin(const char *name)
{
	sonde_begin_(name, 0);
}

/* Ends the region or iteration that this thread began last. */
SONDE_INLINE_ void sonde_region_end(void)
{
	const struct sonde_hooks *hooks = SONDE_HOOKS_();
	if (__builtin_expect(hooks != 0, 0))
		hooks->region_end();
}

/* One turn of a loop: a region whose entries reports take for repetitions of the same work. */
SONDE_INLINE_ void sonde_iteration_begin(const char *name)
{
	sonde_begin_(name, SONDE_REGION_ITERATION);
}

SONDE_INLINE_ void sonde_iteration_end(void)
{
	sonde_region_end();
}

SONDE_INLINE_ void sonde_scope_end_(const char *scope)
{
	(void)scope;
	sonde_region_end();
}

/* A region, an iteration, that ends where the enclosing scope is left, in whatever way. */
#define SONDE_JOIN_(a, b) a##b
#define SONDE_SCOPE_(begin, name, line)                                                            \
	__attribute__((cleanup(sonde_scope_end_), unused)) char SONDE_JOIN_(sonde_scope_, line) =  \
	    (begin(name), 0)
#define SONDE_REGION(name)    SONDE_SCOPE_(sonde_region_begin, name, __LINE__)
#define SONDE_ITERATION(name) SONDE_SCOPE_(sonde_iteration_begin, name, __LINE__)

#endif /* SONDE_TYPES_ONLY */

#ifdef __cplusplus
}

#ifndef SONDE_TYPES_ONLY
namespace sonde
{

/* Begins where it is made and ends where it is destroyed. */
class region
{
      public:
	__attribute__((always_inline)) explicit region(const char *name, unsigned flags = 0)
	{
		sonde_begin_(name, flags);
	}
	__attribute__((always_inline)) ~region()
	{
		sonde_region_end();
	}
	region(const region &) = delete;
	region &operator=(const region &) = delete;
};

class iteration : public region
{
      public:
	__attribute__((always_inline)) explicit iteration(const char *name)
	    : region(name, SONDE_REGION_ITERATION)
	{
	}
};

} // namespace sonde
#endif
#endif

#endif
