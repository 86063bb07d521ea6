use std::path::Path;

use fairfront_core::counted;
use fairfront_data::{Error, Known, MemoryLimit, PackSummary, Part, named_counts, pack_files};
use serde_json::json;

use crate::args::PackArgs;
use crate::output::Target;
use crate::progress::{self, Packing};
use crate::table_args::TableArgs;
use crate::wording::worded;
use crate::{output, render};

pub(super) fn run(table: &TableArgs, args: &PackArgs) -> anyhow::Result<()> {
    let all = table.with_config()?;
    let Some(first) = all.files().first() else {
        let message = "no input; pass a file, or - for standard input";
        return Err(Error::usage(message).into());
    };
    if Known::parse(first)?.is_some() {
        let message = format!("{first}: a known data set fits in memory; fit it without packing");
        return Err(Error::usage(message).into());
    }
    let target = Target::check(&args.out)?;
    let Target::File(out) = &target else {
        return Err(Error::usage("-o -: a block file cannot be a stream; choose a file").into());
    };
    if table.reads(out)? {
        anyhow::bail!("{}: is the input; choose another file", out.display());
    }
    target.check_free(args.force)?;
    super::set_threads(args.threads)?;
    let (spec, options) = all.settings(None, false)?;
    let folder = out.parent().filter(|folder| *folder != Path::new(""));
    let work = args.work_dir.as_deref().or(folder);
    let work = work.unwrap_or(Path::new("."));
    let mut packing = Packing::new(args.quiet || args.json, options.memory, None);
    progress::listen_while_packing();
    let mut show = |progress| packing.show(progress);
    let packed = pack_files(all.files(), &spec, options, out, work, &mut show);
    packing.clear();
    let packed = packed?;
    if args.json {
        let summary = summary_json(&packed);
        return output::print_data(&format!("{}\n", serde_json::to_string_pretty(&summary)?));
    }
    if !args.quiet {
        output::note(&render::diagnostics(&worded(&packed.diagnostics)));
        output::print(&summary(&args.out, &packed))?;
    }
    Ok(())
}

/// Rows of each split by name.
fn splits(packed: &PackSummary) -> Vec<(&'static str, usize)> {
    named_counts(|part: Part| packed.split[part as usize])
}

fn summary(out: &Path, packed: &PackSummary) -> String {
    let splits = splits(packed).into_iter();
    let splits: Vec<String> = splits
        .map(|(name, n)| format!("{} {name}", fairfront_core::grouped(n)))
        .collect();
    format!(
        "{}: {} of {} read ({}), {} bytes per row, {} in total\n",
        out.display(),
        counted(packed.rows_used, "row"),
        fairfront_core::grouped(packed.rows_read),
        splits.join(", "),
        packed.row_bytes,
        MemoryLimit::Bytes(packed.bytes)
    )
}

fn summary_json(packed: &PackSummary) -> serde_json::Value {
    let splits: serde_json::Map<String, serde_json::Value> = splits(packed)
        .into_iter()
        .map(|(name, n)| (name.to_owned(), n.into()))
        .collect();
    json!({
        "rows_read": packed.rows_read,
        "rows_used": packed.rows_used,
        "rows": splits,
        "bytes_per_row": packed.row_bytes,
        "bytes": packed.bytes,
        "messages": worded(&packed.diagnostics),
    })
}
