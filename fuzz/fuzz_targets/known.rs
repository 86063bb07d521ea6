#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fairfront_fuzz::check_or_panic("known", input));
