/* SPDX-License-Identifier: Apache-2.0 */
/* Readable names: each scheme's symbols against the names their compilers' own tools print. */
#include "binary/demangle/demangle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct row {
	const char *symbol, *name;
};

static void check(const struct row *rows, size_t count, char *(*demangle)(const char *))
{
	for (size_t i = 0; i < count; i++) {
		char *name = demangle(rows[i].symbol);
		if (!name)
			fail_msg("%s: not demangled", rows[i].symbol);
		assert_string_equal(name, rows[i].name);
		free(name);
	}
}
#define CHECK(rows, demangle) check(rows, sizeof(rows) / sizeof((rows)[0]), demangle)

static void cplus_names_are_cut_for_people(void **state)
{
	static const struct row rows[] = {
	    {"main", "main"},
	    {"_Z3fooi", "foo"},
	    {"_ZN5outer5inner1fEPKc", "outer::inner::f"},
	    {"_ZNK1AclEi", "A::operator()"},
	    {"_ZNK1AltERKS_", "A::operator<"},
	    {"_ZN1AlsEi", "A::operator<<"},
	    {"_ZNK1AptEv", "A::operator->"},
	    {"_ZN1AcviEv", "A::operator int"},
	    {"_ZN1AcvPKcEv", "A::operator char const*"},
	    {"_Znwm", "operator new"},
	    {"_ZdaPv", "operator delete[]"},
	    {"_ZN12_GLOBAL__N_13barEv", "(anonymous namespace)::bar"},
	    {"_Z3maxIiET_S0_S0_", "max<int>"},
	    {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int>::push_back"},
	    {"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc",
	     "std::basic_string<char>::append"},
	    {"_ZZ4mainENKUliE_clEi", "main::{lambda#1}::operator()"},
	    {"_ZTV3Foo", "vtable for Foo"},
	    {"_ZThn16_N3Foo3barEv", "non-virtual thunk to Foo::bar"},
	    {"_ZGVZ3foovE1x", "guard variable for foo::x"},
	    {"_ZN3FooD1Ev", "Foo::~Foo"},
	    {"_Z3fooB5cxx11v", "foo"},
	    {"_Z1gPFivE", "g"},
	    {"_Z3fooi.cold", "foo"},
	    {"_Z3fooi.part.0", "foo"},
	    {"_Z3fooi.constprop.0.isra.0", "foo"},
	    {"work.llvm.1234567", "work"},
	    {"memcpy@@GLIBC_2.14", "memcpy"},
	    {"a.b", "a.b"},
	};
	CHECK(rows, sn_demangle_short);
}

static void long_template_arguments_are_abbreviated(void **state)
{
	static const struct row rows[] = {
	    {"void f<std::vector<int, std::allocator<int> > >(int)", "f<std::vector<int>>"},
	    {"int f<alpha::beta::gamma::delta::epsilon::zeta::eta, int>(char)::g", "f<...>::g"},
	    {"bool operator< <int>(A<int> const&, A<int> const&)", "operator<<int>"},
	    {"decltype(auto) ns::apply<int>(int)", "ns::apply<int>"},
	    {"void (*ns::get<int>(char))(int)", "ns::get<int>"},
	    {"A<(B)1>::f(void (*)(int)) const &", "A<(B)1>::f"},
	};
	CHECK(rows, sn_demangle_shorten);
}

/* libstdc++ gives up beyond about 1,000 characters. */
static void very_long_symbols_keep_their_scopes(void **state)
{
	char symbol[4000] = "_ZN2ns6insideI";
	for (int i = 0; i < 300; i++)
		strcat(symbol, "1xIiiE");
	strcat(symbol, "EEvv");
	char *name = sn_demangle_short(symbol);
	assert_string_equal(name, "ns::inside<...>");
	free(name);
}

static void rust_names_of_both_schemes(void **state)
{
	/* the v0 rows are from RFC 2603 and rustc's own tests of its demangler */
	static const struct row rows[] = {
	    {"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
	    {"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
	     "3bar17h930b740aa94f1d3aE",
	     "<Test + 'static as foo::Bar<Test>>::bar"},
	    {"_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example"},
	    {"_RNvC6_123foo3bar", "123foo::bar"},
	    {"_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
	     "utf8_idents::\xe1\x83\xa1\xe1\x83\x90\xe1\x83\xad\xe1\x83\x9b\xe1\x83\x94\xe1\x83\x9a"
	     "\xe1\x83\x90\xe1\x83\x93_\xe1\x83\x92\xe1\x83\x94\xe1\x83\x9b\xe1\x83\xa0\xe1\x83\x98"
	     "\xe1\x83\x94\xe1\x83\x9a\xe1\x83\x98_\xe1\x83\xa1\xe1\x83\x90\xe1\x83\x93\xe1\x83\x98"
	     "\xe1\x83\x9a\xe1\x83\x98"},
	    {"_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_", "cc::spawn::{closure#0}::{closure#0}"},
	    {"_RNCINkXs25_NgCsbmNqQUJIY6D_4core5sliceINyB9_4IterhENuNgNoBb_4iter8iterator8Iterator9"
	     "rpositionNCNgNpB9_6memchr7memrchrs_0E0Bb_",
	     "<core::slice::Iter<u8> as "
	     "core::iter::iterator::Iterator>::rposition::<core::slice::memchr"
	     "::memrchr::{closure#1}>::{closure#0}"},
	    {"_RINbNbCskIICzLVDPPb_5alloc5alloc8box_freeDINbNiB4_5boxed5FnBoxuEp6OutputuEL_"
	     "ECs1iopQbuBiw2_"
	     "3std",
	     "alloc::alloc::box_free::<dyn alloc::boxed::FnBox<(), Output = ()>>"},
	    /* of rustc 1.95 and its constants as Rust shows them; names that are no ASCII */
	    {"_RNvYINtCs56HGsqMBDvY_4prog6SquareKj5_Kb0_Kca_ENtB5_5Shape4nameB5_",
	     "<prog::Square<5, false, '\\n'> as prog::Shape>::name"},
	    {"_RNvXCs56HGsqMBDvY_4progINtB2_6SquareKj3_Kb1_Kce9_ENtB2_5Shape4areaB2_",
	     "<prog::Square<3, true, '\u00e9'> as prog::Shape>::area"},
	    {"_RNvMs_C1aINtB4_1bKc27_Kc7_Kc9b_E1c", "<a::b<'\\'', '\\u{7}', '\\u{9b}'>>::c"},
	    {"_RNvMs_Cs56HGsqMBDvY_4progINtB4_6SignedKan5_Knn80000000000000000000000000000000_"
	     "Koffffffffffffffffffffffffffffffff_E2goB4_",
	     "<prog::Signed<-5, -0x80000000000000000000000000000000, "
	     "0xffffffffffffffffffffffffffffffff>>::go"},
	    {"_ZN4prog15_$u540d$$u524d$31_$u69cb$$u9020$$u4f53$$LT$T$GT$15_$u8868$$u793a$"
	     "17hce74a840670698daE",
	     "prog::\u540d\u524d::\u69cb\u9020\u4f53<T>::\u8868\u793a"},
	    {"_ZN1a18_$u1b$$ud800$$u80$17h0123456789abcdefE", "a::$u1b$$ud800$$u80$"},
	    {"_RNvMC0INtC8arrayvec8ArrayVechKj7b_E3new", "<arrayvec::ArrayVec<u8, 123>>::new"},
	};
	CHECK(rows, sn_demangle_rust);
}

/* swift_runtime.c stands for the runtime's library, and knows one name. */
static void swift_names_are_the_runtimes(void **state)
{
	static const char name[] = "main.add(a: Swift.Int, b: Swift.Int) -> Swift.Int";
	static const struct row rows[] = {{"$s4main3add1a1bS2i_SitF", name},
					  {"_$s4main3add1a1bS2i_SitF", name}};
	static const struct row short_rows[] = {{"$s4main3add1a1bS2i_SitF", name},
						{"$s4main3fooyyF", "$s4main3fooyyF"}};
	CHECK(rows, sn_demangle_swift);
	CHECK(rows, sn_demangle);
	CHECK(short_rows, sn_demangle_short);
	assert_null(sn_demangle_swift("$s4main3fooyyF"));
	assert_null(sn_demangle_swift("s4main3add1a1bS2i_SitF"));
}

static void what_is_not_mangled_is_left_alone(void **state)
{
	static const char *const plain[] = {
	    "",	      "main", "_Z", "_ZN",    "_R",
	    "_RNv",   "$",    "_T", "_start", "_ZN4core3fmt5Write9write_fmt17h01234E",
	    "_RNvC1a"};
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		char *name = sn_demangle_rust(plain[i]);
		assert_null(name);
		name = sn_demangle_short(plain[i]);
		assert_non_null(name);
		free(name);
	}
}

/* Every truncation and every changed byte of a long symbol ends in order (the sanitizers watch). */
static void damaged_symbols_do_no_harm(void **state)
{
	static const char *const symbols[] = {
	    "_RNCINkXs25_NgCsbmNqQUJIY6D_4core5sliceINyB9_4IterhENuNgNoBb_4iter8iterator8Iterator9"
	    "rpositionNCNgNpB9_6memchr7memrchrs_0E0Bb_",
	    "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
	    "3bar17h930b740aa94f1d3aE",
	    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc",
	    "$s10Foundation4DataV15_RepresentationO22withUnsafeMutableBytesyxxSwKXEKlF"};
	char buffer[256];
	for (size_t s = 0; s < 4; s++) {
		size_t length = strlen(symbols[s]);
		for (size_t i = 0; i <= length; i++) {
			strcpy(buffer, symbols[s]);
			buffer[i] = '\0';
			free(sn_demangle_short(buffer));
			for (int c = '$'; c <= 'z' && i < length; c++) {
				strcpy(buffer, symbols[s]);
				buffer[i] = (char)c;
				free(sn_demangle_short(buffer));
			}
		}
	}
}

/* Each tuple is of two references to the one before: the name would have a gigabyte. */
static void names_have_a_bound(void **state)
{
	static const char doubling[] = "_RINvC1a1fTuuETB7_B7_ETBb_Bb_ETBj_Bj_ETBr_Br_ETBz_Bz_ETBH_"
				       "BH_ETBP_BP_ETBX_BX_ETB15_B15_ETB1d_B1d_ETB1n_B1n_ETB1x_B1x"
				       "_ETB1H_B1H_ETB1R_B1R_ETB21_B21_ETB2b_B2b_ETB2l_B2l_ETB2v_B"
				       "2v_ETB2F_B2F_ETB2P_B2P_ETB2Z_B2Z_ETB39_B39_ETB3j_B3j_ETB3t"
				       "_B3t_ETB3D_B3D_ETB3N_B3N_EE";
	assert_null(sn_demangle_rust(doubling));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(cplus_names_are_cut_for_people),
	    cmocka_unit_test(long_template_arguments_are_abbreviated),
	    cmocka_unit_test(very_long_symbols_keep_their_scopes),
	    cmocka_unit_test(rust_names_of_both_schemes),
	    cmocka_unit_test(swift_names_are_the_runtimes),
	    cmocka_unit_test(what_is_not_mangled_is_left_alone),
	    cmocka_unit_test(damaged_symbols_do_no_harm),
	    cmocka_unit_test(names_have_a_bound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
