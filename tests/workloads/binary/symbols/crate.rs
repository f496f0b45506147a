// SPDX-License-Identifier: Apache-2.0
// Rust names, for tests of symbols; see chain.c.
pub struct Counter {
    total: i32,
}

pub trait Visit {
    fn visit(&mut self, call: extern "C" fn(i32) -> i32, x: i32) -> i32;
}

impl Visit for Counter {
    #[inline(never)]
    fn visit(&mut self, call: extern "C" fn(i32) -> i32, x: i32) -> i32 {
        self.total += call(x); // mark visit
        self.total
    }
}

#[no_mangle]
pub extern "C" fn sn_fixture_rust(call: extern "C" fn(i32) -> i32, x: i32) -> i32 {
    let mut counter = Counter { total: 1 };
    counter.visit(call, x) + 1
}
