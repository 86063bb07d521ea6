//! Surfaces that break each guarantee, so that tests can check that the fuzzer detects it.

use std::hint::black_box;

use crate::mutate::Form;
use crate::{Part, Taken, Target, memory};

#[derive(Debug, Clone, Copy)]
enum Broken {
    Panic,
    Hang,
    Memory,
    Abort,
    Meaning,
}

pub(super) fn targets() -> Vec<&'static dyn Target> {
    vec![
        &Broken::Panic,
        &Broken::Hang,
        &Broken::Memory,
        &Broken::Abort,
        &Broken::Meaning,
    ]
}

impl Target for Broken {
    fn name(&self) -> &'static str {
        match self {
            Self::Panic => "self-test-panic",
            Self::Hang => "self-test-hang",
            Self::Memory => "self-test-memory",
            Self::Abort => "self-test-abort",
            Self::Meaning => "self-test-meaning",
        }
    }

    fn parts(&self) -> Vec<Part> {
        vec![Part {
            name: "",
            form: Form::Binary,
            seeds: vec![b"sound".to_vec()],
        }]
    }

    fn check(&self, _: usize, input: &[u8]) -> Result<Taken, String> {
        if input == b"sound" {
            return Ok(Taken::Accepted);
        }
        match self {
            Self::Panic => panic!("a panic of the self-test"),
            Self::Hang => loop {
                std::thread::park();
            },
            Self::Memory => drop(black_box(vec![1_u8; memory::SOFT + 1])),
            Self::Abort => std::process::abort(),
            Self::Meaning => return Err("the input was read as something else".into()),
        }
        Ok(Taken::Accepted)
    }
}
