//! Fronts in memory that go on, which Python keeps as bytes.

use fairfront_stream::Live;

use super::run::use_run;
use crate::fixture;
use crate::mutate::Form;
use crate::{Part, Taken, Target, seal};

/// Bytes before the text: a magic word, the version and the length of the text.
const HEADER: usize = 8 + 4 + 8;
const SUM: usize = 32;

/// The bytes of a front, its text and its rows.
pub(super) struct LiveFront;

/// Where text and rows are.
fn text_end() -> usize {
    let bytes = fixture::live();
    let length = bytes.get(12..HEADER).and_then(|b| b.try_into().ok());
    HEADER + u64::from_le_bytes(length.unwrap_or_default()) as usize
}

impl Target for LiveFront {
    fn name(&self) -> &'static str {
        "live"
    }
    fn parts(&self) -> Vec<Part> {
        let (bytes, end) = (fixture::live(), text_end());
        let part = |name, form, seed: &[u8]| Part {
            name,
            form,
            seeds: vec![seed.to_vec()],
        };
        vec![
            part("text", Form::Json, &bytes[HEADER..end]),
            part("rows", Form::Binary, &bytes[end..bytes.len() - SUM]),
            part("whole", Form::Binary, bytes),
        ]
    }
    fn turns(&self) -> usize {
        5
    }
    fn check(&self, part: usize, input: &[u8]) -> Result<Taken, String> {
        let (bytes, end) = (fixture::live(), text_end());
        let rows = &bytes[end..bytes.len() - SUM];
        let whole = match part {
            0 => [
                &bytes[..12],
                &(input.len() as u64).to_le_bytes(),
                input,
                rows,
                &[0; SUM],
            ]
            .concat(),
            1 => [&bytes[..end], &seal::trailing(input), &[0; SUM]].concat(),
            _ => input.to_vec(),
        };
        let sealed = seal::trailing(&whole);
        if whole != sealed && Live::from_bytes(&whole).is_ok() {
            return Err("a change passes the checksum".into());
        }
        let Ok(mut live) = Live::from_bytes(&sealed) else {
            return Ok(Taken::Refused);
        };
        if let Some(mut run) = live.run() {
            use_run(&mut run);
        }
        let table = fixture::prepared()
            .table
            .select(&(0..90).collect::<Vec<_>>());
        let _ = live.update(table, &mut ());
        let _ = live.to_bytes();
        Ok(Taken::Accepted)
    }
}
