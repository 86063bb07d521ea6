#![no_main]

use std::env;
use std::sync::LazyLock;

/// The surface to fuzz, as `fairfront-fuzz --target` names it.
static SURFACE: LazyLock<String> =
    LazyLock::new(|| env::var("FAIRFRONT_FUZZ").expect("FAIRFRONT_FUZZ names a surface"));

libfuzzer_sys::fuzz_target!(|input: &[u8]| fairfront_fuzz::check_or_panic(&SURFACE, input));
