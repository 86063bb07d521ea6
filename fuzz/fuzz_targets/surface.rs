#![no_main]

use std::env;
use std::sync::LazyLock;

/// The surface to fuzz, a name that `fairfront-fuzz --target` accepts.
static SURFACE: LazyLock<String> =
    LazyLock::new(|| env::var("FAIRFRONT_FUZZ").expect("FAIRFRONT_FUZZ is set to a surface"));

libfuzzer_sys::fuzz_target!(|input: &[u8]| fairfront_fuzz::check_or_panic(&SURFACE, input));
