//! The table of `--timings`.

use std::fmt::Write;

use fairfront_core::grouped;
use fairfront_core::meter::Spent;
use fairfront_data::MemoryLimit;

use super::TextTable;
use crate::progress::rows_per_second;

/// Time, passes and speed of each phase, and the peak memory.
pub(crate) fn timings(phases: &[Spent], peak: Option<u64>) -> String {
    let total: f64 = phases.iter().map(|spent| spent.time.as_secs_f64()).sum();
    let row = |spent: &Spent| {
        let (seconds, work) = (spent.time.as_secs_f64(), spent.work);
        let has_rows = work.rows > 0;
        let speed = |rows: u64| match has_rows {
            true => rows_per_second(rows, seconds),
            false => "-".into(),
        };
        vec![
            spent.phase.to_string(),
            format!("{seconds:.2}"),
            format!("{:.1}%", 100.0 * seconds / total.max(1e-9)),
            grouped(work.passes as usize),
            speed(work.rows),
            speed(work.evaluations),
            match work.bytes_read {
                0 => "-".into(),
                bytes => MemoryLimit::Bytes(bytes).to_string(),
            },
        ]
    };
    let head = [
        "phase",
        ">seconds",
        ">share",
        ">passes",
        ">speed",
        ">times models",
        ">read",
    ];
    let mut table = TextTable::new(&head);
    phases.iter().for_each(|spent| table.row(row(spent)));
    let mut out = String::new();
    table.render(&mut out);
    let peak = peak.map_or_else(String::new, |peak| {
        format!(", peak memory {}", MemoryLimit::Bytes(peak))
    });
    let _ = writeln!(out, "total {total:.2} s{peak}");
    out
}
